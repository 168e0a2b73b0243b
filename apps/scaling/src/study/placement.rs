//! Binding and oversubscription, from the affinity masks that a report lists.

use super::plan::MOST_THREADS;
use super::record::{PlacementRecord, Record};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

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
            let masks: Option<Vec<Vec<Range<usize>>>> = entries.iter().map(|entry| ranges(&entry.affinity)).collect();
            let Some(masks) = masks else {
                is_known = false;
                continue;
            };
            let own: usize = entries.iter().zip(&masks).map(|(entry, mask)| ranks(entry) * count(mask.clone())).sum();
            let all = count(masks.concat());
            // Masks without an overlap have as many hardware threads together as one by one.
            is_bound &= own == all;
            if wanted > all {
                oversubscribed = Some(format!(
                    "{wanted} threads share {} of {host}",
                    minifenl::error::count(all, "hardware thread")
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

/// The numbers of `0-3,8 | 5`; `None` for anything else, and for numbers that no hardware thread has.
pub fn mask(text: &str) -> Option<BTreeSet<usize>> {
    Some(ranges(text)?.into_iter().flatten().collect())
}

/// The ranges of such a text.
fn ranges(text: &str) -> Option<Vec<Range<usize>>> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let [first, last]: [usize; 2] = [first.trim().parse().ok()?, last.trim().parse().ok()?];
        (last < MOST_THREADS).then(|| first..last + 1)
    };
    text.split(['|', ',']).map(range).collect()
}

/// Numbers that are in some range.
fn count(mut ranges: Vec<Range<usize>>) -> usize {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut counted = 0;
    let of_range = |range: Range<usize>| {
        let new = range.start.max(counted)..range.end;
        counted = counted.max(range.end);
        new.len()
    };
    ranges.into_iter().map(of_range).sum()
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
        for text in ["unknown", "", "0-", "65536", "0-65536", "0-18446744073709551615"] {
            assert_eq!(mask(text), None, "{text}");
        }
        assert_eq!(mask("65535"), Some(BTreeSet::from([65535])));
        let numbers = |text: &str| count(ranges(text).unwrap());
        assert_eq!([numbers("0-3,8 | 2-5,8"), numbers("7,5-6,0-9"), numbers("5-3")], [7, 10, 0]);
    }

    #[test]
    fn bound_unbound_and_oversubscribed_runs_are_told_apart() {
        let bound = of(&[(0, 0, "a", "0"), (1, 1, "a", "1"), (2, 3, "b", "0-1")], 1);
        assert_eq!((bound.hosts, bound.binding, bound.oversubscribed), (2, "unbound", None));
        let bound = of(&[(0, 0, "a", "0"), (1, 1, "a", "1")], 1);
        assert_eq!((bound.hosts, bound.binding, bound.oversubscribed), (1, "bound", None));
        // The last host does not speak for the first.
        assert_eq!(of(&[(0, 1, "a", "0-1"), (2, 2, "b", "0"), (3, 3, "b", "1")], 1).binding, "unbound");
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
