//! Copies to the device, a kernel and copies back, in chunks over several streams: what Peterson's notes ask of Kokkos.
//!
//! ```text
//! chunk k on stream k mod s:   x -> device,   y = 1 + x/2 + (x/2)^2 + ... with 2000 terms,   y -> host
//! ```
//! Cost: 8 bytes to the device and 8 back per item. A host computes chunk after chunk.

use crate::functions::Series;
use crate::measure::{Case, Run, difference};
use crate::space::Space;
use minifenl::Result;
use minifenl::space::{Array, MemorySpace, Streams};
use std::time::{Duration, Instant};

/// Chunks of a call.
const CHUNKS: usize = 16;
/// Numbers of streams of a device.
const STREAMS: [usize; 3] = [1, 2, 4];
/// Terms of an item: on a GPU they take about as long as its copy.
const TERMS: f64 = 2000.0;

/// Streams with the arrays of a chunk, and the host memory of all chunks.
pub struct Pipeline<S: Streams> {
    streams: Vec<(S, [Array<S, f64>; 2])>,
    chunks: Vec<[S::Staging<f64>; 2]>,
    /// Time until all was enqueued, and until all was done.
    spent: [Duration; 2],
}

impl<S: Space> Pipeline<S> {
    /// Prepares `n` items for so many streams.
    pub fn new(space: &S, n: usize, streams: usize) -> Result<Self> {
        let longest = n.div_ceil(CHUNKS);
        let stream = |_| {
            let fork = space.fork()?;
            let arrays = [fork.zeros(longest)?, fork.zeros(longest)?];
            Ok((fork, arrays))
        };
        let chunk = |first: usize| {
            let len = longest.min(n - first);
            let mut input = space.staging::<f64>(len)?;
            input.iter_mut().enumerate().for_each(|(k, x)| *x = ramp(first + k));
            Ok([input, space.staging(len)?])
        };
        Ok(Pipeline {
            streams: (0..streams).map(stream).collect::<Result<_>>()?,
            chunks: (0..n).step_by(longest.max(1)).map(chunk).collect::<Result<_>>()?,
            spent: [Duration::ZERO; 2],
        })
    }

    /// Computes all chunks; returns when their results are on the host.
    pub fn run(&mut self) -> Result<()> {
        let start = Instant::now();
        let mut copies = Vec::with_capacity(self.chunks.len());
        let count = self.streams.len();
        for (k, [input, output]) in self.chunks.drain(..).enumerate() {
            let (stream, [x, y]) = &mut self.streams[k % count];
            let len = input.len();
            let (x, y) = (S::Memory::slice_mut(x), S::Memory::slice_mut(y));
            let up = stream.begin_upload(input, x)?;
            stream.for_items(len, &Series { terms: TERMS }, [&*x], [&mut *y])?;
            copies.push([up, stream.begin_download(y, output)?]);
        }
        self.spent[0] += start.elapsed();
        // The host has nothing else to do.
        for (stream, _) in &self.streams {
            while !stream.is_done()? {
                std::hint::spin_loop();
            }
        }
        for (k, [up, down]) in copies.into_iter().enumerate() {
            let stream = &self.streams[k % count].0;
            self.chunks.push([stream.finish(up)?, stream.finish(down)?]);
        }
        self.spent[1] += start.elapsed();
        Ok(())
    }

    /// The results in their order.
    pub fn results(&self) -> Vec<f64> {
        self.chunks.iter().flat_map(|[_, output]| output.iter().copied()).collect()
    }
}

/// The items.
fn ramp(i: usize) -> f64 {
    (i % 64) as f64 / 64.0
}

/// What the results are but for rounding.
pub fn expected(n: usize) -> Vec<f64> {
    (0..n).map(|i| 1.0 / (1.0 - 0.5 * ramp(i))).collect()
}

/// Measures `n` items on each number of streams.
pub fn measure<S: Space>(run: &mut Run<'_, S>, n: usize) -> Result<()> {
    let mut alone = None;
    for streams in STREAMS.into_iter().filter(|&streams| streams == 1 || !S::SYNCHRONOUS) {
        run.step("streams", n);
        let mut pipeline = Pipeline::new(run.space, n, streams)?;
        pipeline.run()?;
        let case = Case {
            kernel: "streams",
            variant: if streams == 1 { "1 stream".into() } else { format!("{streams} streams") },
            items: n,
            bytes: (16 * n) as f64,
            difference: Some(difference(&pipeline.results(), &expected(n))),
            peer: None,
            note: String::new(),
        };
        let seconds = run.row(case, &mut pipeline, &[&|pipeline: &mut Pipeline<S>| pipeline.run()])?;
        let [enqueued, done] = pipeline.spent.map(|time| time.as_secs_f64());
        let free = format!("{:.0} % free", 100.0 * (1.0 - enqueued / done));
        if let Some(row) = run.report.rows.last_mut() {
            row.note = match alone {
                None => free,
                Some(alone) => format!("{:.2} x, {free}", seconds / alone),
            };
        }
        alone = alone.or(Some(seconds));
    }
    Ok(())
}
