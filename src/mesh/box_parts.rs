//! The parts of a box on a number of ranks, checked once.

use super::{BoxPart, BoxSpec, split::Share};
use crate::{Error, Result};

/// A box cut among ranks; any part can be computed in O(log p) time: for partitions of many ranks that no rank holds.
///
/// ```
/// use minifenl::mesh::{BoxParts, BoxSpec, CoordinateMap};
///
/// let spec = BoxSpec::unit([200; 3], CoordinateMap::None)?.with_imbalance(50.0)?;
/// let parts = BoxParts::new(&spec, 1000)?;
/// let owned = (0..1000).map(|rank| Ok(parts.part(rank)?.owned().count())).collect::<minifenl::Result<Vec<u64>>>()?;
/// assert_eq!(owned.iter().sum::<u64>(), 200 * 200 * 200);
/// assert!(owned[0] > 11_000 && owned[1..].iter().all(|&count| count < owned[0]));
/// # Ok::<(), minifenl::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BoxParts {
    spec: BoxSpec,
    share: Share,
}

impl BoxParts {
    /// Checks that every rank owns a node.
    ///
    /// # Errors
    /// [`Error::Invalid`] for too many ranks or too large an imbalance.
    pub fn new(spec: &BoxSpec, ranks: usize) -> Result<Self> {
        let share = Share::whole(spec.nodes(), ranks as u64, spec.imbalance())?;
        share.check()?;
        Ok(BoxParts { spec: *spec, share })
    }

    /// Computes the part of `rank`.
    ///
    /// # Errors
    /// [`Error::Invalid`] when `rank` is not below the number of ranks; [`Error::TooLarge`] when local ids exceed 32 bits.
    pub fn part(&self, rank: usize) -> Result<BoxPart> {
        let ranks = self.share.ranks();
        if rank as u64 >= ranks {
            return Err(Error::Invalid(format!("invalid rank {rank}: expected 0..{ranks}")));
        }
        BoxPart::of_share(&self.spec, self.share, rank)
    }
}
