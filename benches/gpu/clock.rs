//! Times of work on a space: by events of its stream on a GPU, by the clock on a host.

use minifenl::Result;
use minifenl::space::{Cuda, ExecutionSpace, Threads};
use std::time::Instant;

/// A space whose work can be timed.
pub trait Clock: ExecutionSpace {
    /// Seconds of `samples` runs of `calls` calls each. What a call returns is dropped outside the time of the run's last.
    fn seconds<R>(&self, samples: usize, calls: usize, work: &mut impl FnMut() -> Result<R>) -> Result<Vec<f64>>;
}

impl Clock for Threads {
    fn seconds<R>(&self, samples: usize, calls: usize, work: &mut impl FnMut() -> Result<R>) -> Result<Vec<f64>> {
        let run = |_| {
            let start = Instant::now();
            let mut last = work()?;
            for _ in 1..calls {
                last = work()?;
            }
            let seconds = start.elapsed().as_secs_f64();
            drop(std::hint::black_box(last));
            Ok(seconds)
        };
        (0..samples).map(run).collect()
    }
}

impl Clock for Cuda {
    fn seconds<R>(&self, samples: usize, calls: usize, work: &mut impl FnMut() -> Result<R>) -> Result<Vec<f64>> {
        let run = |_| {
            let before = self.record()?;
            let mut last = work()?;
            for _ in 1..calls {
                last = work()?;
            }
            let after = self.record()?;
            drop(last);
            Ok((before, after))
        };
        // All are queued before the first is looked at, so that the GPU does not wait for the host between them.
        let marks = (0..samples).map(run).collect::<Result<Vec<_>>>()?;
        marks.iter().map(|(before, after)| Ok(after.since(before)?.as_secs_f64())).collect()
    }
}

/// A median, and of how many samples.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    pub seconds: f64,
    pub samples: usize,
}

/// The median time of a call: after two calls to warm up, 30 to 100 samples of 0.2 ms or longer, fewer where a call takes
/// longer than 0.2 s.
pub fn median<S: Clock, R>(space: &S, mut work: impl FnMut() -> Result<R>) -> Result<Timing> {
    space.seconds(1, 1, &mut work)?;
    let once = space.seconds(1, 1, &mut work)?[0].max(1e-7);
    let calls = (2e-4 / once).ceil().clamp(1.0, 64.0) as usize;
    let least = if once < 0.2 { 30.0 } else { 5.0 };
    let samples = (0.6 / (once * calls as f64)).clamp(least, 100.0) as usize;
    let mut seconds = space.seconds(samples, calls, &mut work)?;
    seconds.sort_by(f64::total_cmp);
    Ok(Timing { seconds: seconds[samples / 2] / calls as f64, samples })
}
