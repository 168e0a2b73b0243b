//! An equation as text for a GPU, with the definitions for its kernels.

use super::apply_shape::ApplyShape;
use super::element_shape::{ElementShape, is_standard};
use super::given::MOST_GIVEN;
use crate::element::equations::{Alone, depends_on_unknowns, noise_slopes, nonzero, symmetric_slopes};
use crate::element::equations::{Equation, EquationAt, Flux, Jacobian, Model, ModelEquation, Scalar, on_scalar};
use crate::element::{BasisTables, DIM, ElementType};
use crate::fill::kernel_files::{APPLY, EQUATION, FILL_CONTRACTION, INTREPID};
use crate::space::{DeviceText, Layout};
use crate::{Error, Result};
use std::fmt::Write;

/// Terms at a point: three axes and the value.
const TERMS: usize = 4;
/// Bits of the derivatives of the flux by the value.
const COUPLING: u16 = 1 << 3 | 1 << 7 | 1 << 11;

/// An equation in CUDA C++.
#[derive(Clone, Debug)]
pub struct EquationText {
    /// Unknowns per node.
    pub(super) dofs: usize,
    name: String,
    text: String,
    parameters: Vec<f64>,
    has_slopes: bool,
    has_derivative: bool,
    /// Whether the derivative depends on the unknowns.
    pub(super) is_tangent: bool,
    symmetric: bool,
    /// Of each pair c, d of components, number D c + d: bits 4 i + j of the derivatives that are not zero.
    nonzero: Vec<u16>,
    flux: Flux,
    /// Given fields of an [`EquationAt`].
    given: Option<usize>,
    /// Whether elements are those of a boundary.
    on_boundary: bool,
}

impl EquationText {
    /// Takes the text of a Rust equation in a module with the attribute [`device`](crate::device). Which derivatives
    /// are zero, or equal by symmetry, and whether the flux is linear, is found by exact arithmetic: `slopes` by hand
    /// have to combine constants as `weak` does, or the kernels compute more than they have to.
    pub fn of<E: Equation<D> + DeviceText, const D: usize>(equation: &E) -> Self {
        let text = Self::with_statement::<E, _, D, 0>(equation, &Alone(equation));
        EquationText { is_tangent: depends_on_unknowns(equation), flux: Flux::of(equation), given: None, ..text }
    }

    /// Takes the text of an equation with given fields, as [`of`](Self::of). It has at most 10, which
    /// [`EquationInput`](super::EquationInput) brings. Products without a matrix take an [`Equation`] only.
    pub fn of_at<E: EquationAt<D, K> + DeviceText, const D: usize, const K: usize>(equation: &E) -> Self {
        const { assert!(K <= MOST_GIVEN, "an equation on a GPU has at most 10 given fields") };
        Self::with_statement::<E, E, D, K>(equation, equation)
    }

    fn with_statement<E: DeviceText, A: EquationAt<D, K>, const D: usize, const K: usize>(text: &E, at: &A) -> Self {
        let slopes = noise_slopes(at);
        EquationText {
            dofs: D,
            name: E::NAME.into(),
            text: E::TEXT.into(),
            parameters: text.parameters(),
            has_slopes: E::METHODS.contains(&"slopes"),
            has_derivative: E::METHODS.contains(&"derivative"),
            is_tangent: true,
            symmetric: symmetric_slopes(&slopes),
            nonzero: nonzero(&slopes).as_flattened().to_vec(),
            flux: Flux::UNKNOWN,
            given: Some(K),
            on_boundary: false,
        }
    }

    /// Integrates over the boundary of a mesh: faces of cells, or lines around a mesh in the plane, as the host's
    /// [`EquationKernel::on_boundary`](crate::fill::EquationKernel::on_boundary). A face whose normal turns over is not found.
    #[must_use]
    pub fn on_boundary(self) -> Self {
        EquationText { on_boundary: true, ..self }
    }

    /// Takes the equation of a model, with its derivatives.
    pub(super) fn of_model(model: &Model) -> Self {
        let text = match &model.equation {
            ModelEquation::Scalar(scalar) => on_scalar!(scalar, equation => Self::of(equation)),
            ModelEquation::Elastic(equation) => Self::of(equation),
        };
        text.with_jacobian(model.jacobian)
    }

