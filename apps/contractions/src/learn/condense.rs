//! The cases of recorded sweeps that `Variant::Auto` needs: those that the others and its rule do not predict (a condensed
//! nearest-neighbour table).

use minifenl::contraction::Variant;
use minifenl::contraction::tuning::{Case, Key, SLOWEST, cases, chosen_by, header};
use std::collections::HashMap;

/// Ratio of the chosen time to the fastest above which a case is kept.
const KEEPS: f64 = 1.05;

/// A case with the least time of each variant in any table. Disturbances only lengthen a launch, by up to half of a few
/// microseconds (`docs/results/2026-11-21-contractions-h200.md`).
#[derive(Clone, Debug)]
pub struct Recorded(pub Case);

/// Returns the least time of the variants that may be chosen.
fn best(times: &[(Variant, f64)], is_ordered: bool) -> Option<f64> {
    times.iter().filter(|(variant, _)| !is_ordered || variant.keeps_order()).map(|(_, ms)| *ms).reduce(f64::min)
}

impl Recorded {
    /// Returns the ratio of a variant's time to the fastest; `None` where it was not measured.
    pub fn behind(&self, variant: Variant, is_ordered: bool) -> Option<f64> {
        let (_, ms) = self.0.times.iter().find(|(known, _)| *known == variant)?;
        Some(ms / best(&self.0.times, is_ordered)?)
    }

    /// Returns the fastest variants and those near them, both among all and among those that add in the order of the terms.
    fn entry(&self) -> Case {
        let most = |is_ordered| best(&self.0.times, is_ordered).map_or(0.0, |ms| SLOWEST * ms);
        let is_near = |variant: Variant, ms| ms <= most(false) || (variant.keeps_order() && ms <= most(true));
        let times = self.0.times.iter().copied().filter(|(variant, ms)| is_near(*variant, *ms));
        Case::new(self.0.key, times.collect())
    }
}

/// Returns the cases of all tables, those with the most variants first.
pub fn recorded(tables: &[impl AsRef<str>]) -> Vec<Recorded> {
    let (mut found, mut places): (Vec<Case>, HashMap<Key, usize>) = Default::default();
    for case in tables.iter().flat_map(|table| cases(table.as_ref())) {
        let at = *places.entry(case.key).or_insert(found.len());
        match found.get_mut(at) {
            Some(known) => known.take(&case),
            None => found.push(case),
        }
    }
    let mut recorded: Vec<_> = found.into_iter().map(Recorded).collect();
    // The sort is stable: cases with equally many variants keep their order.
    recorded.sort_by_key(|recorded| std::cmp::Reverse(recorded.0.times.len()));
    recorded
}

/// Returns the cases to keep so that every choice is near the fastest.
pub fn condensed(recorded: &[&Recorded]) -> Vec<Case> {
    let (mut kept, mut is_kept) = (Vec::new(), vec![false; recorded.len()]);
    loop {
        let before = kept.len();
        for (case, is_kept) in recorded.iter().zip(&mut is_kept).filter(|(_, is_kept)| !**is_kept) {
            let is_told = |is_ordered| {
                let chosen = chosen_by(&kept, &case.0.key, is_ordered);
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

/// Returns the tuning table of sweeps, its number of cases and how many it keeps. `tables`: CSV with at least the
/// columns of the result, with checked times on one GPU.
pub fn tuning_table(tables: &[impl AsRef<str>]) -> (String, [usize; 2]) {
    let recorded = recorded(tables);
    let kept = condensed(&recorded.iter().collect::<Vec<_>>());
    let lines = kept.iter().flat_map(|case| case.times.iter().map(|(variant, ms)| case.key.line(*variant, *ms)));
    let text = std::iter::once(header()).chain(lines).map(|line| line + "\n").collect();
    (text, [recorded.len(), kept.len()])
}
