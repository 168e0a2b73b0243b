//! Times of work on a space: by events of its stream on a GPU, by the clock on a host.

use super::Job;
use crate::Result;

/// Measures `samples` runs of `calls` calls each, in seconds. The value that the last call of a run returns is dropped outside its
/// time.
///
/// # Errors
/// Those of the work, and a device's failure.
pub fn seconds<S: Job, R>(
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

/// Time limit of one measurement.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Seconds for all samples together, about.
    pub seconds: f64,
    /// Least and most samples; a call that takes longer than `seconds` by itself has one.
    pub samples: [usize; 2],
}

/// Returns the median time of a call.
///
/// After two calls to warm up it takes 5 to 100 samples of 0.2 ms or longer, or of 64 calls, for 0.6 s; a call that takes longer by itself has one.
///
/// # Errors
/// Those of the work, and a device's failure.
pub fn median<S: Job, R>(space: &S, work: impl FnMut() -> Result<R>) -> Result<Timing> {
    median_within(space, Effort { seconds: 0.6, samples: [5, 100] }, work)
}

/// Returns the median time of a call, within an effort. Slow work is timed once or a few times.
///
/// # Errors
/// Those of the work, and a device's failure.
pub fn median_within<S: Job, R>(space: &S, effort: Effort, mut work: impl FnMut() -> Result<R>) -> Result<Timing> {
    within(effort, &mut |samples, calls| seconds(space, samples, calls, &mut work))
}

/// Seconds that a call is taken to need at least.
const SHORTEST: f64 = 1e-7;

/// The median by `measure(samples, calls)`, which returns the seconds of each sample of so many calls.
fn within(effort: Effort, measure: &mut impl FnMut(usize, usize) -> Result<Vec<f64>>) -> Result<Timing> {
    let first = measure(1, 1)?[0];
    if first > effort.seconds {
        return Ok(Timing { seconds: first, samples: 1 });
    }
    let once = measure(1, 1)?[0].max(SHORTEST);
    // Runs of 0.2 ms or longer: marks and launches cost microseconds.
    let calls = (2e-4 / once).ceil().clamp(1.0, 64.0) as usize;
    let samples = ((effort.seconds / (once * calls as f64)) as usize).clamp(effort.samples[0], effort.samples[1]);
    let mut seconds = measure(samples, calls)?;
    seconds.sort_by(f64::total_cmp);
    Ok(Timing { seconds: seconds[samples / 2] / calls as f64, samples })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Serial;

    const EFFORT: Effort = Effort { seconds: 0.5, samples: [3, 9] };

    /// Measures work whose calls take the given seconds, one after the other, the last one again and again. Returns the result
    /// and the samples and calls that were asked for.
    fn made_up(effort: Effort, calls: &[f64]) -> (Timing, Vec<(usize, usize)>) {
        let (mut asked, mut next) = (Vec::new(), 0);
        let mut call = || {
            next += 1;
            calls[(next - 1).min(calls.len() - 1)]
        };
        let timing = within(effort, &mut |samples, calls| {
            asked.push((samples, calls));
            Ok((0..samples).map(|_| (0..calls).map(|_| call()).sum()).collect())
        });
        (timing.unwrap(), asked)
    }

    #[test]
    fn a_slow_call_is_timed_once_and_a_fast_one_often() {
        let (slow, asked) = made_up(EFFORT, &[0.75]);
        assert_eq!((slow.samples, slow.seconds, asked), (1, 0.75, vec![(1, 1)]));
        // Two calls to warm up; 0.5 s have room for 8 samples of 0.0625 s.
        let (fast, asked) = made_up(EFFORT, &[0.25, 0.0625]);
        assert_eq!((fast.samples, fast.seconds, asked), (8, 0.0625, vec![(1, 1), (1, 1), (8, 1)]));
        // The number of samples has a lower and an upper limit; short calls are timed in groups of 0.2 ms or longer.
        assert_eq!(made_up(EFFORT, &[0.375]).1[2], (3, 1));
        // A call that takes as long as allowed is no slow one.
        assert_eq!(made_up(EFFORT, &[0.5]).1[2], (3, 1));
        let (short, asked) = made_up(EFFORT, &[1.0 / 16384.0]);
        assert_eq!((short.samples, short.seconds, asked[2]), (9, 1.0 / 16384.0, (9, 4)));
        assert_eq!(made_up(EFFORT, &[0.0]).1[2], (9, 64));
    }

    #[test]
    fn a_timing_is_the_median_of_all_samples() {
        // After two calls to warm up: five samples with a median of 0.125 s, a mean of 0.275 s and a minimum of 0.0625 s.
        let effort = Effort { seconds: 0.5, samples: [5, 5] };
        let (timing, _) = made_up(effort, &[0.25, 0.25, 0.75, 0.0625, 0.125, 0.0625, 0.375]);
        assert_eq!((timing.seconds, timing.samples), (0.125, 5));
    }

    #[test]
    fn each_sample_holds_its_calls_and_a_failure_is_passed_on() {
        let mut count = 0;
        let times = seconds(&Serial, 3, 4, &mut || {
            count += 1;
            std::thread::sleep(std::time::Duration::from_millis(1));
            Ok(())
        });
        let times = times.unwrap();
        assert!((count, times.len()) == (12, 3) && times.iter().all(|&seconds| seconds >= 0.004), "{times:?}");
        let fails = |_: usize| Err::<(), _>(crate::Error::Invalid("on purpose".into()));
        assert!(median_within(&Serial, EFFORT, || fails(0)).is_err() && median(&Serial, || fails(0)).is_err());
    }
}
