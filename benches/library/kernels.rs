//! Element matrices as a user of the library writes them: once, generic over the number, for one element or a batch in vector lanes.

use minifenl::Result;
use minifenl::element::ElementType;
use minifenl::fill::{ElementBatch, ElementKernel, Evaluate, Wanted};
use minifenl::space::lanes::{HALF_LANES, Lanes, Number};
use multiversion::multiversion;
use multiversion::target::match_target;
use std::ops::Range;

/// Receives the entries of an element matrix.
pub trait Sink<N> {
    fn put(&mut self, i: usize, j: usize, value: N);
}

/// An element matrix as a function of the coordinates `[node, axis]`. Elements have any number of dofs.
pub trait Element<const NODES: usize>: Sync {
    fn matrix<N: Number>(coords: &[[N; 3]; NODES], sink: &mut impl Sink<N>);
}

#[derive(Clone, Copy)]
pub struct HexPoisson;
#[derive(Clone, Copy)]
pub struct TetPoisson;
#[derive(Clone, Copy)]
pub struct HexElasticity;
#[derive(Clone, Copy)]
pub struct TetElasticity;

impl Element<8> for HexPoisson {
    #[inline(always)]
    fn matrix<N: Number>(coords: &[[N; 3]; 8], sink: &mut impl Sink<N>) {
        poisson(&hex_points(coords), sink);
    }
}

impl Element<4> for TetPoisson {
    #[inline(always)]
    fn matrix<N: Number>(coords: &[[N; 3]; 4], sink: &mut impl Sink<N>) {
        poisson(&[tet_point(coords)], sink);
    }
}

impl Element<8> for HexElasticity {
    #[inline(always)]
    fn matrix<N: Number>(coords: &[[N; 3]; 8], sink: &mut impl Sink<N>) {
        elasticity(&hex_points(coords), sink);
    }
}

impl Element<4> for TetElasticity {
    #[inline(always)]
    fn matrix<N: Number>(coords: &[[N; 3]; 4], sink: &mut impl Sink<N>) {
        elasticity(&[tet_point(coords)], sink);
    }
}

/// Gradients g `[node, axis]` at a quadrature point, and the same times weight and Jacobian.
type Point<N, const NODES: usize> = ([[N; 3]; NODES], [[N; 3]; NODES]);

#[inline(always)]
fn poisson<N: Number, const NODES: usize, const NP: usize>(points: &[Point<N, NODES>; NP], sink: &mut impl Sink<N>) {
    for i in 0..NODES {
        for j in 0..=i {
            let mut sum = N::from(0.0);
            for (g, weighted) in points {
                for a in 0..3 {
                    sum = weighted[i][a].times_plus(g[j][a], sum);
                }
            }
            sink.put(i, j, sum);
            sink.put(j, i, sum);
        }
    }
}

/// S[c, d] = sum over points of w g_ic g_jd; then K[i c, j d] = S[c, d] + S[d, c] + delta_cd tr S.
#[inline(always)]
fn elasticity<N: Number, const NODES: usize, const NP: usize>(points: &[Point<N, NODES>; NP], sink: &mut impl Sink<N>) {
    for i in 0..NODES {
        for j in 0..=i {
            let mut s = [[N::from(0.0); 3]; 3];
            for (g, weighted) in points {
                for c in 0..3 {
                    for d in 0..3 {
                        s[c][d] = weighted[i][c].times_plus(g[j][d], s[c][d]);
                    }
                }
            }
            let trace = s[0][0] + s[1][1] + s[2][2];
            for c in 0..3 {
                for d in 0..3 {
                    let value = s[c][d] + s[d][c];
                    let value = if c == d { value + trace } else { value };
                    sink.put(3 * i + c, 3 * j + d, value);
                    sink.put(3 * j + d, 3 * i + c, value);
                }
            }
        }
    }
}

