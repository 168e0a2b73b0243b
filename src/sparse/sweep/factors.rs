//! Incomplete Cholesky factors without fill, IC(0), in the triangles of a symmetric matrix.
//!
//! ```text
//! l_pk = a_pk - sum_(q < k) l_pq l_kq / d_q       on the pattern of A
//! d_p  = (1 + shift) a_pp - sum_(q < p) l_pq^2 / d_q
//! ```
//! M = (D + L) D^-1 (D + L^T) has the entries of A on its pattern (Meijerink and van der Vorst 1977), so the sweeps of Gauss and Seidel solve
//! with it. A row needs rows of earlier groups only. For a pivot that is not positive the factorisation is repeated with a larger share of the
//! diagonal (Manteuffel 1980).

use super::Triangles;
use super::triangles::{Triangle, write};
use crate::space::{Threads, even_bounds, split_at};
use crate::sparse::CrsMatrix;
use crate::{Error, LocalOrdinal, Result};
use rayon::prelude::*;

/// First and largest share of the diagonal that is added; each is twice the one before.
const SHIFTS: [f64; 2] = [0.01, 0.64];
/// Pivots below this share of the diagonal are rounding.
const ROUNDING: f64 = 1e-14;
/// Largest difference of mirrored entries, as a share of their diagonals.
const ASYMMETRIC: f64 = 1e-10;
/// Rows per task.
const ROWS: usize = 32;

impl Triangles {
    /// Takes the factors of a matrix on the graph of the plan; returns the share of the diagonal that was added, mostly 0.
    ///
    /// # Errors
    /// Those of [`fill`](Self::fill); [`Error::Invalid`] naming an entry that differs from its mirror image, [`Error::Pivot`] naming a row that has no
    /// positive pivot with the largest share.
    pub fn factorise(&mut self, space: &Threads, matrix: &CrsMatrix) -> Result<f64> {
        let mut shift = 0.0;
        self.fill(space, matrix)?;
        self.check_symmetry(space)?;
        while let Some((row, value)) = self.eliminate(space, shift) {
            if shift >= SHIFTS[1] {
                return Err(Error::Pivot { row, value, shift });
            }
            shift = (2.0 * shift).max(SHIFTS[0]);
            self.fill(space, matrix)?;
        }
        let (lower, upper) = (&self.lower.matrix, &mut self.upper.matrix);
        let graph = upper.graph().clone();
        write(space, upper, |place, at| lower.get(graph.entries()[at] as usize, place as LocalOrdinal).unwrap_or(0.0));
        Ok(shift)
    }

    fn check_symmetry(&self, space: &Threads) -> Result<()> {
        let refuse = |what: String| Err(Error::Invalid(format!("IC(0): {what}: expected a symmetric matrix")));
        let [lower, upper] = [&self.lower, &self.upper].map(|triangle| triangle.matrix.graph().nnz());
        let bad = space.map(self.inverse.len(), |place| u8::from(self.asymmetric(place).is_some()))?;
        let row = |place: usize| self.groups.rows[place];
        match bad.iter().position(|&is_bad| is_bad != 0).and_then(|place| Some((place, self.asymmetric(place)?))) {
            Some((place, (column, [found, mirror]))) => {
                let [row, column] = [row(place), row(column as usize)];
                refuse(format!("entry ({row}, {column}) is {found:e}, and ({column}, {row}) is {mirror:e}"))
            }
            None if lower != upper => refuse(format!("{lower} entries lie below the diagonal and {upper} above it")),
            None => Ok(()),
        }
    }

    /// The first column of a row's upper triangle whose entry differs from its mirror image, which may be missing; and both values.
    fn asymmetric(&self, place: usize) -> Option<(LocalOrdinal, [f64; 2])> {
        let (lower, upper) = (&self.lower.matrix, &self.upper.matrix);
        let differs = |at: usize| {
            let (column, found) = (upper.graph().entries()[at], upper.values()[at]);
            let mirror = lower.get(column as usize, place as LocalOrdinal).unwrap_or(f64::NAN);
            let scale = self.inverse[place].abs().min(self.inverse[column as usize].abs());
            let is_near = (found - mirror).abs() * scale <= ASYMMETRIC;
            (!is_near).then_some((column, [found, mirror]))
        };
        upper.graph().row_range(place).find_map(differs)
    }

