//! Times of the layer and of the loops by hand, taken in turn, so that both see the same machine.

use crate::report::{Beside, Report, Row};
use crate::space::Space;
use minifenl::Result;
use minifenl::comm::Solo;
use minifenl::run::Job;
use minifenl::run::clock::seconds;
use minifenl::run::program::StatusLine;
use std::io::Stderr;

/// Shortest sample in seconds: a clock costs microseconds.
const SAMPLE: f64 = 2e-4;
/// Least and most samples.
const SAMPLES: [usize; 2] = [3, 41];
/// Seconds of a round from which on there is one sample, and of a call that needs no second one to warm up.
const SLOW: f64 = 1.0;

/// A space under measurement.
pub struct Run<'a, S: Space> {
    /// The space.
    pub space: &'a S,
    /// Its loops by hand.
    pub native: &'a S::Native,
    /// Libraries of others.
    pub peers: &'a S::Peers,
    /// Seconds per measurement.
    pub effort: f64,
    /// What was found.
    pub report: &'a mut Report,
    /// What is being measured.
    pub line: &'a mut StatusLine<Stderr>,
}

/// A call that is measured, on a state that it changes.
pub type Work<'a, T> = dyn Fn(&mut T) -> Result<()> + 'a;

/// What a row measures.
pub struct Case {
    /// Name of the kernel.
    pub kernel: &'static str,
    /// Its variant; empty if there is one only.
    pub variant: String,
    /// Items, atoms, cells, or rows.
    pub items: usize,
    /// Bytes that a call moves at least.
    pub bytes: f64,
    /// Largest difference from the loop by hand and the library, relative to the largest number.
    pub difference: Option<f64>,
    /// The library of the third work.
    pub peer: Option<&'static str>,
    /// Note of the row.
    pub note: String,
}

impl<S: Space> Run<'_, S> {
    /// Shows what is measured next.
    pub fn step(&mut self, kernel: &str, items: usize) {
        let label = self.space.label();
        self.line.step(|_| format!("{label}: {kernel}, {items} items"));
    }

    /// Measures works in turn and adds the row of the first; the second, if there is one, is the loop by hand, and the third that of a
    /// library. Returns the seconds of a call of the first.
    pub fn row<T>(&mut self, case: Case, state: &mut T, works: &[&Work<'_, T>]) -> Result<f64> {
        let times = alternate(self.space, self.effort, state, works)?;
        let rate = 1e-9 * case.bytes / times.seconds[0];
        self.report.rows.push(Row {
            kernel: case.kernel,
            variant: case.variant,
            space: self.space.label(),
            items: case.items,
            seconds: times.seconds[0],
            native_seconds: times.seconds.get(1).copied(),
            ratio: times.ratios.first().copied(),
            beside: case
                .peer
                .and_then(|peer| Some(Beside { peer, seconds: *times.seconds.get(2)?, ratio: *times.ratios.get(1)? })),
            gigabytes_per_second: rate,
            of_triad: 0.0,
            difference: case.difference,
            note: case.note,
        });
        Ok(times.seconds[0])
    }

    /// Whether arrays of so many bytes fit into half of the free memory.
    pub fn fits(&self, bytes: f64) -> Result<bool> {
        Ok(bytes <= 0.5 * self.space.free_bytes(&Solo)? as f64)
    }
}

/// Times of calls of several works.
#[derive(Debug)]
struct Times {
    /// Median seconds of a call of each.
    seconds: Vec<f64>,
    /// Medians over the rounds of the first work's seconds over those of each other.
    ratios: Vec<f64>,
}

/// Measures a call of each work, round by round.
fn alternate<S: Job, T>(space: &S, effort: f64, state: &mut T, works: &[&Work<'_, T>]) -> Result<Times> {
    let mut calls = Vec::new();
    let mut round = 0.0;
    for work in works {
        let mut call = || work(state);
        let mut once = seconds(space, 1, 1, &mut call)?[0];
        if once < SLOW {
            once = seconds(space, 1, 1, &mut call)?[0].max(1e-8);
        }
        let count = (SAMPLE / once).ceil().clamp(1.0, 20_000.0) as usize;
        round += once * count as f64;
        calls.push(count);
    }
    let least = if round > SLOW { 1 } else { SAMPLES[0] };
    let rounds = ((effort / round) as usize).clamp(least, SAMPLES[1]);
    let mut found = vec![Vec::with_capacity(rounds); works.len()];
    for _ in 0..rounds {
        for ((work, &calls), found) in works.iter().zip(&calls).zip(&mut found) {
            found.push(seconds(space, 1, calls, &mut || work(state))?[0] / calls as f64);
        }
    }
    let ratio = |other: &Vec<f64>| median(found[0].iter().zip(other).map(|(a, b)| a / b).collect());
    let ratios = found.iter().skip(1).map(ratio).collect();
    Ok(Times { ratios, seconds: found.into_iter().map(median).collect() })
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// Largest difference relative to the largest number.
pub fn difference(found: &[f64], expected: &[f64]) -> f64 {
    let largest = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    let apart = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
    // A NaN is larger than any number here.
    apart.fold(0.0, |most, x| if x > most || x.is_nan() { x } else { most }) / largest.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use minifenl::space::Serial;
    use std::time::Duration;

    #[test]
    fn works_are_timed_in_turn() {
        let wait = |milliseconds| {
            move |order: &mut Vec<u64>| {
                order.push(milliseconds);
                std::thread::sleep(Duration::from_millis(milliseconds));
                Ok(())
            }
        };
        let mut order = Vec::new();
        let times = alternate(&Serial, 0.0, &mut order, &[&wait(4), &wait(1)]).unwrap();
        assert_eq!(order, [4, 4, 1, 1, 4, 1, 4, 1, 4, 1]);
        assert!(times.seconds[0] >= 4e-3 && times.seconds[1] >= 1e-3 && times.ratios[0] > 1.0, "{times:?}");
        let one = alternate(&Serial, 0.0, &mut order, &[&wait(1)]).unwrap();
        assert!(one.ratios.is_empty() && one.seconds.len() == 1);
    }

    #[test]
    fn differences_are_relative_and_a_nan_is_one() {
        assert_eq!(difference(&[1.0, -3.0], &[1.0, -4.0]), 0.25);
        assert!(difference(&[f64::NAN, 1.0], &[1.0, 1.0]).is_nan());
        assert_eq!(difference(&[], &[]), 0.0);
    }
}
