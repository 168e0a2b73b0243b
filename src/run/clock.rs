//! Times of work on a space: by events of its stream on a GPU, by the clock on a host.

use crate::Result;
use crate::space::ExecutionSpace;

/// A space that can mark points in its order of work.
pub trait Clock: ExecutionSpace {
    /// A point in the order of work.
    type Mark;

    /// Marks the end of the work enqueued so far; does not wait for it.
    ///
    /// # Errors
    /// A device's failure.
    fn mark(&self) -> Result<Self::Mark>;

    /// Seconds between two marks; waits until the space has passed both.
    ///
    /// # Errors
    /// A device's failure.
    fn between(&self, before: &Self::Mark, after: &Self::Mark) -> Result<f64>;
}

/// Measures `samples` runs of `calls` calls each, in seconds. The value that the last call of a run returns is dropped outside its
/// time.
///
/// # Errors
/// Those of the work, and a device's failure.
pub fn seconds<S: Clock, R>(
    space: &S,
    samples: usize,
    calls: usize,
    work: &mut impl FnMut() -> Result<R>,
) -> Result<Vec<f64>> {
    let run = |_| {
        let before = space.mark()?;
        let mut last = work()?;
        for _ in 1..calls {
            last = work()?;
        }
        let after = space.mark()?;
        drop(std::hint::black_box(last));
        Ok((before, after))
    };
    // All runs are enqueued before the first mark is read, so that a GPU does not wait for the host between them.
    let marks = (0..samples).map(run).collect::<Result<Vec<_>>>()?;
    marks.iter().map(|(before, after)| space.between(before, after)).collect()
}

/// The median time of a call.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Seconds of one call.
    pub seconds: f64,
    /// Number of samples.
    pub samples: usize,
}

/// How long one measurement may take.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Seconds for all samples together, about.
    pub seconds: f64,
    /// Least and most samples; a call that takes longer than `seconds` by itself has one.
    pub samples: [usize; 2],
}

/// The median time of a call: after two calls to warm up, 30 to 100 samples of 0.2 ms or longer, fewer where a call takes
/// longer than 20 ms.
///
/// # Errors
/// Those of the work, and a device's failure.
pub fn median<S: Clock, R>(space: &S, mut work: impl FnMut() -> Result<R>) -> Result<Timing> {
    seconds(space, 1, 1, &mut work)?;
    let once = seconds(space, 1, 1, &mut work)?[0].max(1e-7);
    let least = if once < 0.02 { 30 } else { 5 };
    of_samples(space, once, Effort { seconds: 0.6, samples: [least, 100] }, &mut work)
}

/// The median time of a call, within an effort: what is slow is called a few times only, or once.
///
/// # Errors
/// Those of the work, and a device's failure.
pub fn median_within<S: Clock, R>(space: &S, effort: Effort, mut work: impl FnMut() -> Result<R>) -> Result<Timing> {
    let first = seconds(space, 1, 1, &mut work)?[0];
    if first > effort.seconds {
        return Ok(Timing { seconds: first, samples: 1 });
    }
    let once = seconds(space, 1, 1, &mut work)?[0].max(1e-7);
    of_samples(space, once, effort, &mut work)
}

fn of_samples<S: Clock, R>(
    space: &S,
    once: f64,
    effort: Effort,
    work: &mut impl FnMut() -> Result<R>,
) -> Result<Timing> {
    // Runs of 0.2 ms or longer: marks and launches cost microseconds.
    let calls = (2e-4 / once).ceil().clamp(1.0, 64.0) as usize;
    let samples = ((effort.seconds / (once * calls as f64)) as usize).clamp(effort.samples[0], effort.samples[1]);
    let mut seconds = seconds(space, samples, calls, work)?;
    seconds.sort_by(f64::total_cmp);
    Ok(Timing { seconds: seconds[samples / 2] / calls as f64, samples })
}

#[test]
fn a_slow_call_is_timed_once_and_a_fast_one_often() {
    use crate::space::Serial;
    let effort = Effort { seconds: 0.01, samples: [3, 9] };
    let pause = |ms| {
        move || {
            std::thread::sleep(std::time::Duration::from_millis(ms));
            Ok(())
        }
    };
    let slow = median_within(&Serial, effort, pause(20)).unwrap();
    assert!(slow.samples == 1 && slow.seconds >= 0.02);
    let fast = median_within(&Serial, effort, pause(1)).unwrap();
    assert!((3..=9).contains(&fast.samples) && fast.seconds >= 0.001, "{fast:?}");
}