    /// With [`Jacobian::Ad`], derivatives follow by dual numbers also where the text has `slopes`.
    #[must_use]
    pub fn with_jacobian(self, jacobian: Jacobian) -> Self {
        let by_hand = jacobian == Jacobian::Analytic;
        EquationText { has_slopes: self.has_slopes && by_hand, has_derivative: self.has_derivative && by_hand, ..self }
    }

    /// Whether element matrices are symmetric.
    pub fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// Returns the numbers of the struct.
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    /// Returns the number of given fields.
    pub(super) fn given(&self) -> usize {
        self.given.unwrap_or(0)
    }

    /// Returns the sizes of an element with these tables.
    ///
    /// # Errors
    /// [`Error::TooLarge`] when the tables exceed the shared memory of a block, [`Error::Invalid`] for cells as a boundary.
    pub(super) fn shape(&self, tables: &BasisTables) -> Result<ElementShape> {
        if self.on_boundary && tables.element.dim() == DIM {
            let message =
                format!("equation on a boundary: `tables` are of {}, expected faces or lines", tables.element);
            return Err(Error::Invalid(message));
        }
        ElementShape::new(self.dofs, self.symmetric, self.given.is_none(), tables)
    }

    /// Returns the numbers as an array on a GPU: an equation without parameters has one, too.
    pub(super) fn parameters_on_device(&self) -> Vec<f64> {
        [self.parameters(), &[0.0]].concat()
    }

    /// Returns the CUDA C++ for elements with these basis tables.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) when the tables exceed the shared memory of a block, [`Error::Invalid`](crate::Error::Invalid) for
    /// cells as a boundary.
    pub fn source(&self, tables: &BasisTables) -> Result<String> {
        Ok(EQUATION.source(&self.front(&self.shape(tables)?)))
    }

    /// Returns the CUDA C++ of the contraction on tensor cores; `None` unless the elements are trilinear hexahedra with their
    /// rule and the equation has one unknown and symmetric matrices.
    pub fn contraction_source(&self, tables: &BasisTables) -> Option<String> {
        self.contraction_front(tables).map(|front| FILL_CONTRACTION.source(&front))
    }

    /// Returns the numbers that the kernels of [`source`](Self::source) read of the basis.
    ///
    /// # Errors
    /// As [`source`](Self::source).
    pub fn tables(&self, tables: &BasisTables) -> Result<Vec<f64>> {
        Ok(self.shape(tables)?.tables(tables))
    }

    /// Returns what stands in front of the kernels for elements of these tables.
    pub(super) fn front(&self, shape: &ElementShape) -> String {
        let mapped = self.nonzero.iter().fold(0, |mapped, &bits| mapped | mapped_terms(bits));
        let ElementShape { nodes, points, dim, block, fused, layers, dofs, .. } = shape;
        let (statement, symmetric, fused, group) = (self.statement(), self.symmetric, u8::from(*fused), shape.group());
        let (boundary, at_point, given) = (self.on_boundary, u8::from(self.given.is_some()), self.given());
        format!(
            "{statement}constexpr int NODES = {nodes}, POINTS = {points}, DOFS = {dofs}, BLOCK = {block}, GROUP = {group}, AXES = {dim};\n\
             constexpr bool SYMMETRIC = {symmetric};\nconstexpr u32 MAPPED = {mapped}u;\n#define FUSED {fused}\n\
             constexpr bool BOUNDARY = {boundary};\n#define LAYERS {layers}\n#define AT_POINT {at_point}\n#define GIVEN {given}\n"
        )
    }

    /// Returns the CUDA C++ of the operands of contractions over worksets in a layout, for elements with these basis tables.
    ///
    /// # Errors
    /// As [`source`](Self::source).
    pub fn workset_source(&self, tables: &BasisTables, layout: Layout) -> Result<String> {
        let shape = self.shape(tables)?;
        Ok(INTREPID.source(&self.workset_front(&shape, layout)))
    }

    /// Returns what stands in front of the kernel of [`workset_source`](Self::workset_source).
    pub(super) fn workset_front(&self, shape: &ElementShape, layout: Layout) -> String {
        let (front, left, reactions) = (self.front(shape), layout == Layout::Left, self.has_reactions());
        format!("{front}constexpr bool LEFT = {left}, REACTIONS = {reactions};\n")
    }

    /// Whether a source depends on the unknowns.
    pub(super) fn has_reactions(&self) -> bool {
        self.nonzero.iter().any(|bits| bits >> (TERMS * (TERMS - 1)) != 0)
    }

