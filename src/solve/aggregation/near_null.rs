//! Near-null vectors: what the operator of a problem without boundary conditions maps to zero.

use crate::blas::Blas;
use crate::space::{HostMemory, MemorySpace, try_with_capacity, try_zeroed};
use crate::{Error, Result};

/// Vectors that a coarse space has to represent, on this rank's rows, with the unknowns of a node one after another.
#[derive(Clone, Debug, PartialEq)]
pub struct NearNull<M: MemorySpace = HostMemory> {
    /// Unknowns per node.
    pub(super) dofs: usize,
    /// Number of vectors.
    pub(super) count: usize,
    /// Rows of this rank.
    pub(super) rows: usize,
    /// The values, `[row, vector]`; empty for one constant per node, until a space has taken the vectors.
    pub(super) values: M::Array<f64>,
}

impl NearNull {
    /// Takes `count` vectors, `[row, vector]`, of `dofs` unknowns per node.
    ///
    /// # Errors
    /// [`Error::Invalid`] without vectors or unknowns, and unless the values are those of whole nodes.
    pub fn new(dofs: usize, count: usize, values: Vec<f64>) -> Result<Self> {
        if dofs == 0 || count == 0 {
            let expected = "expected at least one of each";
            return Err(Error::Invalid(format!("near-null: {count} vectors for {dofs} dofs per node: {expected}")));
        }
        let per_node = dofs.saturating_mul(count);
        if !values.len().is_multiple_of(per_node) {
            let numbers = format!("{} `values`", values.len());
            let expected = format!("expected a multiple of {count} vectors times {dofs} dofs per node");
            return Err(Error::Invalid(format!("NearNull::new: {numbers}; {expected}")));
        }
        Ok(NearNull { dofs, count, rows: values.len() / count, values })
    }

    /// Returns one constant per unknown of a node: for diffusion and for systems of diffusion equations.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; as [`new`](Self::new) for 0 dofs.
    pub fn constants(nodes: usize, dofs: usize) -> Result<Self> {
        if dofs == 1 {
            return Ok(NearNull { dofs, count: 1, rows: nodes, values: Vec::new() });
        }
        let of_node = dofs.saturating_mul(dofs);
        let mut values = try_zeroed("near-null vectors", nodes.saturating_mul(of_node))?;
        for of_node in values.chunks_exact_mut(of_node.max(1)) {
            of_node.iter_mut().step_by(dofs + 1).for_each(|value| *value = 1.0);
        }
        Self::new(dofs, dofs, values)
    }

    /// Returns the three translations and three rotations of nodes at these points: for elasticity, with the displacements of a node as
    /// its unknowns.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn rigid_body_modes(coordinates: &[[f64; 3]]) -> Result<Self> {
        let mut values = try_with_capacity("rigid body modes", 18 * coordinates.len())?;
        for [x, y, z] in coordinates {
            values.extend([1.0, 0.0, 0.0, 0.0, *z, -y]);
            values.extend([0.0, 1.0, 0.0, -z, 0.0, *x]);
            values.extend([0.0, 0.0, 1.0, *y, -x, 0.0]);
        }
        Self::new(3, 6, values)
    }

    /// Values of the vectors in a row.
    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.count..][..self.count]
    }

    /// Takes the vectors into the memory of a space.
    pub(super) fn taken<S: Blas>(self, space: &S) -> Result<NearNull<S::Memory>> {
        let NearNull { dofs, count, rows, values } = self;
        if values.len() == rows * count {
            return Ok(NearNull { dofs, count, rows, values: space.upload(&values)? });
        }
        let mut ones = space.to_be_written(rows)?;
        space.fill(rows, 1.0, S::Memory::slice_mut(&mut ones))?;
        Ok(NearNull { dofs, count, rows, values: ones })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_unit_vectors_of_each_unknown() {
        let of_two = NearNull::constants(2, 2).unwrap();
        assert_eq!(of_two, NearNull::new(2, 2, vec![1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]).unwrap());
        assert_eq!((of_two.rows, of_two.row(3)), (4, &[0.0, 1.0][..]));
        assert!(NearNull::new(0, 1, vec![]).unwrap_err().to_string().contains("at least one"));
        // No whole vectors, and vectors of half a node.
        for count in [7, 9] {
            assert!(NearNull::new(2, 3, vec![0.0; count]).unwrap_err().to_string().contains("values"));
        }
    }

    /// The strain of each mode is zero: displacements of two points differ at right angles to the line between them.
    #[test]
    fn rigid_body_modes_keep_distances() {
        let points = [[0.0, 0.5, -1.0], [2.0, 1.0, 0.25]];
        let modes = NearNull::rigid_body_modes(&points).unwrap();
        assert_eq!((modes.dofs, modes.count, modes.rows), (3, 6, 6));
        for mode in 0..6 {
            let along: f64 = (0..3)
                .map(|axis| (modes.row(3 + axis)[mode] - modes.row(axis)[mode]) * (points[1][axis] - points[0][axis]))
                .sum();
            assert!(along.abs() < 1e-14, "mode {mode}: {along}");
            let is_translation = (0..3).all(|axis| modes.row(3 + axis)[mode] == modes.row(axis)[mode]);
            assert_eq!(is_translation, mode < 3);
        }
    }
}
