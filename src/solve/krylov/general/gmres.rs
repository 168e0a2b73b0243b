//! Restarted GMRES (Saad and Schultz 1986), preconditioned from the right.
//!
//! ```text
//! w = A M^-1 v_j
//! h = V^T w, w -= V h,  twice                                classical Gram-Schmidt with reorthogonalisation: as good as modified
//! h_(j+1) = ||w||,  v_(j+1) = w / h_(j+1)                    Gram-Schmidt, with 2 all-reduces instead of j + 2
//! min over y of || beta e_1 - H y ||                         by Givens rotations, which give ||r|| in each iteration
//! x += M^-1 V y                                              at each restart and at the end, then r = b - A x
//! ```
//! The second pass also sums w.w, and ||w||^2 = w.w - h.h of that pass. Memory: restart + 1 vectors, and z. Traffic per iteration and
//! unknown besides the product: 80 bytes for each of the j + 1 vectors. Cost grows with j: restarts bound it.

use super::Solve;
use crate::Result;
use crate::blas::Blas;
use crate::space::{Array, MemorySpace, Slice};

/// Part of ||w|| below which w lies in the span of the other vectors, up to rounding.
const DEPENDENT: f64 = 1e-14;

/// Largest ratio of residuals that is progress.
const FALLS: f64 = 0.9;

/// Solves A x = b from the given x; `restart` vectors span the space in which the residual is minimised. Takes restart + 1 vectors, as many
/// as a smaller limit of iterations needs.
pub(super) fn gmres<S: Blas>(
    solve: &mut Solve<'_, '_, S>,
    vectors: &mut [Array<S, f64>],
    restart: usize,
    observe: &mut dyn FnMut(usize, f64) -> Result<()>,
) -> Result<()> {
    let restart = restart.clamp(1, solve.params.max_iterations.max(1));
    let Some((w, basis)) = vectors.split_first_mut().filter(|(_, basis)| basis.len() >= restart) else {
        return Err(solve.wrong_workspace());
    };
    let (space, n, w) = (solve.space, solve.n(), S::Memory::slice_mut(w));
    if solve.start()? {
        return Ok(());
    }
    let mut small = SmallProblem::new(restart);
    let mut before = f64::INFINITY;
    while !solve.residual(w)? {
        let beta = solve.info.residual;
        if small.is_dependent && beta > FALLS * before {
            // The basis could not grow, and its best x was hardly better: A is singular.
            return Err(solve.not_converged());
        }
        before = beta;
        small.start(beta);
        while small.size < restart && solve.info.iterations < solve.params.max_iterations {
            let last = small.size;
            // v = w / its norm
            let v = S::Memory::slice_mut(&mut basis[last]);
            space.axpby(n, 1.0 / small.norm, w, 0.0, w, v)?;
            solve.product(v, w)?;
            let column = solve.orthogonalise(&basis[..=last], w)?;
            let is_dependent = small.push(column);
            solve.info.iterations += 1;
            observe(solve.info.iterations, small.residual())?;
            if is_dependent || small.residual() <= solve.info.target {
                break;
            }
        }
        // x += M^-1 V y
        space.fill(n, 0.0, w)?;
        for (y, v) in small.solution().into_iter().zip(&*basis) {
            space.axpy(n, y, S::Memory::slice(v), w)?;
        }
        solve.precondition(w)?;
        solve.advance(1.0)?;
    }
    Ok(())
}

impl<S: Blas> Solve<'_, '_, S> {
    /// w -= V V^T w, twice. Returns the coefficients, then ||w||.
    fn orthogonalise(&mut self, basis: &[Array<S, f64>], w: &mut Slice<S, f64>) -> Result<Vec<f64>> {
        let (space, n, count) = (self.space, self.n(), basis.len());
        let mut column = vec![0.0; count + 1];
        for _ in 0..2 {
            for (slot, v) in basis.iter().enumerate() {
                space.dot(n, S::Memory::slice(v), w, self.sums, slot)?;
            }
            space.dot(n, w, w, self.sums, count)?;
            let mut h = vec![0.0; count + 1];
            self.sum(&mut h)?;
            self.finite("w.w", h[count])?;
            for (v, h) in basis.iter().zip(&h) {
                space.axpy(n, -h, S::Memory::slice(v), w)?;
            }
            let square = h[count] - h[..count].iter().map(|h| h * h).sum::<f64>();
            column.iter_mut().zip(&h[..count]).for_each(|(sum, h)| *sum += h);
            column[count] = square.max(0.0).sqrt();
        }
        Ok(column)
    }
}

/// min over y of || beta e_1 - H y ||: H by columns, made upper triangular as it grows.
struct SmallProblem {
    /// Columns of the triangular factor.
    columns: Vec<Vec<f64>>,
    /// Cosine and sine of the rotation of each column.
    rotations: Vec<[f64; 2]>,
    /// Rotated right-hand side.
    rhs: Vec<f64>,
    size: usize,
    /// Norm of the vector that becomes the next of the basis.
    norm: f64,
    is_dependent: bool,
}

impl SmallProblem {
    fn new(restart: usize) -> Self {
        let (columns, rotations) = (Vec::with_capacity(restart), Vec::with_capacity(restart));
        SmallProblem { columns, rotations, rhs: Vec::new(), size: 0, norm: 0.0, is_dependent: false }
    }

    fn start(&mut self, beta: f64) {
        self.columns.clear();
        self.rotations.clear();
        (self.rhs, self.size, self.norm, self.is_dependent) = (vec![beta], 0, beta, false);
    }

    /// Adds a column. Returns whether its last item is 0 up to rounding, after which the basis cannot grow.
    fn push(&mut self, mut column: Vec<f64>) -> bool {
        let last = self.size;
        let length = column.iter().map(|h| h * h).sum::<f64>().sqrt();
        self.norm = column[last + 1];
        self.is_dependent = self.norm <= DEPENDENT * length;
        for (i, [c, s]) in self.rotations.iter().enumerate() {
            let (a, b) = (column[i], column[i + 1]);
            (column[i], column[i + 1]) = (c * a + s * b, c * b - s * a);
        }
        let (a, b) = (column[last], column[last + 1]);
        let hypotenuse = a.hypot(b);
        let [c, s] = if hypotenuse > 0.0 { [a / hypotenuse, b / hypotenuse] } else { [1.0, 0.0] };
        (column[last], column[last + 1]) = (hypotenuse, 0.0);
        let before = self.rhs[last];
        self.rhs[last] = c * before;
        self.rhs.push(-s * before);
        self.rotations.push([c, s]);
        self.columns.push(column);
        self.size += 1;
        self.is_dependent
    }

    /// Norm of the residual of the best y.
    fn residual(&self) -> f64 {
        self.rhs.last().map_or(0.0, |last| last.abs())
    }

    /// y by back substitution; 0 where the triangular factor is singular up to rounding.
    fn solution(&self) -> Vec<f64> {
        let mut y = self.rhs[..self.size].to_vec();
        let largest = (0..self.size).map(|j| self.columns[j][j]).fold(0.0, f64::max);
        for j in (0..self.size).rev() {
            let pivot = self.columns[j][j];
            y[j] = if pivot > DEPENDENT * largest { y[j] / pivot } else { 0.0 };
            for i in 0..j {
                y[i] -= self.columns[j][i] * y[j];
            }
        }
        y
    }
}
