//! Atoms of a Lennard-Jones fluid near their lattice, and their neighbour lists.

use minifenl::space::Threads;
use minifenl::{Error, Result};
use rayon::prelude::*;

/// Atoms per volume, in units of the potential: miniMD's.
const DENSITY: f64 = 0.8442;
/// Atoms act on each other up to here.
pub const CUTOFF: f64 = 2.5;
/// Lists hold neighbours up to here.
const LISTED: f64 = 2.8;

/// Atoms of a cube of face-centred cubic cells with open sides, each a little off its place: positions, [atom, axis].
pub fn atoms(cells: usize) -> Vec<f64> {
    let edge = (4.0 / DENSITY).cbrt();
    let corners = [[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]];
    let mut x = Vec::with_capacity(12 * cells * cells * cells);
    for cell in 0..cells * cells * cells {
        let place = [cell % cells, cell / cells % cells, cell / cells / cells];
        for corner in corners {
            for axis in 0..3 {
                let off = ((x.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / (1u64 << 24) as f64;
                x.push(edge * (place[axis] as f64 + corner[axis] + 0.1 * (off - 0.5)));
            }
        }
    }
    x
}

/// Lists of equal room for each atom: neighbour k of atom i at `i * width + k`.
#[derive(Clone, Debug, PartialEq)]
pub struct Lists {
    /// Neighbours per atom.
    pub counts: Vec<u32>,
    /// The neighbours; what is behind an atom's is 0.
    pub list: Vec<u32>,
    /// Room per atom.
    pub width: usize,
}

impl Lists {
    /// Lists of all neighbours, or with `is_half` of those with a larger number.
    pub fn new(space: &Threads, x: &[f64], is_half: bool) -> Result<Self> {
        let bins = Bins::new(x)?;
        let atoms = x.len() / 3;
        let counts = space.map(atoms, |i| {
            let mut count = 0;
            bins.each(x, i, is_half, |_| count += 1);
            count
        })?;
        let width = counts.iter().max().map_or(0, |&most| most as usize).max(1);
        let mut list = vec![0; width * atoms];
        space.for_each(list.par_chunks_mut(width).enumerate(), |(i, list)| {
            let mut at = 0;
            bins.each(x, i, is_half, |j| {
                list[at] = j;
                at += 1;
            });
        });
        Ok(Lists { counts, list, width })
    }
}

/// Atoms by cubes of the edge [`LISTED`].
struct Bins {
    low: [f64; 3],
    extents: [usize; 3],
    starts: Vec<usize>,
    atoms: Vec<u32>,
}

impl Bins {
    /// Sorts atoms into cubes.
    fn new(x: &[f64]) -> Result<Self> {
        let points = || x.as_chunks::<3>().0.iter();
        if points().len() > u32::MAX as usize || x.iter().any(|x| !x.is_finite()) {
            return Err(Error::Invalid("neighbour lists: expected at most 2^32 - 1 atoms at finite positions".into()));
        }
        let low = points().fold([f64::MAX; 3], |low, x| std::array::from_fn(|d| low[d].min(x[d])));
        let high = points().fold([f64::MIN; 3], |high, x| std::array::from_fn(|d| high[d].max(x[d])));
        let extents = std::array::from_fn(|d| ((high[d] - low[d]) / LISTED).max(0.0) as usize + 1);
        let mut bins = Bins { low, extents, starts: vec![0; extents.iter().product::<usize>() + 1], atoms: Vec::new() };
        for x in points() {
            let bin = bins.number(bins.place(x));
            bins.starts[bin + 1] += 1;
        }
        for bin in 1..bins.starts.len() {
            bins.starts[bin] += bins.starts[bin - 1];
        }
        let mut next = bins.starts.clone();
        bins.atoms = vec![0; points().len()];
        for (i, x) in points().enumerate() {
            let bin = bins.number(bins.place(x));
            bins.atoms[next[bin]] = i as u32;
            next[bin] += 1;
        }
        Ok(bins)
    }

    fn place(&self, x: &[f64; 3]) -> [usize; 3] {
        std::array::from_fn(|d| (((x[d] - self.low[d]) / LISTED) as usize).min(self.extents[d] - 1))
    }

    fn number(&self, [i, j, k]: [usize; 3]) -> usize {
        i + self.extents[0] * (j + self.extents[1] * k)
    }

    /// Calls `found` for the neighbours of atom `i`.
    fn each(&self, x: &[f64], i: usize, is_half: bool, mut found: impl FnMut(u32)) {
        let at = |i: usize| [x[3 * i], x[3 * i + 1], x[3 * i + 2]];
        let here = at(i);
        let place = self.place(&here);
        let range = |d: usize| place[d].saturating_sub(1)..(place[d] + 2).min(self.extents[d]);
        for (a, b) in range(2).flat_map(|a| range(1).map(move |b| (a, b))) {
            let first = self.number([range(0).start, b, a]);
            for &j in &self.atoms[self.starts[first]..self.starts[first + range(0).len()]] {
                let there = at(j as usize);
                let square: f64 = (0..3).map(|d| (here[d] - there[d]).powi(2)).sum();
                if square < LISTED * LISTED && j as usize != i && (!is_half || j as usize > i) {
                    found(j);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use minifenl::space::Serial;

    #[test]
    fn lists_hold_what_all_pairs_hold() {
        for cells in [1, 2, 4] {
            let x = atoms(cells);
            let (full, half) = (Lists::new(&Serial, &x, false).unwrap(), Lists::new(&Serial, &x, true).unwrap());
            assert_eq!(full, Lists::new(&Threads::new(3).unwrap(), &x, false).unwrap());
            let points = x.as_chunks::<3>().0;
            assert_eq!(points.len(), 4 * cells * cells * cells);
            for (i, a) in points.iter().enumerate() {
                let near = |j: &usize| {
                    let square: f64 = (0..3).map(|d| (a[d] - points[*j][d]).powi(2)).sum();
                    *j != i && square < LISTED * LISTED
                };
                let expected: Vec<u32> = (0..points.len()).filter(near).map(|j| j as u32).collect();
                let of = |lists: &Lists| {
                    let first = i * lists.width;
                    let mut list = lists.list[first..first + lists.counts[i] as usize].to_vec();
                    list.sort_unstable();
                    list
                };
                assert_eq!(of(&full), expected);
                assert!(of(&half).into_iter().eq(expected.into_iter().filter(|j| *j as usize > i)));
            }
        }
    }

    #[test]
    fn no_atoms_have_no_lists_and_lost_ones_are_refused() {
        let none = Lists::new(&Serial, &[], false).unwrap();
        assert!(none.list.is_empty() && none.counts.is_empty());
        let error = Lists::new(&Serial, &[0.0, f64::NAN, 0.0], false).unwrap_err().to_string();
        assert!(error.contains("finite") && !error.contains('\n'), "{error}");
    }
}
