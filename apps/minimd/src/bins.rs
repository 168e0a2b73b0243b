//! Bins of atoms: their order in memory, the rows of bins around an atom, and slabs that threads share.

use crate::domain::Domain;
use crate::functions::{CountBins, Layers, PlaceAtoms, SortBin, Sum};
use crate::space::Space;
use minifenl::space::{Array, MemorySpace, Slice, even_bounds};
use minifenl::{Error, Result};

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

    /// Sorts the first `atoms` atoms of `x`, [atom, axis], by their bins: `owned` ones and the ghosts behind them.
    ///
    /// # Errors
    /// Those of the space, here and below.
    pub fn sort<S: Space>(&self, space: &S, x: &Slice<S, f64>, [owned, atoms]: [usize; 2]) -> Result<Sorted<S>> {
        let ends = 2 * self.count() + 1;
        let [mut bins, mut slots, mut order] =
            [space.to_be_written(atoms)?, space.to_be_written(atoms)?, space.to_be_written(atoms)?];
        let (mut counts, mut starts) = (space.zeros(ends)?, space.to_be_written(ends)?);
        let of = CountBins {
            origin: self.origin,
            edge: self.edge,
            extents: self.extents.map(|extent| extent as f64),
            owned: owned as f64,
        };
        let written = [&mut bins, &mut slots, &mut counts].map(S::Memory::slice_mut);
        space.for_indices(atoms, &of, [x], [], written)?;
        space.scan_items(ends, &Sum {}, [S::Memory::slice(&counts)], S::Memory::slice_mut(&mut starts))?;
        let read = [&bins, &slots, &starts].map(S::Memory::slice);
        space.for_indices(atoms, &PlaceAtoms {}, [], read, [S::Memory::slice_mut(&mut order)])?;
        let starts_of = [S::Memory::slice(&starts)];
        space.for_indices(ends - 1, &SortBin {}, [], starts_of, [S::Memory::slice_mut(&mut order)])?;
        Ok(Sorted { bins, starts, order, owned })
    }

    /// Bounds of slabs of owned atoms, which are in the order of bins: neighbours of a slab's atoms with larger numbers are in it
    /// or in the next one. Their number is the largest multiple of `multiple` for which this holds; `None` if there is none.
    pub fn slabs<S: Space>(&self, space: &S, sorted: &Sorted<S>, multiple: usize) -> Result<Option<Vec<u32>>> {
        let (layers, layer) = (self.extents[2], self.extents[0] * self.extents[1]);
        let mut firsts = space.to_be_written(layers + 1)?;
        let written = [S::Memory::slice_mut(&mut firsts)];
        space.for_indices(
            layers + 1,
            &Layers { bins: layer as f64 },
            [],
            [S::Memory::slice(&sorted.starts)],
            written,
        )?;
        Ok(slabs(&space.download(&firsts)?, multiple))
    }
}

/// See [`Bins::slabs`]; `firsts` has the first atom of each layer of bins, and the number of atoms.
fn slabs(firsts: &[u32], multiple: usize) -> Option<Vec<u32>> {
    let layers = firsts.len() - 1;
    // The first atom that no neighbour below this bound sees.
    let seen = |bound: usize| {
        let last = firsts.partition_point(|&first| (first as usize) < bound) - 1;
        firsts[(last + REACH + 1).min(layers)] as usize
    };
    let most = layers / REACH / multiple;
    (1..=most).rev().find_map(|times| {
        let bounds = even_bounds(firsts[layers] as usize, times * multiple, 1);
        let is_wide = |w: &[usize]| w[0] < w[1] && seen(w[1]) <= w[2];
        let holds = bounds.len() > times * multiple && bounds.windows(3).all(is_wide);
        holds.then(|| bounds.into_iter().map(|bound| bound as u32).collect())
    })
}
