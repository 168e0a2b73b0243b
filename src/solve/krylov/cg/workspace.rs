//! Memory and system of a CG solve.

use super::{CgSlot, CgSteps, CgVariant};
use crate::Result;
use crate::blas::Reductions;
use crate::solve::krylov::SolveInfo;
use crate::space::{Array, MemorySpace, Slice};

/// Iterations between two refreshes, a multiple of all check intervals: many enough that their products are 2 % of all.
pub(super) const REFRESH: usize = 64;
/// Replacements of r in a solve. A target below the attainable accuracy is reached by the recurrence only.
pub(super) const REPLACEMENTS: usize = 2;

/// Vectors and scalars of CG, allocated once and used by every solve.
#[derive(Debug)]
pub struct CgWorkspace<S: CgSteps> {
    pub(super) variant: CgVariant,
    p: Array<S, f64>,
    /// The last product: A p in classic CG, A u in single-reduction CG.
    q: Array<S, f64>,
    r: Array<S, f64>,
    /// A p by its recurrence; empty in classic CG.
    s: Array<S, f64>,
    /// M^-1 r; empty until a preconditioner needs it.
    z: Array<S, f64>,
    z_len: usize,
    pub(in super::super) sums: Reductions<S>,
    /// The last solve, if it ended before it reached its tolerance.
    pub(super) stopped: Option<SolveInfo>,
}

impl<S: CgSteps> CgWorkspace<S> {
    /// Allocates for an operator of `rows` rows and `columns` columns and classic CG: 24 bytes per row. A preconditioner adds 8 at the first solve with it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had.
    pub fn new(space: &S, rows: usize, columns: usize) -> Result<Self> {
        Self::of_variant(space, rows, columns, CgVariant::Classic)
    }

    /// Allocates for solves by `variant`: [`CgVariant::bytes`]. A preconditioner adds 8 bytes per row at the
    /// first solve with it.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_variant(space: &S, rows: usize, columns: usize, variant: CgVariant) -> Result<Self> {
        // A vector that is multiplied has room for ghosts.
        let [r, s] = match variant {
            CgVariant::Classic => [rows, 0],
            CgVariant::SingleReduction => [columns, rows],
        };
        Ok(CgWorkspace {
            variant,
            p: space.zeros(columns)?,
            q: space.zeros(rows)?,
            r: space.zeros(r)?,
            s: space.zeros(s)?,
            z: space.zeros(0)?,
            z_len: 0,
            sums: Reductions::new(space, rows, CgSlot::LEN)?,
            stopped: None,
        })
    }

    /// Returns rows and columns of the operators that the workspace is for.
    pub(super) fn sizes(&self) -> [usize; 2] {
        [&self.q, &self.p].map(|vector| S::Memory::len(S::Memory::slice(vector)))
    }

    /// Returns the numbers of a solve that ended with an error common to all ranks, such as
    /// [`Error::NotConverged`](crate::Error::NotConverged).
    pub fn stopped(&self) -> Option<SolveInfo> {
        self.stopped
    }

    /// Returns the vectors of the workspace and its scalars, all writable.
    pub(in super::super) fn parts(&mut self) -> Parts<'_, S> {
        Parts {
            p: S::Memory::slice_mut(&mut self.p),
            q: S::Memory::slice_mut(&mut self.q),
            r: S::Memory::slice_mut(&mut self.r),
            s: S::Memory::slice_mut(&mut self.s),
            z: S::Memory::slice_mut(&mut self.z),
            sums: &mut self.sums,
        }
    }

    /// Allocates what a preconditioner needs, at the first solve with one.
    pub(super) fn precondition(&mut self, space: &S, rows: usize, columns: usize) -> Result<()> {
        let len = match self.variant {
            CgVariant::Classic => rows,
            CgVariant::SingleReduction => columns,
        };
        if self.z_len < len {
            (self.z, self.z_len) = (space.zeros(len)?, len);
        }
        Ok(())
    }
}

/// The vectors of a [`CgWorkspace`] by the same names.
pub(in super::super) struct Parts<'a, S: CgSteps> {
    pub p: &'a mut Slice<S, f64>,
    pub q: &'a mut Slice<S, f64>,
    pub r: &'a mut Slice<S, f64>,
    pub s: &'a mut Slice<S, f64>,
    pub z: &'a mut Slice<S, f64>,
    pub sums: &'a mut Reductions<S>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Serial, Threads};

    #[test]
    fn a_workspace_allocates_the_bytes_of_its_variant() {
        for (variant, name) in CgVariant::ALL {
            let mut work = CgWorkspace::of_variant(&Serial, 100, 107, variant).unwrap();
            let bytes = |work: &CgWorkspace<Threads>| {
                let CgWorkspace { p, q, r, s, z, .. } = work;
                [p, q, r, s, z].iter().map(|vector| 8 * vector.len() as u64).sum::<u64>()
            };
            assert_eq!(bytes(&work), variant.bytes(100, 107), "{name}");
            work.precondition(&Serial, 100, 107).unwrap();
            let more = [800, 856][variant as usize];
            assert_eq!(bytes(&work), variant.bytes(100, 107) + more, "{name}, preconditioned");
        }
    }
}
