//! Results on the host are checked before they are timed: wrong ones of another library are named and called once. A time is the
//! median of as many samples as it says.

use super::case::{Case, Kernel, Order, Precision};
use super::jobs::{Algorithm, Job};
use super::{Peers, Setting, SweepDeck, loops, measure};
use minifenl::run::clock::Effort;
use minifenl::space::lanes::Real;
use minifenl::space::{Layout, Threads};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::Duration;

const DECK: &str = r#"
name = "checked"
title = "wrong results"
[[sweep]]
kernels = ["field_field_scalar", "data_data_vector", "data_field_tensor"]
variants = []
precisions = ["f32", "f64"]
layouts = []
host_layouts = ["right"]
fields = [[5, 7]]
points = [9]
dims = [[3, 2]]
memory_mib = [0.25]
"#;

/// Libraries that compute with one mistake each, and count their calls by name.
#[derive(Default)]
struct Wrong(Mutex<Vec<&'static str>>);

const RIGHT: &str = "right";
const MISTAKES: [(&str, &str); 6] = [
    ("lazy", "output 0 of"),
    ("zeros", "is off by"),
    ("last-is-missing", "is not written"),
    ("last-is-off", "is off by"),
    ("first-is-off", "is off by"),
    ("sides-swapped", "is off by"),
];

impl Peers for Wrong {
    fn host_names(&self) -> &'static [&'static str] {
        &[RIGHT, MISTAKES[0].0, MISTAKES[1].0, MISTAKES[2].0, MISTAKES[3].0, MISTAKES[4].0, MISTAKES[5].0]
    }

    fn on_host<T: Real>(
        &self,
        name: &str,
        _: &Threads,
        case: &Case,
        _: Layout,
        left: &[T],
        right: &[T],
        out: &mut [T],
    ) -> minifenl::Result<()> {
        let name = *self.host_names().iter().find(|known| **known == name).unwrap();
        self.0.lock().unwrap().push(name);
        let (last, kept) = (case.items()[2] - 1, out[case.items()[2] - 1]);
        match name {
            "lazy" => return Ok(()),
            "zeros" => out.fill(T::default()),
            // Cells from the last to the first.
            "sides-swapped" => {
                loops::contract(case, left, right, out);
                out[..=last].reverse();
            }
            _ => loops::contract(case, left, right, out),
        }
        match name {
            "last-is-missing" => out[last] = kept,
            "last-is-off" => out[last] = out[last] + out[last],
            "first-is-off" => out[0] = out[0] + out[0],
            _ => {}
        }
        Ok(())
    }
}

#[test]
fn wrong_results_of_the_host_are_named_and_not_timed() {
    let host = Threads::with_current(2).unwrap();
    let effort = Effort { seconds: 0.002, samples: [3, 9] };
    let setting = Setting {
        host: &host,
        #[cfg(feature = "cuda")]
        gpu: None,
        effort,
        copies: [1 << 12; 2],
    };
    let wrong = Wrong::default();
    let table = measure(&SweepDeck::parse(DECK, &wrong).unwrap(), &setting, &wrong, &mut |_| {}).unwrap();
    // 3 kernels in 2 precisions: loops, serial, threads, and the seven libraries.
    assert_eq!((table.rows.len(), table.wrong()), (6 * 10, 6 * 6));
    for row in &table.rows {
        let mistake = MISTAKES.iter().find(|(name, _)| *name == row.variant);
        let is_as_expected = match mistake {
            Some((_, says)) => row.checked.starts_with("wrong: ") && row.checked.contains(says) && row.timing.is_none(),
            // On a busy machine a first call may take so long that there is no second.
            None => {
                let is_sampled = |(seconds, samples)| samples >= 3 || samples == 1 && seconds > 4.0 * effort.seconds;
                row.checked == "yes" && row.timing.is_some_and(is_sampled)
            }
        };
        assert!(is_as_expected, "{} {}: {}", row.case.kernel, row.variant, row.checked);
        assert_eq!(row.roofline.is_some(), mistake.is_none());
    }
    let calls = wrong.0.lock().unwrap();
    let count = |name: &str| calls.iter().filter(|called| **called == name).count();
    MISTAKES.iter().for_each(|(name, _)| assert_eq!(count(name), 6, "{name} is called once in each case"));
    let right = table.rows.iter().filter(|row| row.variant == RIGHT);
    assert!(count(RIGHT) >= right.filter_map(|row| row.timing).map(|(_, samples)| samples).sum());
    // In the table, too, a wrong result has no time, no rate and no speedup.
    let text = table.csv();
    assert_eq!(
        text.lines().filter(|line| line.contains(",,,,,,,0.25,,") && line.contains("wrong: ")).count(),
        36,
        "{text}"
    );
}

