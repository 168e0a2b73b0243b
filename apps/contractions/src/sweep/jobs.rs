//! The measurements that a deck asks for, in the order in which they are made: by precision, then case, then algorithm.

use super::case::{Case, Order, Precision};
#[cfg(feature = "cuda")]
use super::deck::fits;
use super::deck::{Group, SweepDeck};
use super::table;
use minifenl::Result;
#[cfg(feature = "cuda")]
use minifenl::contraction::Variant;
use minifenl::space::Layout;

/// Who computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// The report's loops.
    Loops,
    /// The library on one core.
    Serial,
    /// The library on all threads.
    Threads,
    /// Another library on the host.
    HostPeer(&'static str),
    /// The library on a GPU.
    #[cfg(feature = "cuda")]
    Gpu(Variant),
    /// Another library on a GPU.
    GpuPeer(&'static str),
    /// A name or pattern of the deck in a build that does not know the GPU's variants.
    #[cfg(not(feature = "cuda"))]
    NotBuilt,
}

/// One measurement.
#[derive(Clone, Debug)]
pub struct Job {
    /// What.
    pub case: Case,
    /// The memory size that the deck names.
    pub memory_mib: f64,
    /// Name of the algorithm that computes the case.
    pub algorithm: Algorithm,
    /// The name in the table.
    pub variant: String,
    /// Of the arrays.
    pub order: Order,
}

impl Algorithm {
    /// Whether it needs a GPU.
    pub fn is_on_gpu(self) -> bool {
        !matches!(self, Algorithm::Loops | Algorithm::Serial | Algorithm::Threads | Algorithm::HostPeer(_))
    }
}

/// All measurements in one precision.
///
/// # Errors
/// Names that nobody has.
pub fn of(
    deck: &SweepDeck,
    precision: Precision,
    host_peers: &'static [&'static str],
    gpu_peers: &'static [&'static str],
) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for group in &deck.sweep {
        let named = variants(group, host_peers);
        let (orders, host_orders) = (group.orders()?, group.host_orders()?);
        for (case, memory_mib) in group.cases(precision)? {
            let mut add = |algorithm, variant: &str, order| {
                jobs.push(Job { case, memory_mib, algorithm, variant: variant.into(), order });
            };
            if !host_orders.is_empty() {
                add(Algorithm::Loops, table::LOOPS, Order(Layout::Right));
            }
            for &order in &host_orders {
                add(Algorithm::Serial, table::SERIAL, order);
                add(Algorithm::Threads, table::THREADS, order);
                host_peers.iter().for_each(|name| add(Algorithm::HostPeer(name), name, order));
            }
            for &order in &orders {
                named.iter().for_each(|(algorithm, name)| add(*algorithm, name, order));
                gpu_peers.iter().for_each(|name| add(Algorithm::GpuPeer(name), name, order));
            }
        }
    }
    Ok(jobs)
}

/// The GPU's variants that the group's patterns name, each once. A name of the host's or of a peer, which run unasked, adds none.
#[cfg(feature = "cuda")]
fn variants<'a>(group: &'a Group, _: &[&str]) -> Vec<(Algorithm, &'a str)> {
    let mut named: Vec<(Algorithm, &str)> = Vec::new();
    for pattern in &group.variants {
        for &(variant, name) in Variant::ALL.iter().filter(|(_, name)| fits(pattern, name)) {
            if named.iter().all(|(_, given)| *given != name) {
                named.push((Algorithm::Gpu(variant), name));
            }
        }
    }
    named
}

/// The names as they stand in the deck, but for those that run unasked.
#[cfg(not(feature = "cuda"))]
fn variants<'a>(group: &'a Group, host_peers: &[&str]) -> Vec<(Algorithm, &'a str)> {
    let names = group.variants.iter().map(String::as_str);
    let unasked =
        |name: &&str| [table::LOOPS, table::SERIAL, table::THREADS].contains(name) || host_peers.contains(name);
    let others = names.filter(|name| !unasked(name));
    others.map(|name| (Algorithm::NotBuilt, name)).collect()
}