    /// Replaces the lower triangle by factors; returns the first row whose pivot is not positive, and the pivot.
    fn eliminate(&mut self, space: &Threads, shift: f64) -> Option<(usize, f64)> {
        let Triangles { groups, lower: Triangle { matrix, .. }, inverse, .. } = self;
        let graph = matrix.graph().clone();
        let values = matrix.values_mut();
        for ends in groups.starts.windows(2) {
            let [start, end] = [ends[0], ends[1]].map(|place| graph.row_map()[place] as usize);
            let (factors, later) = values.split_at_mut(start);
            let (pivots, own) = inverse.split_at_mut(ends[0]);
            let (count, own) = (ends[1] - ends[0], &mut own[..ends[1] - ends[0]]);
            let bounds = even_bounds(count, count.div_ceil(ROWS), 1);
            let starts = bounds.iter().map(|&row| graph.row_map()[ends[0] + row] as usize - start);
            let tasks = split_at(&mut later[..end - start], starts).into_par_iter();
            let tasks = tasks.zip(split_at(own, bounds.iter().copied())).zip(bounds.par_windows(2));
            space.for_each(tasks, |((values, own), bounds)| {
                let (mut rest, mut scaled) = (values, Table::default());
                for (place, inverse) in (ends[0] + bounds[0]..).zip(own) {
                    let columns = graph.row(place);
                    let (row, others) = std::mem::take(&mut rest).split_at_mut(columns.len());
                    rest = others;
                    scaled.clear(columns.len());
                    let (diagonal, mut sum) = (inverse.recip(), 0.0);
                    for (&column, factor) in columns.iter().zip(row) {
                        let other = graph.row_range(column as usize);
                        let terms = graph.entries()[other.clone()].iter().zip(&factors[other]);
                        *factor -= terms.map(|(&common, other)| scaled.get(common) * other).sum::<f64>();
                        let value = *factor * pivots[column as usize];
                        scaled.insert(column, value);
                        sum += *factor * value;
                    }
                    let pivot = (1.0 + shift) * diagonal - sum;
                    let is_rounding = pivot.abs() <= ROUNDING * diagonal;
                    *inverse = if is_rounding { f64::INFINITY } else { pivot.recip() };
                }
            });
            let bad = own.iter().position(|&inverse| !(inverse > 0.0 && inverse.is_finite()));
            if let Some(bad) = bad {
                return Some((groups.rows[ends[0] + bad] as usize, own[bad].recip()));
            }
        }
        None
    }
}

/// Numbers of a row by column, l_pq / d_q, in a table with open addresses.
#[derive(Default)]
struct Table {
    slots: Vec<(u32, f64)>,
}

impl Table {
    /// No column: there are fewer rows.
    const NONE: u32 = u32::MAX;

    /// Makes room for a row of so many entries.
    fn clear(&mut self, entries: usize) {
        self.slots.clear();
        self.slots.resize((4 * entries.max(1)).next_power_of_two(), (Self::NONE, 0.0));
    }

    /// The slot of a column, or the empty one where it belongs.
    #[inline(always)]
    fn slot(&self, column: u32) -> usize {
        let mask = self.slots.len() - 1;
        // Knuth's multiplicative hash. Most columns are found, or found missing, at once: a branch that is predicted well.
        let mut at = (column.wrapping_mul(0x9e37_79b1) >> 12) as usize & mask;
        while (self.slots[at].0 != column) & (self.slots[at].0 != Self::NONE) {
            at = (at + 1) & mask;
        }
        at
    }

    fn insert(&mut self, column: u32, value: f64) {
        let at = self.slot(column);
        self.slots[at] = (column, value);
    }

    /// The number of a column, 0 if the row has none.
    #[inline(always)]
    fn get(&self, column: u32) -> f64 {
        self.slots[self.slot(column)].1
    }
}