/// Right, and as slow as its calls are told to be.
struct Slow {
    calls: Mutex<usize>,
    milliseconds: fn(usize) -> u64,
}

impl Peers for Slow {
    fn host_names(&self) -> &'static [&'static str] {
        &["slow"]
    }

    fn on_host<T: Real>(
        &self,
        _: &str,
        _: &Threads,
        case: &Case,
        _: Layout,
        left: &[T],
        right: &[T],
        out: &mut [T],
    ) -> minifenl::Result<()> {
        let mut calls = self.calls.lock().unwrap();
        *calls += 1;
        sleep(Duration::from_millis((self.milliseconds)(*calls)));
        loops::contract(case, left, right, out);
        Ok(())
    }
}

/// Seconds and samples of the row of a slow library, and how often it was called.
fn timed(milliseconds: fn(usize) -> u64) -> (f64, usize, usize) {
    let host = Threads::new(1).unwrap();
    let effort = Effort { seconds: 100.0, samples: [5, 5] };
    let setting = Setting {
        host: &host,
        #[cfg(feature = "cuda")]
        gpu: None,
        effort,
        copies: [1 << 12; 2],
    };
    let slow = Slow { calls: Mutex::new(0), milliseconds };
    let deck = "name = 'x'\ntitle = ''\n[[sweep]]\nkernels = ['data_data_scalar']\nvariants = []\nprecisions = ['f64']\n\
                layouts = []\npoints = [8]\nmemory_mib = [0.01]\n";
    let table = measure(&SweepDeck::parse(deck, &slow).unwrap(), &setting, &slow, &mut |_| {}).unwrap();
    let row = table.rows.iter().find(|row| row.variant == "slow").unwrap();
    let (seconds, samples) = row.timing.unwrap();
    (seconds, samples, slow.calls.into_inner().unwrap())
}

/// A sleep is never shorter than it should be, so these bounds hold under any load.
#[test]
fn a_time_is_the_median_of_as_many_samples_as_it_says() {
    // Of any five calls at least three sleep 6 ms: the least would be 1 ms, the median is not below 6.
    let (seconds, samples, calls) = timed(|call| if call % 3 == 0 { 1 } else { 6 });
    assert!(seconds >= 0.006 && samples == 5 && calls > samples, "{seconds} s of {samples} samples, {calls} calls");
    // Of any five calls one sleeps a second: neither the mean nor the greatest.
    let (seconds, samples, calls) = timed(|call| if call % 5 == 0 { 1000 } else { 1 });
    assert!(seconds < 0.2 && samples == 5 && calls > samples, "{seconds} s of {samples} samples, {calls} calls");
}

#[test]
fn arrays_are_as_long_as_fits_together() {
    let job = |fields, cells| Job {
        case: Case {
            kernel: Kernel::FieldFieldScalar,
            precision: Precision::F64,
            fields,
            points: 8,
            dims: [1, 1],
            cells,
        },
        memory_mib: 1.0,
        algorithm: Algorithm::Serial,
        variant: "serial".into(),
        order: Order(Layout::Right),
    };
    // Of 10 cells: 80 and 800 numbers and 100 outputs, or the other way round; 7840 bytes each, 13600 for both.
    let jobs = [job([1, 10], 10), job([10, 1], 10)];
    assert_eq!(super::measure::longest(&jobs, 13_601), [800, 800, 100]);
    assert_eq!(super::measure::longest(&jobs, 13_600), [80, 800, 100]);
    assert_eq!(super::measure::longest(&jobs, 7_840), [0; 3]);
}