#[inline(always)]
fn cross<N: Number>(a: [N; 3], b: [N; 3]) -> [N; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[inline(always)]
fn dot<N: Number>(a: [N; 3], b: [N; 3]) -> N {
    a[0].times_plus(b[0], a[1].times_plus(b[1], a[2] * b[2]))
}

#[inline(always)]
fn scaled<N: Number, const NODES: usize>(g: &[[N; 3]; NODES], factor: N) -> [[N; 3]; NODES] {
    let mut out = *g;
    for m in 0..NODES {
        for a in 0..3 {
            out[m][a] = g[m][a] * factor;
        }
    }
    out
}

/// Derivatives of the trilinear functions at the 2x2x2 Gauss points, whose weights are 1, `[point, node, axis]`: point p is the one
/// nearest to node p.
const GRADIENTS: [[[f64; 3]; 8]; 8] = {
    let (nodes, gauss) = (ElementType::Hex8.reference_nodes(), 0.577_350_269_189_625_8);
    let (mut gradients, mut at) = ([[[0.0; 3]; 8]; 8], 0);
    while at < 8 * 8 * 3 {
        let (p, m, a) = (at / 24, at / 3 % 8, at % 3);
        let (b, c) = ((a + 1) % 3, (a + 2) % 3);
        let (along_b, along_c) = (1.0 + gauss * nodes[m][b] * nodes[p][b], 1.0 + gauss * nodes[m][c] * nodes[p][c]);
        gradients[p][m][a] = 0.125 * nodes[m][a] * along_b * along_c;
        at += 1;
    }
    gradients
};

#[inline(always)]
fn hex_points<N: Number>(coords: &[[N; 3]; 8]) -> [Point<N, 8>; 8] {
    let mut points = [([[N::from(0.0); 3]; 8], [[N::from(0.0); 3]; 8]); 8];
    for p in 0..8 {
        // j[a, b] = dx_a / dxi_b; the rows of its inverse's transpose are cross products of its rows over the determinant.
        let mut j = [[N::from(0.0); 3]; 3];
        for m in 0..8 {
            for a in 0..3 {
                for b in 0..3 {
                    j[a][b] = coords[m][a].times_plus(N::from(GRADIENTS[p][m][b]), j[a][b]);
                }
            }
        }
        let rows = [cross(j[1], j[2]), cross(j[2], j[0]), cross(j[0], j[1])];
        let det = dot(j[0], rows[0]);
        let inverse = N::from(1.0) / det;
        let mut g = [[N::from(0.0); 3]; 8];
        for m in 0..8 {
            for a in 0..3 {
                let mut sum = N::from(0.0);
                for b in 0..3 {
                    sum = rows[a][b].times_plus(N::from(GRADIENTS[p][m][b]), sum);
                }
                g[m][a] = sum * inverse;
            }
        }
        points[p] = (g, scaled(&g, det));
    }
    points
}

#[inline(always)]
fn tet_point<N: Number>(coords: &[[N; 3]; 4]) -> Point<N, 4> {
    let mut edge = [[N::from(0.0); 3]; 3];
    for m in 0..3 {
        for a in 0..3 {
            edge[m][a] = coords[m + 1][a] - coords[0][a];
        }
    }
    let normal = [cross(edge[1], edge[2]), cross(edge[2], edge[0]), cross(edge[0], edge[1])];
    let det = dot(edge[0], normal[0]);
    let inverse = N::from(1.0) / det;
    let mut g = [[N::from(0.0); 3]; 4];
    for a in 0..3 {
        for m in 0..3 {
            g[m + 1][a] = normal[m][a] * inverse;
        }
        g[0][a] = -(g[1][a] + g[2][a] + g[3][a]);
    }
    (g, scaled(&g, det * N::from(1.0 / 6.0)))
}

/// A mesh whose elements have `NODES` nodes.
#[derive(Clone, Copy)]
pub struct Mesh<'a, const NODES: usize> {
    pub table: &'a [[u32; NODES]],
    pub points: &'a [[f64; 3]],
}

