//! Additions to shared cells: atomic, by compare-and-swap, and with races.
//!
//! Each of n indices adds to 8 of n cells, as an element adds to its nodes on a box: cells i + {0, 1, m, m + 1} + {0, m^2}, modulo n,
//! m^3 = n. Cost: 32 bytes of the list and 16 of the cell per index.

use crate::functions::{Add, AddByExchange, AddUnshared};
use crate::measure::{Case, Run, Work, difference};
use crate::native::{Native, Way};
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
fn sum<S: Space>(space: &S, n: usize, work: &Work<'_, Array<S, f64>>) -> Result<f64> {
    let mut cells = space.zeros::<f64>(n)?;
    work(&mut cells)?;
    Ok(space.download(&cells)?.iter().sum())
}

/// Measures all three ways for `n` cells.
pub fn measure<S: Space>(run: &mut Run<'_, S>, n: usize) -> Result<()> {
    run.step("atomics", n);
    let list = run.space.upload(&cells(n))?;
    let racy = one(run, n, &list, Way::Racy, &AddUnshared {}, None)?;
    one(run, n, &list, Way::Atomic, &Add {}, Some(racy))?;
    one(run, n, &list, Way::Exchange, &AddByExchange {}, Some(racy))?;
    Ok(())
}

/// Measures a way beside the racy one, whose seconds are given.
fn one<S, F>(run: &mut Run<'_, S>, n: usize, list: &Array<S, u32>, way: Way, f: &F, racy: Option<f64>) -> Result<f64>
where
    S: Space + Loops<F>,
    F: IndexFn<0, 1, 1>,
{
    let (space, native) = (run.space, run.native);
    let list = S::Memory::slice(list);
    let work = |cells: &mut Array<S, f64>| space.for_indices(n, f, [], [list], [S::Memory::slice_mut(cells)]);
    let by_hand = |cells: &mut Array<S, f64>| native.add(way, list, S::Memory::slice_mut(cells));
    let works: [&Work<'_, Array<S, f64>>; 2] = [&work, &by_hand];
    let expected = (WAYS * n) as f64;
    let sums = [sum(space, n, works[0])?, sum(space, n, works[1])?];
    let lost = (expected - sums[0]) / expected;
    let is_exact = racy.is_some() || space.threads() == 1 && S::SYNCHRONOUS;
    let case = Case {
        kernel: "atomics",
        variant: format!("{way:?}").to_lowercase(),
        items: n,
        bytes: (48 * n) as f64,
        difference: is_exact.then_some(difference(&sums, &[expected; 2])),
        peer: None,
        note: if lost > 0.0 { format!("{:.2} % lost", 100.0 * lost) } else { String::new() },
    };
    let mut cells = space.zeros::<f64>(n)?;
    let seconds = run.row(case, &mut cells, &works)?;
    if let (Some(row), Some(racy)) = (run.report.rows.last_mut(), racy) {
        row.note = format!("{:.2} x racy", seconds / racy);
    }
    Ok(seconds)
}
