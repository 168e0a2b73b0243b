//! Bins of atoms: their order in memory, the rows of bins around an atom, and slabs that threads share.

use crate::domain::Domain;
use minifenl::space::even_bounds;
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

/// Atoms by bins: owned ones by all bins, behind them ghosts by all bins.
#[derive(Debug, Default)]
pub struct Sorted {
    /// The lowest of the bins around each owned atom.
    pub corners: Vec<u32>,
    /// First item of `order` of each bin, and the end.
    pub starts: Vec<u32>,
    /// Atoms, bin after bin, in the order of their numbers.
    pub order: Vec<u32>,
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

    fn place(&self, x: [f64; 3]) -> [usize; 3] {
        std::array::from_fn(|d| (((x[d] - self.origin[d]) / self.edge) as usize).min(self.extents[d] - 1))
    }

    fn number(&self, [i, j, k]: [usize; 3]) -> usize {
        i + self.extents[0] * (j + self.extents[1] * k)
    }

    /// The number of bins.
    pub fn count(&self) -> usize {
        self.extents.iter().product()
    }

    /// Sorts atoms by their bins, the first `owned` ones and the ghosts behind them.
    pub fn sort(&self, x: &[f64], owned: usize) -> Sorted {
        let all = self.count();
        let bin = |(i, &x): (usize, &[f64; 3])| (self.number(self.place(x)) + if i < owned { 0 } else { all }) as u32;
        let bins: Vec<u32> = x.as_chunks::<3>().0.iter().enumerate().map(bin).collect();
        let mut starts = vec![0u32; 2 * all + 1];
        bins.iter().for_each(|&bin| starts[bin as usize + 1] += 1);
        (1..starts.len()).for_each(|bin| starts[bin] += starts[bin - 1]);
        let (mut next, mut order) = (starts.clone(), vec![0; bins.len()]);
        for (i, &bin) in bins.iter().enumerate() {
            order[next[bin as usize] as usize] = i as u32;
            next[bin as usize] += 1;
        }
        let lowest = self.number([REACH; 3]) as u32;
        let corners = bins[..owned].iter().map(|bin| bin - lowest).collect();
        Sorted { corners, starts, order }
    }

    /// Bounds of slabs of owned atoms, which are in the order of bins: neighbours of a slab's atoms with larger numbers are in it
    /// or in the next one. Their number is the largest multiple of `multiple` for which this holds; `None` if there is none.
    pub fn slabs(&self, sorted: &Sorted, multiple: usize) -> Option<Vec<u32>> {
        let (layer, lowest) = (self.extents[0] * self.extents[1], self.number([REACH; 3]));
        let owned = sorted.corners.len();
        // The first atom that no neighbour below this bound sees.
        let seen = |bound: usize| {
            let last = (sorted.corners[bound - 1] as usize + lowest) / layer;
            sorted.corners.partition_point(|&corner| (corner as usize + lowest) / layer <= last + REACH)
        };
        let most = self.extents[2] / REACH / multiple;
        (1..=most).rev().find_map(|times| {
            let bounds = even_bounds(owned, times * multiple, 1);
            let is_wide = |w: &[usize]| w[0] < w[1] && seen(w[1]) <= w[2];
            let holds = bounds.len() > times * multiple && bounds.windows(3).all(is_wide);
            holds.then(|| bounds.into_iter().map(|bound| bound as u32).collect())
        })
    }
}

/// Puts items of three numbers into another order.
pub fn reordered(order: &[u32], x: &[f64]) -> Vec<f64> {
    let items = x.as_chunks::<3>().0;
    order.iter().flat_map(|&i| items[i as usize]).collect()
}
