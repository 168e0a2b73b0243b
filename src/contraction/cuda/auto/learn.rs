//! What Auto keeps of recorded sweeps: only cases that the others and the rule do not tell (a condensed nearest neighbour).
//!
//! A figure's table has the report's few algorithms, and beside them what an Auto of its day chose, without its name. Where
//! that was faster than all of them, the fastest of them is no lesson: the choice is then left to other cases, or, where one of
//! them would be chosen, to what other cases say of the rest.

use super::super::variant::Variant;
use super::super::work::{Limits, Work};
use super::table::{Case, Key, SLOWEST, cases, fastest, header};
use super::{applies, by, rule};
use std::collections::HashMap;

/// An H200, on which the sweeps were recorded.
pub const RECORDED_ON: Limits = Limits { multiprocessors: 132, shared: 227 << 10, ampere: true };
/// How many times the fastest the choice without it may take before a case is kept.
const KEEPS: f64 = 1.05;

/// A case as all tables have it.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub key: Key,
    pub work: Work,
    /// Of each table; the one with the most variants first.
    tables: Vec<Case>,
    /// Times of that one, then what only others have, by its ratio to flat there.
    all: Case,
}

fn time(times: &[(Variant, f64)], of: Variant) -> Option<f64> {
    times.iter().find(|(variant, _)| *variant == of).map(|(_, ms)| *ms)
}

/// Of those that may be chosen.
fn best(times: &[(Variant, f64)], is_ordered: bool) -> Option<f64> {
    times.iter().filter(|(variant, _)| !is_ordered || variant.keeps_order()).map(|(_, ms)| *ms).reduce(f64::min)
}

impl Recorded {
    fn new(mut tables: Vec<Case>) -> Self {
        // Stable: among equals the first.
        tables.sort_by_key(|table| std::cmp::Reverse(table.times.len()));
        let mut all = tables[0].clone();
        for table in &tables[1..] {
            let flat = |table: &Case| time(&table.times, Variant::Flat);
            let scale = flat(&tables[0]).zip(flat(table)).map_or(1.0, |(here, there)| here / there);
            for &(variant, ms) in &table.times {
                if time(&all.times, variant).is_none() {
                    all.times.push((variant, scale * ms));
                }
            }
            all.auto = all.auto.or(table.auto.map(|ms| scale * ms));
        }
        all.times.sort_by(|a, b| a.1.total_cmp(&b.1));
        Recorded { key: all.key, work: all.key.work(), tables, all }
    }

    /// How many times the fastest of the same table, an Auto of its day included, a variant takes, at worst; `None` where it
    /// was not measured.
    pub fn behind(&self, variant: Variant, is_ordered: bool) -> Option<f64> {
        let ratio = |case: &Case| {
            let auto = case.auto.filter(|_| !is_ordered);
            let best = best(&case.times, is_ordered).into_iter().chain(auto).reduce(f64::min)?;
            Some(time(&case.times, variant)? / best)
        };
        self.tables.iter().chain([&self.all]).filter_map(ratio).reduce(f64::max)
    }

    /// Whether an Auto of its day chose something faster than all that was measured by name.
    pub fn is_topped(&self) -> bool {
        self.all.auto.zip(best(&self.all.times, false)).is_some_and(|(auto, best)| best > KEEPS * auto)
    }

    /// The fastest and those near it, and the same of those that add in the order of the terms. Where an Auto chose something
    /// faster that has no name here: what the other cases say of those that have no time here.
    fn entry(&self, kept: &[Case]) -> Case {
        let most = |is_ordered| best(&self.all.times, is_ordered).map_or(0.0, |ms| SLOWEST * ms);
        let is_near = |variant: Variant, ms| ms <= most(false) || (variant.keeps_order() && ms <= most(true));
        let mut times: Vec<_> = self.all.times.iter().copied().filter(|(variant, ms)| is_near(*variant, *ms)).collect();
        if let Some(ms) = self.all.auto.filter(|_| self.is_topped()) {
            let is_unnamed =
                |variant| time(&self.all.times, variant).is_none() && applies(variant, &self.work, &RECORDED_ON, false);
            let guess = fastest(&self.work, kept, false, is_unnamed)
                .unwrap_or_else(|| rule(&self.work, &RECORDED_ON, is_unnamed));
            if is_unnamed(guess) {
                times.insert(0, (guess, ms));
            }
        }
        Case::new(self.key, times)
    }
}

/// The cases of all tables, those with the most variants first.
pub fn recorded(tables: &[impl AsRef<str>]) -> Vec<Recorded> {
    let (mut found, mut places): (Vec<Vec<Case>>, HashMap<Key, usize>) = Default::default();
    for case in tables.iter().flat_map(|table| cases(table.as_ref())) {
        let at = *places.entry(case.key).or_insert(found.len());
        if at == found.len() {
            found.push(Vec::new());
        }
        found[at].push(case);
    }
    let mut recorded: Vec<Recorded> = found.into_iter().map(Recorded::new).collect();
    recorded.sort_by_key(|case| std::cmp::Reverse(case.all.times.len()));
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
                case.behind(chosen, is_ordered).is_none_or(|behind| behind <= KEEPS)
            };
            if !(is_told(false) && is_told(true)) {
                let entry = case.entry(&kept);
                kept.push(entry);
                *is_kept = true;
            }
        }
        if kept.len() == before {
            return kept;
        }
    }
}

/// The table that Auto learns from tables of sweeps; of how many cases; how many it keeps; in how many of these the first name
/// is a guess. `tables`: CSV with at least the columns of the result, of checked times on one GPU.
pub fn learned(tables: &[impl AsRef<str>]) -> (String, [usize; 3]) {
    let recorded = recorded(tables);
    let kept = condensed(&recorded.iter().collect::<Vec<_>>());
    let is_guess =
        |case: &&Case| recorded.iter().any(|r| r.key == case.key && time(&r.all.times, case.times[0].0).is_none());
    let guesses = kept.iter().filter(is_guess).count();
    let lines = kept.iter().flat_map(|case| case.times.iter().map(|(variant, ms)| case.key.line(*variant, *ms)));
    let text = std::iter::once(header()).chain(lines).map(|line| line + "\n").collect();
    (text, [recorded.len(), kept.len(), guesses])
}
