//! Runs the measurements of a deck: compute over NaNs, compare, and only then take the time.

use super::case::{Case, Precision};
use super::ceilings::Ceilings;
use super::check::{Expected, random};
use super::deck::SweepDeck;
use super::jobs::{self, Algorithm, Job};
use super::peers::Peers;
use super::table::{CHECKED, Row, Table};
use super::{call::call, loops};
#[cfg(feature = "cuda")]
use minifenl::contraction::Reference;
use minifenl::run::clock::{Effort, Timing, median_within, seconds};
use minifenl::run::provenance::MachineReport;
use minifenl::space::lanes::Real;
#[cfg(feature = "cuda")]
use minifenl::space::{Cuda, CudaArray};
use minifenl::space::{ExecutionSpace, Layout, Serial, Threads, available_bytes, zeroed};
use minifenl::{Error, Result};
use rayon::prelude::*;

/// Where and how carefully.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The host's threads; the serial variants use one core.
    pub host: &'a Threads,
    /// The GPU, if one is wanted.
    #[cfg(feature = "cuda")]
    pub gpu: Option<&'a Cuda>,
    /// Of each measurement on the host; a GPU, which is fast and steady, has a sixth of the time.
    pub effort: Effort,
    /// Numbers in the copies that give the bandwidths: of the host, of the GPU.
    pub copies: [usize; 2],
}

/// Where a sweep stands.
#[derive(Clone, Debug)]
pub struct Step<'a> {
    /// Measurements done.
    pub done: usize,
    /// Of how many.
    pub total: usize,
    /// Fraction of the work that is done: measurements weighted by the bytes of their arrays.
    pub fraction: f64,
    /// The next one.
    pub job: &'a Job,
}

/// Bytes of arrays whose generation and check take as long as the repeated timing of a measurement of any size: about 0.05 s.
const SAME_FOR_ALL: usize = 32 << 20;

/// Weight of a measurement in the estimate of the time left.
fn weight(job: &Job) -> f64 {
    (job.case.bytes() + SAME_FOR_ALL) as f64
}

/// Measures all that a deck asks for; what cannot be measured has a row that says why.
///
/// # Errors
/// Names that nobody has; memory or a device that fails before the first measurement.
pub fn measure<P: Peers>(
    deck: &SweepDeck,
    setting: &Setting<'_>,
    peers: &P,
    watch: &mut dyn FnMut(&Step<'_>),
) -> Result<Table> {
    let [host, gpu] = [peers.host_names(), peers.gpu_names()];
    let all = Precision::ALL.map(|(precision, _)| jobs::of(deck, precision, host, gpu));
    let [singles, doubles] = all;
    let (singles, doubles) = (singles?, doubles?);
    let total = singles.len() + doubles.len();
    let mut ceilings =
        vec![Ceilings::of_host(&Serial, setting.copies[0])?, Ceilings::of_host(setting.host, setting.copies[0])?];
    #[cfg(feature = "cuda")]
    if let Some(gpu) = setting.gpu {
        ceilings.push(Ceilings::of_gpu(gpu, setting.copies[1])?);
    }
    ceilings.dedup_by(|a, b| a.device == b.device);
    let work = singles.iter().chain(&doubles).map(weight).sum();
    let table = Table { cpu: Some(MachineReport::here().cpu), ceilings, ..Table::default() };
    let mut run = Run { setting, peers, table, total, work, work_done: 0.0, watch, lost: None };
    run.jobs::<f32>(&singles)?;
    run.jobs::<f64>(&doubles)?;
    Ok(run.table)
}

struct Run<'a, P> {
    setting: &'a Setting<'a>,
    peers: &'a P,
    table: Table,
    total: usize,
    /// Sum of all weights, and of the measurements that are done.
    work: f64,
    work_done: f64,
    watch: &'a mut dyn FnMut(&Step<'_>),
    /// Why the GPU does nothing any more.
    lost: Option<String>,
}

/// Arrays of one precision, as long as the longest case needs; a case uses their first items.
struct Arrays<T: Real> {
    left: Vec<T>,
    right: Vec<T>,
    out: Vec<T>,
    #[cfg(feature = "cuda")]
    on_gpu: Option<[CudaArray<T>; 3]>,
}

/// Items of left, right and output that the longest of the cases need: of those, in their order, whose arrays fit into `free`
/// bytes beside the arrays of the cases before.
pub(super) fn longest(jobs: &[Job], free: u64) -> [usize; 3] {
    jobs.iter().fold([0; 3], |longest, job| {
        let items = job.case.items();
        let both: [usize; 3] = std::array::from_fn(|i| longest[i].max(items[i]));
        let bytes = both.iter().map(|&items| items as u64).sum::<u64>() * job.case.precision.bytes() as u64;
        if bytes < free { both } else { longest }
    })
}

