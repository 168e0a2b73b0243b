//! What Auto keeps of recorded sweeps: only cases that the others and the rule do not tell (a condensed nearest neighbour).

use super::super::variant::Variant;
use super::super::work::{Limits, Work};
use super::by;
use super::table::{Case, Key, SLOWEST, cases, header};
use std::collections::HashMap;

/// An H200, on which the sweeps were recorded.
pub const RECORDED_ON: Limits = Limits { multiprocessors: 132, shared: 227 << 10, ampere: true };
/// How many times the fastest the choice without it may take before a case is kept.
const KEEPS: f64 = 1.05;

/// A case with the least time of each variant in any table: what disturbs a launch only adds to its time, and of a few
/// microseconds it may add half (`docs/results/2026-11-21-contractions-h200.md`).
#[derive(Clone, Debug)]
pub struct Recorded {
    pub case: Case,
    pub work: Work,
}

/// Of those that may be chosen.
fn best(times: &[(Variant, f64)], is_ordered: bool) -> Option<f64> {
    times.iter().filter(|(variant, _)| !is_ordered || variant.keeps_order()).map(|(_, ms)| *ms).reduce(f64::min)
}

impl Recorded {
    /// How many times the fastest a variant takes; `None` where it was not measured.
    pub fn behind(&self, variant: Variant, is_ordered: bool) -> Option<f64> {
        let (_, ms) = self.case.times.iter().find(|(known, _)| *known == variant)?;
        Some(ms / best(&self.case.times, is_ordered)?)
    }

    /// The fastest and those near it, and the same of those that add in the order of the terms.
    fn entry(&self) -> Case {
        let most = |is_ordered| best(&self.case.times, is_ordered).map_or(0.0, |ms| SLOWEST * ms);
        let is_near = |variant: Variant, ms| ms <= most(false) || (variant.keeps_order() && ms <= most(true));
        let times = self.case.times.iter().copied().filter(|(variant, ms)| is_near(*variant, *ms));
        Case::new(self.case.key, times.collect())
    }
}

/// The cases of all tables, those with the most variants first.
pub fn recorded(tables: &[impl AsRef<str>]) -> Vec<Recorded> {
    let (mut found, mut places): (Vec<Case>, HashMap<Key, usize>) = Default::default();
    for case in tables.iter().flat_map(|table| cases(table.as_ref())) {
        let at = *places.entry(case.key).or_insert(found.len());
        match found.get_mut(at) {
            Some(known) => known.take(&case),
            None => found.push(case),
        }
    }
    let mut recorded: Vec<_> = found.into_iter().map(|case| Recorded { work: case.key.work(), case }).collect();
    // Stable: among equals the first.
    recorded.sort_by_key(|recorded| std::cmp::Reverse(recorded.case.times.len()));
    recorded
}

/// The cases without which, and without the rule, a choice would be far behind, until none is missing.
pub fn condensed(recorded: &[&Recorded]) -> Vec<Case> {
    let (mut kept, mut is_kept) = (Vec::new(), vec![false; recorded.len()]);
    loop {
        let before = kept.len();
        for (case, is_kept) in recorded.iter().zip(&mut is_kept).filter(|(_, is_kept)| !**is_kept) {
            let is_told = |is_ordered| {
                let chosen = by(&kept, &case.work, &RECORDED_ON, is_ordered);
                case.behind(chosen, is_ordered).is_some_and(|behind| behind <= KEEPS)
            };
            if !(is_told(false) && is_told(true)) {
                kept.push(case.entry());
                *is_kept = true;
            }
        }
        if kept.len() == before {
            return kept;
        }
    }
}

/// The table that Auto learns from tables of sweeps; of how many cases; how many it keeps. `tables`: CSV with at least the
/// columns of the result, of checked times on one GPU.
pub fn learned(tables: &[impl AsRef<str>]) -> (String, [usize; 2]) {
    let recorded = recorded(tables);
    let kept = condensed(&recorded.iter().collect::<Vec<_>>());
    let lines = kept.iter().flat_map(|case| case.times.iter().map(|(variant, ms)| case.key.line(*variant, *ms)));
    let text = std::iter::once(header()).chain(lines).map(|line| line + "\n").collect();
    (text, [recorded.len(), kept.len()])
}