    /// Returns what stands in front of the contraction, as [`contraction_source`](Self::contraction_source).
    pub(super) fn contraction_front(&self, tables: &BasisTables) -> Option<String> {
        let (statement, Flux { isotropic, linear }) = (self.statement(), self.flux);
        let front = || format!("{statement}constexpr bool ISOTROPIC = {isotropic}, LINEAR = {linear};\n");
        (self.dofs == 1 && self.symmetric && self.given.is_none() && is_standard(ElementType::Hex8, tables)).then(front)
    }

    /// Returns the CUDA C++ of the products without a matrix, for an element type.
    pub fn apply_source(&self, element: ElementType) -> String {
        APPLY.source(&self.apply_front(ApplyShape::new(element, self.dofs)))
    }

    /// Returns what stands in front of the products, as [`apply_source`](Self::apply_source).
    pub(super) fn apply_front(&self, shape: ApplyShape) -> String {
        let ApplyShape { nodes, points, edge, group } = shape;
        let (statement, by_hand, tangent, dofs) = (self.statement(), self.has_derivative, self.is_tangent, self.dofs);
        format!(
            "{statement}constexpr int NODES = {nodes}, POINTS = {points}, DOFS = {dofs};\n\
             constexpr bool HAS_DERIVATIVE = {by_hand}, TANGENT = {tangent};\n#define EDGE {edge}\n#define GROUP {group}\n"
        )
    }

    /// Returns the equation and what is known of its derivatives.
    fn statement(&self) -> String {
        let EquationText { name, text, has_slopes, .. } = self;
        let mut cases = String::new();
        for (pair, bits) in self.nonzero.iter().enumerate() {
            write!(cases, "pair == {pair} ? {bits}u : ").unwrap_or_default();
        }
        // `Point` of the module.
        let point = match self.given {
            Some(_) => "template <class N, int K> using Point = QuadraturePoint<N, K>;\n",
            None => "",
        };
        format!(
            "#line 1 \"{name}\"\nnamespace equation_text {{\n{point}{text}\n}}\nusing Statement = equation_text::{name};\n\
             constexpr bool HAS_SLOPES = {has_slopes};\n__device__ constexpr u32 nonzero(int pair) {{ return {cases}0u; }}\n"
        )
    }

    /// Threads per block of the contraction, as in the kernel.
    pub(super) fn contraction_threads(&self) -> usize {
        let coupled = self.nonzero.iter().any(|bits| bits & COUPLING != 0);
        if coupled { 256 } else { 384 }
    }
}

/// The bits of C for those of the derivatives: the map mixes the axes.
fn mapped_terms(bits: u16) -> u32 {
    let mut mapped = 0;
    for (i, j) in (0..TERMS * TERMS).map(|k| (k / TERMS, k % TERMS)).filter(|(i, j)| bits >> (TERMS * i + j) & 1 == 1) {
        let axes = |of: usize| if of < 3 { 0..3 } else { 3..4 };
        axes(i).for_each(|k| axes(j).for_each(|l| mapped |= 1 << (TERMS * k + l)));
    }
    mapped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::equations::{Diffusion, Elasticity, Heat};

    #[test]
    fn patterns_are_those_of_the_equations() {
        let heat = EquationText::of(&Heat::new(2.5));
        assert!(heat.symmetric && heat.has_slopes && heat.parameters == [2.5]);
        assert_eq!(heat.nonzero, [0b1000_0100_0010_0001]);
        assert_eq!(mapped_terms(heat.nonzero[0]), 0b1000_0111_0111_0111);
        let diffusion = EquationText::of(&Diffusion { direction: [1.0, 0.5, -2.0] });
        assert!(diffusion.symmetric && !diffusion.has_slopes && diffusion.parameters == [1.0, 0.5, -2.0]);
        assert_eq!(diffusion.nonzero, [0b0000_0100_0010_0001]);
        let elasticity = EquationText::of(&Elasticity { lambda: 1.0, mu: 0.5, force: [1.0, 2.0, 3.0] });
        assert!(elasticity.symmetric && elasticity.parameters == [1.0, 0.5, 1.0, 2.0, 3.0]);
        // d sigma_01 / d (d u_1 / d x_0) = mu and d sigma_00 / d (d u_1 / d x_1) = lambda.
        assert_eq!(elasticity.nonzero[1], 1 << 4 | 1 << 1);
    }
}
