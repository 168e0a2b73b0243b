//! Additions to shared cells: atomic, by compare-and-swap, and with races.
//!
//! Each of n indices adds to 8 of n cells, as an element adds to its nodes on a box: cells i + {0, 1, m, m + 1} + {0, m^2}, modulo n,
//! m^3 = n. Cost: 32 bytes of the list and 16 of the cell per index.

use crate::functions::{Add, AddByExchange, AddUnshared};
use crate::measure::{Case, Run};
use crate::space::Space;
use minifenl::Result;
use minifenl::space::{Array, IndexFn, Loops, MemorySpace};

/// Additions per index.
const WAYS: usize = 8;

/// The cells of each index, one behind the other.
pub fn cells(n: usize) -> Vec<u32> {
    let edge = (n as f64).cbrt().round() as usize;
    let offsets: [usize; WAYS] = std::array::from_fn(|k| (k % 2) + edge * (k / 2 % 2) + edge * edge * (k / 4));
    (0..n).flat_map(|i| offsets.map(|offset| ((i + offset) % n) as u32)).collect()
}

/// The sum of all cells after one call on zeros.
fn sum<S, F>(run: &Run<'_, S>, n: usize, list: &Array<S, u32>, f: &F) -> Result<f64>
where
    S: Space + Loops<F>,
    F: IndexFn<0, 1, 1>,
{
    let mut cells = run.space.zeros::<f64>(n)?;
    run.space.for_indices(n, f, [], [S::Memory::slice(list)], [S::Memory::slice_mut(&mut cells)])?;
    Ok(run.space.download(&cells)?.iter().sum())
}

/// Measures all three ways for `n` cells.
pub fn measure<S: Space>(run: &mut Run<'_, S>, n: usize) -> Result<()> {
    run.step("atomics", n);
    let list = run.space.upload(&cells(n))?;
    let racy = one(run, n, &list, "racy", &AddUnshared {}, None)?;
    one(run, n, &list, "atomic", &Add {}, Some(racy))?;
    one(run, n, &list, "exchange", &AddByExchange {}, Some(racy))?;
    Ok(())
}

/// Measures a way beside the racy one, whose seconds are given.
fn one<S, F>(
    run: &mut Run<'_, S>,
    n: usize,
    list: &Array<S, u32>,
    variant: &str,
    f: &F,
    racy: Option<f64>,
) -> Result<f64>
where
    S: Space + Loops<F>,
    F: IndexFn<0, 1, 1>,
{
    let space = run.space;
    let expected = (WAYS * n) as f64;
    let lost = (expected - sum(run, n, list, f)?) / expected;
    let is_exact = racy.is_some() || space.threads() == 1 && S::SYNCHRONOUS;
    let case = Case {
        kernel: "atomics",
        variant: variant.into(),
        items: n,
        bytes: (48 * n) as f64,
        difference: is_exact.then_some(lost.abs()),
        note: if lost > 0.0 { format!("{:.2} % lost", 100.0 * lost) } else { String::new() },
    };
    let mut cells = space.zeros::<f64>(n)?;
    let work = |cells: &mut Array<S, f64>| {
        space.for_indices(n, f, [], [S::Memory::slice(list)], [S::Memory::slice_mut(cells)])
    };
    let seconds = run.row(case, &mut cells, &[&work])?;
    if let (Some(row), Some(racy)) = (run.report.rows.last_mut(), racy) {
        row.note = format!("{:.2} x racy", seconds / racy);
    }
    Ok(seconds)
}