/// What a case's result must be, on the host and, once a GPU has a result, there.
struct Right {
    on_host: Expected,
    #[cfg(feature = "cuda")]
    on_gpu: Option<Reference>,
}

#[cfg(feature = "cuda")]
impl Right {
    fn on(&mut self, gpu: &Cuda) -> Result<&Reference> {
        if self.on_gpu.is_none() {
            self.on_gpu = Some(Reference::new(gpu, self.on_host.entries())?);
        }
        self.on_gpu.as_ref().ok_or_else(|| Error::Device("no expected values on the GPU".into()))
    }
}

impl<P: Peers> Run<'_, P> {
    fn jobs<T: Real>(&mut self, jobs: &[Job]) -> Result<()> {
        let longest = longest(jobs, self.free());
        let mut arrays = self.arrays::<T>(longest)?;
        let mut expected: Option<(Case, Layout, Right)> = None;
        for job in jobs {
            let fraction = self.work_done / self.work;
            (self.watch)(&Step { done: self.table.rows.len(), total: self.total, fraction, job });
            self.work_done += weight(job);
            let (case, layout) = (&job.case, job.order.0);
            if case.items().iter().zip(longest).any(|(needed, have)| *needed > have) {
                self.record(job, None, Err(format!("needs {} MiB", case.bytes() >> 20)));
                continue;
            }
            if let Some(why) = self.missing(job.algorithm) {
                self.record(job, None, Err(why));
                continue;
            }
            if expected.as_ref().is_none_or(|(of, order, _)| (of, order) != (case, &layout)) {
                let on_host = Expected::new(self.setting.host, case, layout, &arrays.left, &arrays.right);
                expected = Some((
                    *case,
                    layout,
                    Right {
                        on_host,
                        #[cfg(feature = "cuda")]
                        on_gpu: None,
                    },
                ));
            }
            if let Some((_, _, expected)) = &mut expected {
                let (device, outcome) = self.job(job, &mut arrays, expected);
                #[cfg(feature = "cuda")]
                if let (true, Err(_), Some(gpu)) = (job.algorithm.is_on_gpu(), &outcome, self.setting.gpu) {
                    // A kernel that failed takes all later ones with it.
                    self.lost = gpu.fence().err().map(|error| format!("the GPU failed before: {error}"));
                }
                let outcome = outcome.map_err(|error| error.to_string()).flatten();
                self.record(job, Some(device), outcome);
            }
        }
        Ok(())
    }

    /// Bytes for the arrays of a case: the host keeps a copy of what a GPU has, to compare with.
    fn free(&self) -> u64 {
        #[cfg(feature = "cuda")]
        if let Some((free, _)) = self.setting.gpu.and_then(|gpu| gpu.device().memory().ok()) {
            return (available_bytes() / 2).min(free / 10 * 9);
        }
        available_bytes() / 2
    }

    fn arrays<T: Real>(&self, [left, right, out]: [usize; 3]) -> Result<Arrays<T>> {
        let host = self.setting.host;
        let left: Vec<T> = host.map(left, |i| random(i as u64))?;
        let right: Vec<T> = host.map(right, |i| random(i as u64 + (1 << 40)))?;
        #[cfg(feature = "cuda")]
        let on_gpu = match self.setting.gpu {
            Some(gpu) if !left.is_empty() => Some([gpu.upload(&left)?, gpu.upload(&right)?, gpu.zeros(out)?]),
            _ => None,
        };
        Ok(Arrays {
            left,
            right,
            out: zeroed(out),
            #[cfg(feature = "cuda")]
            on_gpu,
        })
    }

    fn missing(&self, algorithm: Algorithm) -> Option<String> {
        #[cfg(feature = "cuda")]
        let is_there = self.setting.gpu.is_some();
        #[cfg(not(feature = "cuda"))]
        let is_there = false;
        match algorithm {
            #[cfg(not(feature = "cuda"))]
            Algorithm::NotBuilt => Some("not in this build".into()),
            other if other.is_on_gpu() && !is_there => Some("not on this device".into()),
            other if other.is_on_gpu() => self.lost.clone(),
            _ => None,
        }
    }

    /// The device and the time, or what was wrong with the result.
    fn job<T: Real>(
        &self,
        job: &Job,
        arrays: &mut Arrays<T>,
        expected: &mut Right,
    ) -> (String, Result<Result<Timing, String>>) {
        let (case, layout, host) = (&job.case, job.order.0, self.setting.host);
        let Arrays { left, right, out, .. } = arrays;
        match job.algorithm {
            Algorithm::Loops => {
                let work = |out: &mut Vec<T>| {
                    loops::contract(case, left, right, out);
                    Ok(())
                };
                (Serial.label(), self.on_host(&Serial, case, out, &expected.on_host, work))
            }
            Algorithm::Serial => {
                let work = |out: &mut Vec<T>| call(&Serial, case, layout, left, right, out);
                (Serial.label(), self.on_host(&Serial, case, out, &expected.on_host, work))
            }
            Algorithm::Threads => {
                let work = |out: &mut Vec<T>| call(host, case, layout, left, right, out);
                (host.label(), self.on_host(host, case, out, &expected.on_host, work))
            }
            Algorithm::HostPeer(name) => {
                let work =
                    |out: &mut Vec<T>| self.peers.on_host(name, host, case, layout, left, right, out.as_mut_slice());
                (host.label(), self.on_host(host, case, out, &expected.on_host, work))
            }
            #[cfg(feature = "cuda")]
            Algorithm::Gpu(variant) => self.on_gpu(case, arrays, expected, |gpu, left, right, out| {
                call(&minifenl::contraction::With(gpu, variant), case, layout, left, right, out)
            }),
            #[cfg(feature = "cuda")]
            Algorithm::GpuPeer(name) => self.on_gpu(case, arrays, expected, |gpu, left, right, out| {
                self.peers.on_gpu(name, gpu, case, layout, left, right, out)
            }),
            #[cfg(not(feature = "cuda"))]
            _ => (String::new(), Err(Error::Invalid("not in this build".into()))),
        }
    }

    fn on_host<T: Real>(
        &self,
        space: &Threads,
        case: &Case,
        out: &mut Vec<T>,
        expected: &Expected,
        mut work: impl FnMut(&mut Vec<T>) -> Result<()>,
    ) -> Result<Result<Timing, String>> {
        let [.., items] = case.items();
        let nan = T::of(f64::NAN);
        self.setting.host.for_each(out[..items].par_chunks_mut(1 << 16), |chunk| chunk.fill(nan));
        let first = seconds(space, 1, 1, &mut || work(out))?[0];
        if let Some(fault) = expected.fault(&out[..items]) {
            return Ok(Err(fault));
        }
        // What is slow is not done twice.
        if first > 4.0 * self.setting.effort.seconds {
            return Ok(Ok(Timing { seconds: first, samples: 1 }));
        }
        median_within(space, self.setting.effort, || work(out)).map(Ok)
    }

    #[cfg(feature = "cuda")]
    fn on_gpu<T: Real>(
        &self,
        case: &Case,
        arrays: &mut Arrays<T>,
        expected: &mut Right,
        mut work: impl FnMut(&Cuda, &CudaArray<T>, &CudaArray<T>, &mut CudaArray<T>) -> Result<()>,
    ) -> (String, Result<Result<Timing, String>>) {
        let Arrays { out: found, on_gpu: Some([left, right, out]), .. } = arrays else {
            return (String::new(), Err(Error::Device("no arrays on the GPU".into())));
        };
        let Some(gpu) = self.setting.gpu else { return (String::new(), Err(Error::Device("no GPU".into()))) };
        let [.., items] = case.items();
        let mut outcome = || {
            Reference::spoil(gpu, out)?;
            work(gpu, left, right, out)?;
            if !expected.on(gpu)?.is_met(gpu, items, out)? {
                gpu.read(out, &mut found[..items])?;
                let fault = expected.on_host.fault(&found[..items]);
                return Ok(Err(fault.unwrap_or_else(|| "wrong: on the GPU and right when read".into())));
            }
            let effort = Effort { seconds: self.setting.effort.seconds / 6.0, ..self.setting.effort };
            median_within(gpu, effort, || work(gpu, left, right, out)).map(Ok)
        };
        (gpu.label(), outcome())
    }

    fn record(&mut self, job: &Job, device: Option<String>, outcome: Result<Timing, String>) {
        let ceilings = self.table.ceilings.iter().find(|ceilings| Some(&ceilings.device) == device.as_ref());
        let timing = outcome.as_ref().ok().map(|timing| (timing.seconds, timing.samples));
        let roofline = ceilings
            .zip(timing)
            .map(|(ceilings, (seconds, _))| job.case.flops() / seconds / ceilings.roofline(&job.case));
        self.table.rows.push(Row {
            case: job.case,
            variant: job.variant.clone(),
            order: job.order,
            memory_mib: job.memory_mib,
            timing,
            roofline,
            device: device.unwrap_or_default(),
            checked: outcome.map_or_else(|why| why, |_| CHECKED.into()),
        });
    }
}
