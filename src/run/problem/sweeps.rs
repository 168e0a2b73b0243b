//! Symmetric Gauss-Seidel or IC(0) of a problem's matrix: this rank's rows and columns.

use super::linear::System;
use crate::comm::{Communicator, agree};
use crate::run::cost::Cost;
use crate::run::deck::Preconditioning;
use crate::run::{Event, Job};
use crate::solve::{Preconditioner, Sweeps};
use crate::sparse::CrsMatrix;
use crate::{Error, LocalOrdinal, Result};

/// The triangles of a problem's matrix, or its factors.
pub(super) struct Triangular<S: Job> {
    preconditioning: Preconditioning,
    /// Made once the matrix has values.
    sweeps: Option<Sweeps<S>>,
    /// A device's matrix on the host.
    copy: Option<CrsMatrix>,
}

impl<S: Job> Triangular<S> {
    /// Prepares nothing before the matrix has values.
    pub fn new(preconditioning: Preconditioning) -> Self {
        Triangular { preconditioning, sweeps: None, copy: None }
    }

    /// Takes the values of the matrix, and says where the factorisation has shifted its diagonal. All ranks call it together.
    pub fn prepare(&mut self, fine: &System<'_, S>) -> Result<()> {
        let (space, comm) = (fine.space, fine.input.links.comm());
        let Triangular { preconditioning, sweeps, copy } = self;
        let matrix = agree(comm, fine.stored().and_then(|matrix| space.assembled(matrix, copy)))?;
        let made = match (sweeps.as_mut(), *preconditioning) {
            (Some(sweeps), _) => sweeps.refill(space, matrix),
            (None, Preconditioning::Cholesky) => {
                Sweeps::incomplete_cholesky(space, matrix).map(|made| *sweeps = Some(made))
            }
            (None, _) => Sweeps::gauss_seidel(space, matrix).map(|made| *sweeps = Some(made)),
        };
        let pivot = match made {
            Err(Error::Pivot { row, value, shift }) => Some((global(fine, row), value, shift)),
            _ => None,
        };
        agree_on_pivot(comm, pivot)?;
        agree(comm, made)?;
        let notice = notice_of_shift(comm, sweeps.as_ref().map_or(0.0, Sweeps::shift));
        notice.map_or(Ok(()), |notice| (fine.input.progress)(Event::Notice(&notice)))
    }

    /// Whether there are triangles of a matrix.
    pub fn is_prepared(&self) -> bool {
        self.sweeps.is_some()
    }

    /// Returns the preconditioner of the last values.
    pub fn preconditioner(&mut self) -> Result<&mut dyn Preconditioner<S>> {
        let made = self.sweeps.as_mut().map(|sweeps| sweeps as &mut dyn Preconditioner<S>);
        made.ok_or_else(|| Error::Invalid("preconditioner: expected a matrix".into()))
    }

    /// Returns what an application moves and computes on this rank.
    pub fn cost(&self) -> Cost {
        let (bytes, flops) = self.sweeps.as_ref().map_or((0, 0), Sweeps::work);
        Cost { bytes, flops }
    }
}

/// Returns the number of a rank's row in the matrix of all ranks.
fn global<S: Job>(fine: &System<'_, S>, row: usize) -> usize {
    let dofs = fine.case.model.dofs();
    let node = fine.input.mesh.global_node((row / dofs) as LocalOrdinal);
    dofs * node as usize + row % dofs
}

/// Says the largest part of the diagonal that a rank added to it.
fn notice_of_shift(comm: &dyn Communicator, shift: f64) -> Option<String> {
    let mut largest = [shift];
    comm.all_max(&mut largest);
    (largest[0] > 0.0).then(|| format!("ic0: {} of the diagonal was added to it to keep pivots positive", largest[0]))
}

/// Fails on all ranks with the worst pivot of one of them: row, value and shift.
fn agree_on_pivot(comm: &dyn Communicator, pivot: Option<(usize, f64, f64)>) -> Result<()> {
    let depth = |value: f64| if value.is_nan() { f64::INFINITY } else { -value };
    let mut worst = pivot.map_or([f64::NEG_INFINITY; 2], |(_, value, shift)| [depth(value), shift]);
    comm.all_max(&mut worst);
    if worst[0] == f64::NEG_INFINITY {
        return Ok(());
    }
    let mut row = [pivot.filter(|pivot| depth(pivot.1) == worst[0]).map_or(0.0, |(row, ..)| row as f64)];
    comm.all_max(&mut row);
    let value = if worst[0] == f64::INFINITY { f64::NAN } else { -worst[0] };
    Err(Error::Pivot { row: row[0] as usize, value, shift: worst[1] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::ranks::on_ranks;

    #[test]
    fn all_ranks_meet_the_notice_of_the_largest_shift() {
        let shifts = [0.0, 0.04, 0.01];
        for notice in on_ranks(3, |comm| notice_of_shift(comm, shifts[comm.rank()])) {
            assert_eq!(notice.unwrap(), "ic0: 0.04 of the diagonal was added to it to keep pivots positive");
        }
        assert!(on_ranks(3, |comm| notice_of_shift(comm, 0.0)).iter().all(Option::is_none));
    }

    #[test]
    fn all_ranks_name_the_worst_pivot() {
        for (pivots, row, value) in [
            ([None, Some((70, -3.0, 0.64)), Some((5, -0.5, 0.64))], 70, -3.0),
            ([None, Some((70, -3.0, 0.64)), Some((5, f64::NAN, 0.64))], 5, f64::NAN),
        ] {
            for found in on_ranks(3, |comm| agree_on_pivot(comm, pivots[comm.rank()])) {
                let Err(Error::Pivot { row: of, value: pivot, shift }) = found else { panic!("{found:?}") };
                assert!(of == row && pivot.to_bits() == value.to_bits() && shift == 0.64, "{of} {pivot} {shift}");
            }
        }
        assert!(on_ranks(3, |comm| agree_on_pivot(comm, None)).iter().all(Result::is_ok));
    }
}
