//! The V-cycle.

use super::bottom::Bottom;
use super::lanczos::largest_eigenvalue;
use super::{Chebyshev, Level, Smoothing};
use crate::Result;
use crate::comm::{Links, Staging, agree_on_method};
use crate::solve::Preconditioner;
use crate::space::{MemorySpace, Slice};
use crate::sparse::{MatrixOf, Operator, Spmv};

/// The levels of a multigrid method, finest first, without their operators.
#[derive(Debug)]
pub struct Hierarchy<S: Staging, A = MatrixOf<S>> {
    /// The levels.
    pub levels: Vec<Level<S, A>>,
    /// The dense inverse of the last level, where there are several.
    bottom: Option<Bottom<S>>,
    smoothing: Smoothing,
}

impl<S: Staging + Spmv, A: Operator<S>> Hierarchy<S, A> {
    /// Joins levels. Of several levels the last is inverted. Collective.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) where the last of several levels is too large, [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new(
        space: &S,
        links: &Links<'_, S>,
        levels: Vec<Level<S, A>>,
        rows: usize,
        smoothing: Smoothing,
    ) -> Result<Self> {
        let mut made = Hierarchy { levels, bottom: None, smoothing };
        if let Some(last) = made.levels.len().checked_sub(1).filter(|&last| last > 0) {
            let bottom = made.on_level(links, last, |links| Bottom::new(space, links, rows))?;
            made.levels[last].b = space.zeros(bottom.columns())?;
            made.bottom = Some(bottom);
        }
        Ok(made)
    }

    /// Returns the bytes of the dense inverse of a last level of `all` unknowns, `rows` of them on this rank of those that share it, with those
    /// of its computation.
    pub fn inverse_bytes([rows, all]: [u64; 2], ranks: u64) -> u64 {
        Bottom::<S>::bytes([rows, all], ranks)
    }

    /// Returns whether every rank has all rows of a level: the restriction to it, or to a finer one, is gathered.
    pub fn is_replicated(&self, at: usize) -> bool {
        self.levels.iter().take(at).filter_map(Level::transfer).any(|finer| finer.restriction.is_gathered())
    }

    /// Does work on a level with the ranks that share its rows, and makes its result the same on all ranks. Collective.
    fn on_level<R>(&self, links: &Links<'_, S>, at: usize, work: impl FnOnce(&Links<'_, S>) -> Result<R>) -> Result<R> {
        if self.is_replicated(at) { agree_on_method(links.comm(), work(links.alone())) } else { work(links) }
    }

    /// Estimates the eigenvalues that the smoothers of these levels need, unless an earlier call has: the iterate of a nonlinear problem
    /// hardly changes the spectrum of D^-1 A, and the interval has a margin. A refined level takes the estimate of the next coarser
    /// one. Operators are those of the coarsest levels, all or some.
    /// Collective.
    ///
    /// The caller has written the inverse diagonals of the operators to the levels. `random(at, vector)` writes pseudo-random numbers to
    /// the owned items of a vector of operator `at`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) where an operator is not positive definite; the failure of a device or of communication.
    pub fn prepare_smoothers(
        &mut self,
        space: &S,
        links: &Links<'_, S>,
        operators: &[&dyn Operator<S>],
        mut random: impl FnMut(usize, &mut Slice<S, f64>) -> Result<()>,
    ) -> Result<()> {
        let smoothed = operators.len() - usize::from(self.bottom.is_some());
        let (finer, mut coarser) = (self.levels.len() - operators.len(), None);
        for at in (0..smoothed).rev() {
            let is_replicated = self.is_replicated(finer + at);
            let level = &mut self.levels[finer + at];
            if level.smoother.is_none() && level.is_refined {
                level.smoother = coarser;
            }
            if level.smoother.is_none() {
                let mut largest = |links: &Links<'_, S>| {
                    random(at, S::Memory::slice_mut(&mut level.x))?;
                    largest_eigenvalue(space, links, operators[at], level)
                };
                let largest =
                    if is_replicated { agree_on_method(links.comm(), largest(links.alone())) } else { largest(links) };
                level.smoother = Some(Chebyshev::below(largest?, self.smoothing));
            }
            coarser = level.smoother;
        }
        Ok(())
    }

    /// Inverts the operator of the last of several levels. Collective.
    ///
    /// # Errors
    /// [`Error::Indefinite`](crate::Error::Indefinite), on all ranks, where the operator is not positive definite; the failure of a device or of
    /// communication.
    pub fn invert_last(&mut self, space: &S, links: &Links<'_, S>, last: &dyn Operator<S>) -> Result<()> {
        let Some(mut bottom) = self.bottom.take() else { return Ok(()) };
        let inverted = self.on_level(links, self.levels.len() - 1, |links| bottom.invert(space, links, last));
        self.bottom = Some(bottom);
        inverted
    }

    /// Interpolates a vector of level `at + 1` to level `at`, in memory that the next cycle overwrites; `None` for the last level.
    /// Collective.
    ///
    /// # Errors
    /// The failure of a device or of communication.
    pub fn interpolated(&mut self, space: &S, at: usize, coarse: &Slice<S, f64>) -> Result<Option<&mut Slice<S, f64>>> {
        let (finer, coarser) = self.levels.split_at_mut(at + 1);
        let Level { coarser: Some(transfer), y, .. } = &mut finer[at] else { return Ok(None) };
        let Level { e, rows, .. } = &mut coarser[0];
        let (e, y) = (S::Memory::slice_mut(e), S::Memory::slice_mut(y));
        space.copy(*rows, coarse, e)?;
        transfer.prolongation.apply(space, e, y)?;
        Ok(Some(y))
    }

    /// Returns the cycle as a preconditioner of the first of these operators, finest first, each distributed: those of all levels, or of
    /// the coarsest ones.
    pub fn cycle<'a>(&'a mut self, operators: Vec<&'a dyn Operator<S>>) -> Cycle<'a, S, A> {
        Cycle { hierarchy: self, operators }
    }
}