/// The lanes of a batch from `first` on.
struct Part<'a, const ND: usize> {
    out: &'a mut ElementBatch<ND>,
    first: usize,
}

impl<const FUSED: bool, const ND: usize> Sink<Lanes<FUSED, f64, HALF_LANES>> for Part<'_, ND> {
    #[inline(always)]
    fn put(&mut self, i: usize, j: usize, value: Lanes<FUSED, f64, HALF_LANES>) {
        self.out.matrix[i][j][self.first..][..HALF_LANES].copy_from_slice(&value.0);
    }
}

#[inline(always)]
fn batch<E: Element<NODES>, const FUSED: bool, const NODES: usize, const ND: usize>(
    mesh: Mesh<'_, NODES>,
    elems: Range<usize>,
    out: &mut ElementBatch<ND>,
) {
    for (part, start) in elems.clone().step_by(HALF_LANES).enumerate() {
        let mut coords = [[Lanes::<FUSED, f64, HALF_LANES>::ZERO; 3]; NODES];
        for lane in 0..HALF_LANES {
            // Lanes past the end repeat the last element.
            let nodes = &mesh.table[(start + lane).min(elems.end - 1)];
            for i in 0..NODES {
                for d in 0..3 {
                    coords[i][d].0[lane] = mesh.points[nodes[i] as usize][d];
                }
            }
        }
        E::matrix(&coords, &mut Part { out, first: part * HALF_LANES });
    }
}

/// The kernel in lanes, compiled for the processor's vectors.
pub struct Batched<'a, E, const NODES: usize>(pub Mesh<'a, NODES>, pub E);

macro_rules! batched {
    ($element:ident, $evaluate:ident, $nodes:literal, $dofs:literal) => {
        // The attribute expands to calls of the versions, each behind a check that the processor has its instructions.
        #[allow(unsafe_code)]
        #[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
        fn $evaluate(mesh: Mesh<'_, $nodes>, elems: Range<usize>, out: &mut ElementBatch<$dofs>) {
            match_target! {
                "x86_64+avx512f" => batch::<$element, true, $nodes, $dofs>(mesh, elems, out),
                "x86_64+fma" => batch::<$element, true, $nodes, $dofs>(mesh, elems, out),
                _ => batch::<$element, false, $nodes, $dofs>(mesh, elems, out),
            }
        }

        impl ElementKernel<$dofs> for Batched<'_, $element, $nodes> {
            fn evaluator(&self, wanted: Wanted, _: Range<usize>) -> Result<Evaluate<'_, $dofs>> {
                Ok(Box::new(move |elems, out| {
                    if wanted.residual {
                        out.residual = [[0.0; _]; _];
                    }
                    $evaluate(self.0, elems, out);
                    Ok(())
                }))
            }
        }
    };
}
batched!(HexPoisson, hex_poisson, 8, 8);
batched!(TetPoisson, tet_poisson, 4, 4);
batched!(HexElasticity, hex_elasticity, 8, 24);
batched!(TetElasticity, tet_elasticity, 4, 12);

/// Element matrices that were computed elsewhere, `[elem, i, j]`.
pub struct Given<'a>(pub &'a [f64]);

impl<const ND: usize> ElementKernel<ND> for Given<'_> {
    fn evaluator(&self, _: Wanted, _: Range<usize>) -> Result<Evaluate<'_, ND>> {
        Ok(Box::new(|elems, out| {
            for (lane, elem) in elems.enumerate() {
                let matrix = &self.0[elem * ND * ND..][..ND * ND];
                for i in 0..ND {
                    for j in 0..ND {
                        out.matrix[i][j][lane] = matrix[i * ND + j];
                    }
                    out.residual[i][lane] = 0.0;
                }
            }
            Ok(())
        }))
    }
}
