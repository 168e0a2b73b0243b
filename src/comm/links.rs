//! The connections of a rank to all others, by one transport: where the halos and sums of a run come from;
//! sums of a communicator alone.

use super::staged::Staged;
use super::transport::{Link, Staging, Transport};
use super::{Communicator, Halo, Map, Solo, agree};
use crate::Result;
use crate::blas::{Blas, Collective, Reductions};
use crate::error::check_at_least;
use crate::space::MemorySpace;
use std::cell::OnceCell;
use std::ops::Range;
use std::time::Duration;

/// Largest number of scalars that an all-reduce copies without allocating.
const FEW: usize = 32;

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
impl<S: Blas> Collective<S> for &dyn Communicator {
    fn all_reduce(&self, space: &S, sums: &mut Reductions<S>, slots: Range<usize>) -> Result<()> {
        if self.size() == 1 {
            return Ok(());
        }
        // One copy brings the scalars and the stop scalar.
        let count = slots.end.max(sums.stop.map_or(0, |stop| stop + 1));
        let (mut few, mut many) = ([0.0; FEW], vec![0.0; if count > FEW { count } else { 0 }]);
        let scalars = if count > FEW { &mut many[..] } else { &mut few[..count] };
        check_at_least("all_reduce", "scalars", S::Memory::len(S::Memory::slice(&sums.scalars)), count)?;
        space.read(&sums.scalars, scalars)?;
        // All ranks hold the same state, so either all of them skip the all-reduce or none does.
        if sums.stop.is_some_and(|stop| scalars[stop] != 0.0) {
            return Ok(());
        }
        self.all_sum(&mut scalars[slots.clone()]);
        space.overwrite(&scalars[..slots.end], &mut sums.scalars)
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
    use crate::space::{Serial, Threads};

    /// Scalars are added within their slots, and not at all once a method has stopped.
    #[test]
    fn scalars_are_added_until_the_stop() {
        on_ranks(2, |comm| {
            let comm: &dyn Communicator = comm;
            let mut sums = Reductions::new(&Serial, 1, 40).unwrap();
            sums.scalars[..3].copy_from_slice(&[1.0, 2.0, 3.0]);
            sums.stop = Some(3);
            comm.all_reduce(&Serial, &mut sums, 1..3).unwrap();
            assert_eq!(sums.scalars[..4], [1.0, 4.0, 6.0, 0.0]);
            assert!(comm.all_reduce(&Serial, &mut sums, 2..41).unwrap_err().to_string().contains("`scalars`"));
            sums.scalars[39] = 1.5;
            comm.all_reduce(&Serial, &mut sums, 1..40).unwrap();
            assert_eq!((&sums.scalars[..3], sums.scalars[39]), (&[1.0, 8.0, 12.0][..], 3.0));
            sums.scalars[3] = 1.0;
            comm.all_reduce(&Serial, &mut sums, 0..3).unwrap();
            assert_eq!(sums.scalars[..4], [1.0, 8.0, 12.0, 1.0]);
        });
    }

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
