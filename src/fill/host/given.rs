//! Given fields of an equation on a host, and their values at a point.

use crate::Result;
use crate::element::BasisTables;
use crate::fill::given::{GivenPlace, Place};
use crate::mesh::ElemNode;

/// A given field: a constant, or values of nodes, elements or quadrature points.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    place: GivenPlace,
    values: &'a [f64],
}

impl<'a> Given<'a> {
    /// One value everywhere.
    pub fn constant(value: &'a f64) -> Self {
        Given { place: GivenPlace::CONSTANT, values: std::slice::from_ref(value) }
    }

    /// A value per node, interpolated as the unknowns are.
    pub fn nodes(values: &'a [f64]) -> Self {
        Given { place: GivenPlace::NODES, values }
    }

    /// Component `c` of unknowns `[node][component]`, such as those of an earlier time step.
    pub fn component<const D: usize>(unknowns: &'a [[f64; D]], c: usize) -> Self {
        const { assert!(D > 0, "a component of several") };
        Given { place: GivenPlace::component(D, c), values: unknowns.as_flattened() }
    }

    /// A value per element.
    pub fn elements(values: &'a [f64]) -> Self {
        Given { place: GivenPlace::ELEMENTS, values }
    }

    /// A value per quadrature point, `[element][point]`.
    pub fn points(values: &'a [f64]) -> Self {
        Given { place: GivenPlace::POINTS, values }
    }

    /// Whether the field has one value per element, or everywhere.
    pub fn is_constant_in_elements(&self) -> bool {
        matches!(self.place.at, Place::Elements)
    }

    /// Refuses a field of another length than the mesh needs.
    pub(in crate::fill::host) fn check(
        &self,
        name: &'static str,
        table: &ElemNode,
        tables: &BasisTables,
    ) -> Result<()> {
        self.place.check(name, self.values.len(), table, tables.weights.len())
    }

    /// Value of a field of nodes.
    fn of(&self, place: usize) -> f64 {
        self.values[self.place.stride * place + self.place.first]
    }

    /// Gradient and value at point `p` of an element with these nodes; `slopes` are physical gradients of the basis.
    #[inline(always)]
    pub(in crate::fill::host) fn at(
        &self,
        (elem, nodes): (usize, &[u32]),
        (p, count): (usize, usize),
        phi: &[f64],
        slope: impl Fn(usize, usize) -> f64,
    ) -> [f64; 4] {
        match self.place.at {
            Place::Elements => [0.0, 0.0, 0.0, self.of(elem)],
            Place::Points => [0.0, 0.0, 0.0, self.of(count * elem + p)],
            Place::Nodes => {
                let mut sums = [0.0; 4];
                for (m, (&node, phi)) in nodes.iter().zip(phi).enumerate() {
                    let value = self.of(node as usize);
                    for axis in 0..3 {
                        sums[axis] += value * slope(m, axis);
                    }
                    sums[3] += value * phi;
                }
                sums
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_nodes_and_points_vary_in_elements() {
        let (values, unknowns) = ([1.0; 8], [[1.0; 2]; 4]);
        assert!(Given::constant(&values[0]).is_constant_in_elements());
        assert!(Given::elements(&values).is_constant_in_elements());
        let others = [Given::nodes(&values), Given::component(&unknowns, 1), Given::points(&values)];
        assert!(!others.iter().any(Given::is_constant_in_elements));
    }
}
