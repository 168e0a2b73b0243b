//! An equation as text for a GPU, and the text that stands in front of `kernels/equation.cu` for it and an element.

use crate::element::BasisTables;
use crate::element::equations::{Equation, Field};
use crate::fill::kernel_files::EQUATION;
use crate::space::DeviceText;
use crate::{Error, Result};
use std::array;
use std::fmt::Write;

/// Terms at a point: three axes and the value.
const TERMS: usize = 4;
/// Most nodes along an edge of a tile: 64 sums of a thread are 128 of its registers.
const LARGEST_TILE: usize = 8;
/// Most entries of a matrix that a thread sums beside everything else; 64 spilled registers.
const LARGEST_FUSED: usize = 36;
/// Bytes of static shared memory per block.
const SHARED: usize = 48 << 10;
/// Points at which the derivatives of an equation are looked at.
const SAMPLES: usize = 4;

/// An equation of `D` unknowns per node in CUDA C++.
#[derive(Clone, Debug)]
pub struct EquationText<const D: usize> {
    name: String,
    text: String,
    parameters: Vec<f64>,
    has_slopes: bool,
    symmetric: bool,
    /// Of each pair c, d of components: bits 4 i + j of the derivatives that are not zero.
    nonzero: [[u16; D]; D],
}

impl<const D: usize> EquationText<D> {
    /// Takes the text of an equation that is written in Rust, in a module with the attribute [`device`](crate::device). Derivatives
    /// that are zero, or equal by symmetry, at four points are so everywhere: values of a `Number` are not compared, so an equation
    /// has no branches on them.
    pub fn of<E: Equation<D> + DeviceText>(equation: &E) -> Self {
        let (mut symmetric, mut nonzero) = (true, [[0; D]; D]);
        for sample in 0..SAMPLES {
            let (x, u) = sample_point(sample);
            let slopes = equation.slopes(x, u);
            let entries = (0..D * D * TERMS * TERMS).map(|k| [k / 16 / D, k / 16 % D, k / 4 % 4, k % 4]);
            for [c, d, i, j] in entries {
                let (slope, transposed) = (slopes[c][d][i][j], slopes[d][c][j][i]);
                nonzero[c][d] |= u16::from(slope != 0.0) << (TERMS * i + j);
                symmetric &= (slope - transposed).abs() <= 1e-12 * (slope.abs() + transposed.abs());
            }
        }
        EquationText {
            name: E::NAME.into(),
            text: E::TEXT.into(),
            parameters: equation.parameters(),
            has_slopes: E::METHODS.contains(&"slopes"),
            symmetric,
            nonzero,
        }
    }

    /// Takes text by hand: a struct `name` whose members are doubles, the `parameters`, with the method
    /// `template <class N> __device__ Array<Weak<N>, D> weak(Array<N, 3> x, Array<Field<N>, D> u) const`. `kernels/device.cuh` holds
    /// the types. Derivatives follow by dual numbers, and the matrix is not taken to be symmetric.
    pub fn from_cuda(name: &str, text: &str, parameters: &[f64]) -> Self {
        EquationText {
            name: name.into(),
            text: text.into(),
            parameters: parameters.to_vec(),
            has_slopes: false,
            symmetric: false,
            nonzero: [[u16::MAX; D]; D],
        }
    }

    /// States that the text has a method `slopes`, which returns `Array<Array<Slope<N>, D>, D>`.
    #[must_use]
    pub fn with_slopes(self) -> Self {
        EquationText { has_slopes: true, ..self }
    }

    /// States that element matrices are symmetric, so that half of each is computed.
    #[must_use]
    pub fn symmetric(self) -> Self {
        EquationText { symmetric: true, ..self }
    }

    /// Whether element matrices are symmetric.
    pub fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// Returns the numbers of the struct.
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    /// Returns the CUDA C++ that a GPU compiles for elements with these tables of their basis.
    ///
    /// # Errors
    /// [`Error::TooLarge`] when the tables exceed the shared memory of a block.
    pub fn source(&self, tables: &BasisTables) -> Result<String> {
        Ok(EQUATION.source(&self.front(&ElementShape::new(self, tables)?)))
    }

