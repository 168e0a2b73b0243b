//! Bins of atoms: their order in memory, the rows of bins around an atom, and slabs that threads share.

use crate::domain::Domain;
use crate::functions::{CountBins, KeepBins, PlaceAtoms, SortBin, Sum};
use crate::space::Space;
use minifenl::space::{Array, MemorySpace, Slice};
use minifenl::{Error, Result};
use std::ops::Range;

/// Bins along the reach of a list.
const REACH: usize = 2;

/// Bins of a rank: bounds of bins of owned atoms and of ghosts have 32-bit signed indices.
const MOST: usize = (1 << 30) - 1;

/// Cubes with edges of half the reach, on a part and its surroundings.
#[derive(Debug)]
pub struct Bins {
    origin: [f64; 3],
    edge: f64,
    extents: [usize; 3],
    /// Bins of a row: one behind the other in x.
    pub row_bins: usize,
    /// First bin of each row around a bin, counted from the lowest of them.
    pub rows: Vec<u32>,
}

/// Atoms by bins, in the memory of a space: owned ones by all bins, behind them ghosts by all bins.
#[derive(Debug)]
pub struct Sorted<S: Space> {
    /// The bin of each atom.
    pub bins: Array<S, u32>,
    /// First item of `order` of each bin, and the end.
    pub starts: Array<S, u32>,
    /// Atoms, bin after bin, in the order of their numbers.
    pub order: Array<S, u32>,
    /// Owned atoms.
    pub owned: usize,
    /// Atoms of each bin, one item behind; empty once the ghosts are there.
    pub counts: Array<S, u32>,
}

impl Bins {
    /// The bins of a part.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for 2^30 bins or more.
    pub fn new(domain: &Domain) -> Result<Self> {
        let edge = domain.reach / REACH as f64;
        // Rounding moves no atom into a bin at the edge of all.
        let margin = 0.01 * edge;
        let origin = domain.low.map(|low| low - domain.reach - margin);
        let length = |d: usize| domain.high[d] + domain.reach + margin - origin[d];
        let extents: [usize; 3] = std::array::from_fn(|d| (length(d) / edge) as usize + 2);
        let [x, y, z] = extents;
        if x.checked_mul(y).and_then(|layer| layer.checked_mul(z)).is_none_or(|count| count > MOST) {
            return Err(Error::TooLarge {
                what: "a box this wide for its cutoff plus skin (--cutoff, --skin, --density)".into(),
                needed: format!("{x} x {y} x {z} bins on a rank"),
                limit: format!("{MOST} bins"),
            });
        }
        let across = 2 * REACH + 1;
        let row = |k: usize| extents[0] * (k % across + extents[1] * (k / across));
        let rows = (0..across * across).map(|k| row(k) as u32).collect();
        Ok(Bins { origin, edge, extents, row_bins: across, rows })
    }

    fn number(&self, [i, j, k]: [usize; 3]) -> usize {
        i + self.extents[0] * (j + self.extents[1] * k)
    }

    /// The number of bins.
    pub fn count(&self) -> usize {
        self.extents.iter().product()
    }

    /// From the lowest of the bins around an atom to its own.
    pub fn corner(&self) -> usize {
        self.number([REACH; 3])
    }

    /// Sorts the `owned` atoms at `x`, [atom, axis], by their bins.
    ///
    /// # Errors
    /// Those of the space, here and below.
    pub fn sort<S: Space>(&self, space: &S, x: &Slice<S, f64>, owned: usize) -> Result<Sorted<S>> {
        let ends = 2 * self.count() + 1;
        let (bins, order) = (space.to_be_written(owned)?, space.to_be_written(owned)?);
        let (counts, starts) = (space.zeros(ends)?, space.to_be_written(ends)?);
        let mut sorted = Sorted { bins, starts, order, owned, counts };
        self.add(space, x, 0..owned, 0..self.count(), &mut sorted)?;
        Ok(sorted)
    }

    /// Adds the ghosts behind the owned atoms at `x`, which have been put into the order of `sorted` if `is_reordered`.
    pub fn with_ghosts<S: Space>(
        &self,
        space: &S,
        x: &Slice<S, f64>,
        ghosts: usize,
        sorted: Sorted<S>,
        is_reordered: bool,
    ) -> Result<Sorted<S>> {
        let owned = sorted.owned;
        let (mut bins, mut order) = (space.to_be_written(owned + ghosts)?, space.to_be_written(owned + ghosts)?);
        let keep = KeepBins { is_reordered: f64::from(is_reordered) };
        let kept = [&sorted.bins, &sorted.order].map(S::Memory::slice);
        space.for_indices(owned, &keep, [], kept, [&mut bins, &mut order].map(S::Memory::slice_mut))?;
        let mut all = Sorted { bins, order, ..sorted };
        self.add(space, x, owned..owned + ghosts, self.count()..2 * self.count(), &mut all)?;
        all.counts = space.zeros(0)?;
        Ok(all)
    }

