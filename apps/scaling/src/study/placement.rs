//! Binding and oversubscription, from the affinity masks that a report lists.

use super::record::{PlacementRecord, Record};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How the threads of a run share the hardware threads of their hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// Hosts.
    pub hosts: usize,
    /// "bound", if no rank may use the hardware threads of another one; "unbound"; or "unknown".
    pub binding: &'static str,
    /// Why the run is oversubscribed, if it is.
    pub oversubscribed: Option<String>,
}

impl Placement {
    /// Reads the placement of a run.
    pub fn new(record: &Record) -> Self {
        let mut hosts: BTreeMap<&str, Vec<&PlacementRecord>> = BTreeMap::new();
        for entry in &record.provenance.placement {
            hosts.entry(&entry.host).or_default().push(entry);
        }
        let (mut is_known, mut is_bound, mut oversubscribed) = (true, true, None);
        for (host, entries) in &hosts {
            // Threads that compute on a GPU wait for it; a rank has one that matters.
            let threads = |entry: &PlacementRecord| if entry.gpu.is_some() { 1 } else { entry.threads };
            let ranks = |entry: &PlacementRecord| entry.last_rank - entry.first_rank + 1;
            let wanted: usize = entries.iter().map(|entry| ranks(entry) * threads(entry)).sum();
            let masks: Option<Vec<BTreeSet<usize>>> = entries.iter().map(|entry| mask(&entry.affinity)).collect();
            let Some(masks) = masks else {
                is_known = false;
                continue;
            };
            let all: BTreeSet<usize> = masks.iter().flatten().copied().collect();
            let own: usize = entries.iter().zip(&masks).map(|(entry, mask)| ranks(entry) * mask.len()).sum();
            // Masks without an overlap have as many hardware threads together as one by one.
            is_bound &= own == all.len();
            if wanted > all.len() {
                oversubscribed = Some(format!(
                    "{wanted} threads share {} hardware thread{} of {host}",
                    all.len(),
                    if all.len() == 1 { "" } else { "s" }
                ));
            }
        }
        let binding = match (is_known, is_bound) {
            (false, _) => "unknown",
            (_, true) => "bound",
            (_, false) => "unbound",
        };
        Placement { hosts: hosts.len(), binding, oversubscribed }
    }
}

/// The numbers of `0-3,8 | 5`; `None` for anything else.
pub fn mask(text: &str) -> Option<BTreeSet<usize>> {
    let mut all = BTreeSet::new();
    for range in text.split(['|', ',']) {
        let range = range.trim();
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        all.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sample, place};

    fn of(places: &[(usize, usize, &str, &str)], threads: usize) -> Placement {
        let mut record = Sample::default().record();
        record.provenance.placement =
            places.iter().map(|(first, last, host, mask)| place([*first, *last], host, threads, mask)).collect();
        Placement::new(&record)
    }

    #[test]
    fn masks_are_read() {
        assert_eq!(mask("0-2,7 | 9"), Some(BTreeSet::from([0, 1, 2, 7, 9])));
        assert_eq!(mask("unknown"), None);
    }

    #[test]
    fn bound_unbound_and_oversubscribed_runs_are_told_apart() {
        let bound = of(&[(0, 0, "a", "0"), (1, 1, "a", "1"), (2, 3, "b", "0-1")], 1);
        assert_eq!((bound.hosts, bound.binding, bound.oversubscribed), (2, "unbound", None));
        let bound = of(&[(0, 0, "a", "0"), (1, 1, "a", "1")], 1);
        assert_eq!((bound.hosts, bound.binding, bound.oversubscribed), (1, "bound", None));
        let four = of(&[(0, 3, "a", "0-1")], 1);
        assert_eq!(
            (four.binding, four.oversubscribed.as_deref()),
            ("unbound", Some("4 threads share 2 hardware threads of a"))
        );
        // Two threads bound to one core.
        let one = of(&[(0, 0, "a", "1")], 2);
        assert_eq!(one.oversubscribed.as_deref(), Some("2 threads share 1 hardware thread of a"));
        assert_eq!(of(&[(0, 0, "a", "unknown")], 2).binding, "unknown");
    }
}