    /// Returns what stands in front of the kernels for elements of these tables.
    pub(super) fn front(&self, shape: &ElementShape) -> String {
        let EquationText { name, text, .. } = self;
        let mut mapped = 0;
        let mut cases = String::new();
        for (pair, &bits) in self.nonzero.as_flattened().iter().enumerate() {
            mapped |= mapped_terms(bits);
            write!(cases, "pair == {pair} ? {bits}u : ").unwrap_or_default();
        }
        let ElementShape { nodes, points, block, fused, .. } = shape;
        let (slopes, symmetric, fused) = (self.has_slopes, self.symmetric, u8::from(*fused));
        format!(
            "#line 1 \"{name}\"\nnamespace equation_text {{\n{text}\n}}\nusing Statement = equation_text::{name};\n\
             constexpr int NODES = {nodes}, POINTS = {points}, DOFS = {D}, BLOCK = {block};\n\
             constexpr bool HAS_SLOPES = {slopes}, SYMMETRIC = {symmetric};\nconstexpr u32 MAPPED = {mapped}u;\n\
             __device__ constexpr u32 nonzero(int pair) {{ return {cases}0u; }}\n#define FUSED {fused}\n"
        )
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

/// A point with gradients and values without a pattern; coordinates and values are positive.
pub(super) fn sample_point<const D: usize>(sample: usize) -> ([f64; 3], [Field<f64>; D]) {
    let noise = |k: usize| {
        let bits = ((sample * 64 + k + 1) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (bits >> 11) as f64 / (1u64 << 53) as f64
    };
    let field =
        |c: usize| Field { grad: array::from_fn(|a| 2.0 * noise(3 + 4 * c + a) - 1.0), value: 0.5 + noise(6 + 4 * c) };
    (array::from_fn(noise), array::from_fn(field))
}

/// Sizes of an element, and how its matrices are computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct ElementShape {
    pub nodes: usize,
    pub points: usize,
    /// Nodes along an edge of a tile.
    pub block: usize,
    /// Whether a thread computes a whole element.
    pub fused: bool,
    pub dofs: usize,
    pub symmetric: bool,
}

impl ElementShape {
    /// # Errors
    /// [`Error::TooLarge`] when the tables exceed the shared memory of a block.
    pub fn new<const D: usize>(text: &EquationText<D>, tables: &BasisTables) -> Result<Self> {
        let (nodes, points) = (tables.nodes, tables.weights.len());
        let block = nodes.div_ceil(nodes.div_ceil(LARGEST_TILE).max(1));
        let mut shape = ElementShape { nodes, points, block, fused: false, dofs: D, symmetric: text.symmetric };
        shape.fused = D == 1 && shape.entries() <= LARGEST_FUSED;
        let bytes = points * (shape.padded() * TERMS + 1) * size_of::<f64>();
        if bytes > SHARED {
            let (needed, limit) = (format!("{bytes} bytes"), format!("{SHARED} bytes"));
            return Err(Error::TooLarge { what: "the basis at the points of an element".into(), needed, limit });
        }
        Ok(shape)
    }

    /// Nodes of all tiles.
    pub fn padded(&self) -> usize {
        self.nodes.next_multiple_of(self.block.max(1))
    }

    pub fn rows(&self) -> usize {
        self.dofs * self.nodes
    }

    /// Stored entries of a matrix.
    pub fn entries(&self) -> usize {
        let rows = self.rows();
        if self.symmetric { rows * (rows + 1) / 2 } else { rows * rows }
    }

    /// Tiles of an element; residuals of a component are one, too.
    pub fn tiles(&self) -> usize {
        let blocks = self.padded() / self.block.max(1);
        let pairs = if self.symmetric { blocks * (blocks + 1) / 2 } else { blocks * blocks };
        self.dofs * self.dofs * pairs + self.dofs
    }

    /// Numbers that an element has between the two kernels.
    pub fn work_items(&self) -> usize {
        self.points * (self.dofs * self.dofs * TERMS * TERMS + self.dofs * TERMS)
    }

    /// The tables as the kernels read them: `[point][node][4]` with zeros behind the last node, then the weights.
    pub fn tables(&self, tables: &BasisTables) -> Vec<f64> {
        let at_node = |p: usize, m: usize| {
            let [a, b, c] = tables.gradients[p * self.nodes + m];
            [a, b, c, tables.values[p * self.nodes + m]]
        };
        let item = |p: usize, m: usize| if m < self.nodes { at_node(p, m) } else { [0.0; TERMS] };
        let basis = (0..self.points).flat_map(|p| (0..self.padded()).flat_map(move |m| item(p, m)));
        basis.chain(tables.weights.iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::equations::{Diffusion, Elasticity, Heat};
    use crate::element::{Basis, ElementType};

    #[test]
    fn patterns_are_those_of_the_equations() {
        let heat = EquationText::of(&Heat { conductivity: 2.5 });
        assert!(heat.symmetric && heat.has_slopes && heat.parameters == [2.5]);
        assert_eq!(heat.nonzero, [[0b1000_0100_0010_0001]]);
        assert_eq!(mapped_terms(heat.nonzero[0][0]), 0b1000_0111_0111_0111);
        let diffusion = EquationText::of(&Diffusion { direction: [1.0, 0.5, -2.0] });
        assert!(diffusion.symmetric && !diffusion.has_slopes && diffusion.parameters == [1.0, 0.5, -2.0]);
        assert_eq!(diffusion.nonzero, [[0b0000_0100_0010_0001]]);
        let elasticity = EquationText::of(&Elasticity { lambda: 1.0, mu: 0.5, force: [1.0, 2.0, 3.0] });
        assert!(elasticity.symmetric && elasticity.parameters == [1.0, 0.5, 1.0, 2.0, 3.0]);
        // d sigma_01 / d (d u_1 / d x_0) = mu and d sigma_00 / d (d u_1 / d x_1) = lambda.
        assert_eq!(elasticity.nonzero[0][1], 1 << 4 | 1 << 1);
    }

    #[test]
    fn shapes_are_tiles_of_nodes() {
        let shape = |element: ElementType, symmetric: bool| {
            let heat = EquationText { symmetric, ..EquationText::of(&Heat { conductivity: 1.0 }) };
            ElementShape::new(&heat, &Basis::new(element).at(&element.rule())).unwrap()
        };
        let hex8 = shape(ElementType::Hex8, true);
        assert!(hex8.fused && hex8.entries() == 36 && hex8.padded() == 8);
        let hex27 = shape(ElementType::Hex27, true);
        assert!(!hex27.fused && (hex27.block, hex27.padded(), hex27.tiles(), hex27.entries()) == (7, 28, 11, 378));
        let tables = Basis::new(ElementType::Hex27).at(&ElementType::Hex27.rule());
        let on_device = hex27.tables(&tables);
        assert_eq!(on_device.len(), 27 * 28 * 4 + 27);
        assert_eq!(
            (on_device[4 * 28 + 3], on_device[4 * 27], on_device[27 * 28 * 4]),
            (tables.values[27], 0.0, tables.weights[0])
        );
        assert_eq!(shape(ElementType::Hex27, false).tiles(), 17);
        assert!(!shape(ElementType::Hex8, false).fused && shape(ElementType::Wedge6, false).fused);
        let huge = BasisTables { nodes: 27, values: vec![], gradients: vec![], weights: vec![1.0; 64] };
        let heat = EquationText::of(&Heat { conductivity: 1.0 });
        assert!(ElementShape::new(&heat, &huge).unwrap_err().to_string().contains("the basis at the points"));
    }
}