    /// Sorts atoms of a range into bins of a range; the bins before it have their atoms.
    fn add<S: Space>(
        &self,
        space: &S,
        x: &Slice<S, f64>,
        atoms: Range<usize>,
        range: Range<usize>,
        to: &mut Sorted<S>,
    ) -> Result<()> {
        let (first, first_bin) = (atoms.start as f64, range.start as f64);
        let extents = self.extents.map(|extent| extent as f64);
        let count = CountBins { origin: self.origin, edge: self.edge, extents, first, first_bin };
        let mut slots = space.to_be_written(atoms.len())?;
        let Sorted { bins, starts, order, counts, .. } = to;
        let written = [&mut *bins, &mut slots, &mut *counts].map(S::Memory::slice_mut);
        space.for_indices(atoms.len(), &count, [x], [], written)?;
        space.scan_items(range.end + 1, &Sum {}, [S::Memory::slice(counts)], S::Memory::slice_mut(starts))?;
        let read = [&*bins, &slots, &*starts].map(S::Memory::slice);
        space.for_indices(atoms.len(), &PlaceAtoms { first }, [], read, [S::Memory::slice_mut(order)])?;
        let sort = SortBin { first_bin };
        space.for_indices(range.len(), &sort, [], [S::Memory::slice(starts)], [S::Memory::slice_mut(order)])
    }

    /// Bounds of bodies and seams in turn, by owned atoms, which are in the order of bins: neighbours of a body's atoms with larger numbers
    /// are in the body or its seam, those of a seam's atoms in the seam or the next body. A body and its seam are a share; shares have as many
    /// neighbours as each other, `counts` per atom. There are three or two shares per thread where they are wide enough, else as many
    /// as possible up to one per thread; `None` if half of the threads would be idle.
    pub fn slabs<S: Space>(
        &self,
        space: &S,
        sorted: &Sorted<S>,
        counts: &Array<S, u32>,
        threads: usize,
    ) -> Result<Option<Vec<u32>>> {
        let (layers, layer) = (self.extents[2], self.extents[0] * self.extents[1]);
        let starts = space.download(&sorted.starts)?;
        let firsts: Vec<u32> = starts.into_iter().step_by(layer).take(layers + 1).collect();
        let mut pairs = vec![0; sorted.owned];
        space.read(counts, &mut pairs)?;
        let up_to = pairs.into_iter().scan(0, |sum, count: u32| {
            *sum += u64::from(count);
            Some(*sum)
        });
        let sums: Vec<u64> = up_to.collect();
        let mut shares = [3 * threads, 2 * threads].into_iter().chain((threads.div_ceil(2)..=threads).rev());
        Ok(shares.find_map(|shares| slabs(&firsts, &sums, shares)))
    }
}

/// Bodies and seams of so many shares, see [`Bins::slabs`], or `None` if they are too thin. `firsts` has the first atom of each layer of bins,
/// and the number of atoms; `sums` the neighbours up to each atom.
fn slabs(firsts: &[u32], sums: &[u64], shares: usize) -> Option<Vec<u32>> {
    let (layers, all) = (firsts.len() - 1, *sums.last()?);
    // The first atom that sees `bound` or atoms behind it.
    let seeing = |bound: u32| firsts[firsts.partition_point(|&first| first <= bound).saturating_sub(REACH + 1)];
    // The first atom that no neighbour below `bound` sees.
    let seen = |bound: u32| firsts[(firsts.partition_point(|&first| first < bound) + REACH).min(layers)];
    let mut bounds = vec![0];
    for share in 1..=shares {
        let (start, last) = (bounds[bounds.len() - 1], firsts[layers]);
        let end = sums.partition_point(|&sum| sum * (shares as u64) < share as u64 * all) as u32;
        let (seam, end) = match bounds[..] {
            _ if share < shares => (seeing(end), end),
            // No body follows the last seam: it is as long as the first one.
            [_, first, second, ..] => (last - (second - first), last),
            _ => (seeing(last), last),
        };
        if seam <= start || share > 1 && seam < seen(start) {
            return None;
        }
        bounds.extend([seam, end]);
    }
    Some(bounds)
}