/// The levels of these operators, which are those of the coarsest.
fn from<'l, S: Staging, A>(levels: &'l mut [Level<S, A>], operators: &[&dyn Operator<S>]) -> &'l mut [Level<S, A>] {
    let finer = levels.len() - operators.len();
    &mut levels[finer..]
}

/// A V-cycle with its operators.
pub struct Cycle<'a, S: Staging, A = MatrixOf<S>> {
    hierarchy: &'a mut Hierarchy<S, A>,
    operators: Vec<&'a dyn Operator<S>>,
}

impl<S: Staging, A> std::fmt::Debug for Cycle<'_, S, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cycle").field("levels", &self.operators.len()).finish_non_exhaustive()
    }
}

/// Steps of the smoother. Without `continues` from x = 0.
fn smooth<S: Staging + Spmv, A>(
    space: &S,
    operator: &dyn Operator<S>,
    level: &mut Level<S, A>,
    b: Option<&Slice<S, f64>>,
    continues: bool,
) -> Result<()> {
    let Level { inverse, smoother, x, b: own, d, y, .. } = level;
    let [x, d, y] = [x, d, y].map(S::Memory::slice_mut);
    let (w, b) = (S::Memory::slice(inverse), b.unwrap_or(S::Memory::slice(own)));
    for (step, coefficients) in smoother.iter().flat_map(Chebyshev::coefficients).enumerate() {
        let product = if step > 0 || continues {
            operator.apply(space, x, y)?;
            Some(&*y)
        } else {
            None
        };
        space.relax(operator.rows(), coefficients, w, b, product, d, x)?;
    }
    Ok(())
}

impl<S: Staging + Spmv, A: Operator<S>> Preconditioner<S> for Cycle<'_, S, A> {
    fn is_recordable(&self) -> bool {
        let Hierarchy { levels, bottom, .. } = &*self.hierarchy;
        levels.iter().all(Level::is_recordable)
            && bottom.as_ref().is_none_or(|bottom| bottom.inverse.is_recordable())
            && self.operators.iter().all(|operator| operator.is_recordable())
    }

    // One step is Jacobi's preconditioner, a pass over vectors.
    fn is_costly(&self) -> bool {
        self.operators.len() > 1 || self.hierarchy.smoothing.degree > 1
    }

    fn apply(&mut self, space: &S, n: usize, r: &Slice<S, f64>, z: &mut Slice<S, f64>) -> Result<()> {
        self.apply_visiting(space, n, r, z, &mut |_| Ok(()))
    }

    fn apply_visiting(
        &mut self,
        space: &S,
        n: usize,
        r: &Slice<S, f64>,
        z: &mut Slice<S, f64>,
        enter: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        let Hierarchy { levels, bottom, .. } = &mut *self.hierarchy;
        let levels = from(levels, &self.operators);
        let given = |at: usize| (at == 0).then_some(r);
        for (at, operator) in self.operators.iter().enumerate() {
            let (finer, coarser) = levels.split_at_mut(at + 1);
            let (level, rows) = (&mut finer[at], operator.rows());
            let Some(next) = coarser.first_mut() else { break };
            enter(at)?;
            // x = 0, smooth, R (b - A x)
            smooth(space, *operator, level, given(at), false)?;
            let Level { x, b, d, y, coarser: Some(transfer), .. } = level else { break };
            let [x, d, y] = [x, d, y].map(S::Memory::slice_mut);
            operator.apply(space, x, d)?;
            space.axpby(rows, 1.0, given(at).unwrap_or(S::Memory::slice(b)), -1.0, d, y)?;
            transfer.restriction.apply(space, y, S::Memory::slice_mut(&mut next.b))?;
        }
        let last = levels.len() - 1;
        enter(last)?;
        match bottom {
            Some(bottom) => {
                let Level { x, b, .. } = &mut levels[last];
                if last == 0 {
                    space.copy(n, r, S::Memory::slice_mut(b))?;
                }
                bottom.inverse.apply(space, S::Memory::slice_mut(b), S::Memory::slice_mut(x))?;
            }
            None => smooth(space, self.operators[last], &mut levels[last], given(last), false)?,
        }
        for (at, operator) in self.operators.iter().enumerate().take(last).rev() {
            let (finer, coarser) = levels.split_at_mut(at + 1);
            let (level, Level { x: solution, e, .. }) = (&mut finer[at], &mut coarser[0]);
            enter(at)?;
            // x += P e, smooth
            let Level { x, y, coarser: Some(transfer), .. } = level else { break };
            let [x, y] = [x, y].map(S::Memory::slice_mut);
            let e = S::Memory::slice_mut(e);
            space.copy(self.operators[at + 1].rows(), S::Memory::slice(solution), e)?;
            transfer.prolongation.apply(space, e, y)?;
            space.axpy(operator.rows(), 1.0, y, x)?;
            smooth(space, *operator, level, given(at), true)?;
        }
        space.copy(n, S::Memory::slice(&levels[0].x), z)
    }
}
