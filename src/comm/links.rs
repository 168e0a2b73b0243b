//! The connections of a rank to all others, by one transport: where the halos and sums of a run come from;
//! sums of a communicator alone.

use super::staged::Staged;
use super::transport::{Link, Staging, Transport};
use super::{Communicator, Halo, Map, Solo, agree};
use crate::Result;
use crate::blas::{Blas, Collective, Reductions};
use std::cell::OnceCell;
use std::ops::Range;
use std::time::Duration;

/// This rank's connections to other ranks, shared by all halos and sums.
#[derive(Debug)]
pub struct Links<'a, S: Staging> {
    comm: &'a dyn Communicator,
    link: Box<dyn Link<S>>,
    alone: OnceCell<Box<Links<'static, S>>>,
}

impl<'a, S: Staging> Links<'a, S> {
    /// Connects all ranks of `comm`, which call it together: by `wanted`, or by the best transport that works on all ranks. A
    /// device waits at most `limit` for another rank before it reports a failure.
    ///
    /// # Errors
    /// As [`Staging::link`].
    pub fn connect(space: &S, comm: &'a dyn Communicator, wanted: Option<Transport>, limit: Duration) -> Result<Self> {
        Ok(Links { comm, link: space.link(comm, wanted, limit)?, alone: OnceCell::new() })
    }

    /// Sends through the host, which works everywhere.
    pub fn staged(comm: &'a dyn Communicator) -> Self {
        Links { comm, link: Box::new(Staged), alone: OnceCell::new() }
    }

    /// Returns the ranks.
    pub fn comm(&self) -> &'a dyn Communicator {
        self.comm
    }

    /// Returns the connections of this rank to itself, for work that every rank does alone.
    pub fn alone(&self) -> &Links<'static, S> {
        self.alone.get_or_init(|| Box::new(Links::staged(&Solo)))
    }

    /// Returns the transport.
    pub fn transport(&self) -> Transport {
        self.link.transport()
    }

    /// Returns how many leading rows a product may compute before the ghosts arrive: `interior`, or 0 if dividing the product would
    /// change the bits of a sum whose order is fixed ([`Communicator::fix_order_of_sums`]).
    pub fn apart(&self, interior: usize) -> usize {
        if self.link.divides_sums() && self.comm.sums_in_rank_order() { 0 } else { interior }
    }

    /// Prepares the exchange of a map's ghosts. Ranks call it together.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had; a failure of the transport.
    pub fn halo(&self, space: &S, map: &Map) -> Result<Halo<S>> {
        Halo::by(&*self.link, space, self.comm, map)
    }
}

impl<S: Staging> Collective<S> for Links<'_, S> {
    fn all_reduce(&self, space: &S, sums: &mut Reductions<S>, slots: Range<usize>) -> Result<()> {
        if self.comm.size() == 1 || slots.is_empty() {
            return Ok(());
        }
        self.link.all_reduce(space, self.comm, sums, slots)
    }

    fn is_alone(&self) -> bool {
        self.comm.size() == 1
    }

    fn is_recordable(&self) -> bool {
        self.comm.size() == 1 || self.link.is_recordable()
    }

    fn attach(&self, sums: &mut Reductions<S>) {
        sums.collective = None;
        if self.comm.size() > 1 {
            self.link.attach(sums);
        }
    }

    fn agree(&self, own: Result<()>) -> Result<()> {
        agree(self.comm, own)
    }

    fn check(&self) -> Result<()> {
        self.link.check()
    }
}

/// A communicator reduces on the host. On one rank it does nothing.
impl<S: Staging> Collective<S> for &dyn Communicator {
    fn all_reduce(&self, space: &S, sums: &mut Reductions<S>, slots: Range<usize>) -> Result<()> {
        if self.size() == 1 {
            return Ok(());
        }
        space.change_scalars(sums, slots, &mut |scalars| self.all_sum(scalars))
    }

    fn is_alone(&self) -> bool {
        self.size() == 1
    }

    fn is_recordable(&self) -> bool {
        S::SYNCHRONOUS || self.size() == 1
    }

    fn agree(&self, own: Result<()>) -> Result<()> {
        agree(*self, own)
    }
}

impl<S: Blas> Collective<S> for Solo {
    fn all_reduce(&self, _: &S, _: &mut Reductions<S>, _: Range<usize>) -> Result<()> {
        Ok(())
    }

    fn is_alone(&self) -> bool {
        true
    }

    fn is_recordable(&self) -> bool {
        true
    }

    fn agree(&self, own: Result<()>) -> Result<()> {
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::ranks::on_ranks;
    use crate::space::Threads;

    /// Host sums do not depend on how a product is divided.
    #[test]
    fn hosts_compute_interior_rows_apart_whatever_the_order_of_sums() {
        on_ranks(2, |comm| {
            let links: Links<'_, Threads> = Links::staged(comm);
            assert_eq!(links.apart(7), 7);
            comm.fix_order_of_sums();
            assert!(comm.sums_in_rank_order());
            assert_eq!(links.apart(7), 7);
        });
    }
}
