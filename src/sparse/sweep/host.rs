//! Sweeps on hosts: one task per block of rows of a group.

use super::{Sweep, Triangles};
use crate::Result;
use crate::error::check_at_least;
use crate::space::Threads;
use crate::sparse::CrsMatrix;
use crate::sparse::value::{fetch_ahead, row_sum_of};
use rayon::prelude::*;

/// Rows per task. Groups of no more rows are computed by the calling thread.
const ROWS: usize = 1024;

impl Sweep for Threads {
    type Triangles = Triangles;

    fn take_triangles(&self, made: Triangles) -> Result<Triangles> {
        Ok(made)
    }

    fn refill_triangles(
        &self,
        triangles: &mut Triangles,
        work: impl FnOnce(&mut Triangles) -> Result<()>,
    ) -> Result<()> {
        work(triangles)
    }

    fn sweep(&self, triangles: &Triangles, r: &[f64], y: &mut [f64], z: &mut [f64]) -> Result<()> {
        let Triangles { groups, lower, upper, inverse } = triangles;
        let n = inverse.len();
        for (name, len) in [("r", r.len()), ("y", y.len()), ("z", z.len())] {
            check_at_least("sweep", name, len, n)?;
        }
        let y = &mut y[..n];
        for ends in groups.starts.windows(2) {
            let (earlier, later) = y.split_at_mut(ends[0]);
            let group = &mut later[..ends[1] - ends[0]];
            self.for_each(group.par_chunks_mut(ROWS).enumerate(), |(task, y)| {
                let first = ends[0] + task * ROWS;
                let rows = groups.rows[first..].iter().zip(&inverse[first..]);
                for ((place, y), (&row, inverse)) in (first..).zip(y).zip(rows) {
                    *y = (r[row as usize] - sum(&lower.matrix, place, |at| earlier[at])) * inverse;
                }
            });
        }
        for ends in groups.starts.windows(2).rev() {
            let (group, later) = y.split_at_mut(ends[1]);
            self.for_each(group[ends[0]..].par_chunks_mut(ROWS).enumerate(), |(task, y)| {
                let first = ends[0] + task * ROWS;
                for ((place, y), inverse) in (first..).zip(y).zip(&inverse[first..]) {
                    *y -= sum(&upper.matrix, place, |at| later[at - ends[1]]) * inverse;
                }
            });
        }
        self.for_each(
            z[..n].par_chunks_mut(Threads::CHUNK).zip(groups.places.par_chunks(Threads::CHUNK)),
            |(z, places)| {
                z.iter_mut().zip(places).for_each(|(z, &place)| *z = y[place as usize]);
            },
        );
        Ok(())
    }
}

#[inline(always)]
fn sum(triangle: &CrsMatrix, place: usize, y: impl Fn(usize) -> f64) -> f64 {
    let (row, entries, values) = (triangle.graph().row_range(place), triangle.graph().entries(), triangle.values());
    fetch_ahead(entries, values, row.clone());
    row_sum_of(&entries[row.clone()], &values[row], y)
}
