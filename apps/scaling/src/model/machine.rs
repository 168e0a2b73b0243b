//! A machine as four numbers, and the time of an iteration on it.

use super::Partition;
use serde::Serialize;

/// What one rank has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// Memory bandwidth, bytes per second.
    pub bandwidth: f64,
    /// Seconds of a message.
    pub latency: f64,
    /// Bandwidth to other ranks, bytes per second.
    pub link: f64,
    /// Flops per second.
    pub flops: f64,
}

/// The parts of a modelled time, seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Terms {
    /// Memory or flops, whichever takes longer.
    pub compute: f64,
    /// Latency of the messages of an exchange.
    pub messages: f64,
    /// Ghosts over the link.
    pub link: f64,
    /// Latency of the stages of the all-reduces.
    pub reductions: f64,
}

/// Bytes of a ghost value.
pub const VALUE: f64 = 8.0;

/// Stages of an all-reduce: ceil(log2 p).
pub fn stages(ranks: usize) -> f64 {
    f64::from(ranks.max(1).next_power_of_two().trailing_zeros())
}

impl Machine {
    /// The time of an iteration with a number of all-reduces.
    pub fn terms(&self, partition: &Partition, reductions: f64) -> Terms {
        Terms {
            compute: (partition.bytes_max as f64 / self.bandwidth).max(partition.flops_max as f64 / self.flops),
            messages: partition.neighbours_max as f64 * self.latency,
            link: VALUE * partition.ghosts_max as f64 / self.link,
            reductions: reductions * stages(partition.ranks) * self.latency,
        }
    }
}

impl Terms {
    /// Seconds of the iteration.
    pub fn total(&self) -> f64 {
        self.compute + self.messages + self.link + self.reductions
    }

    /// Share of everything but computing.
    pub fn communication(&self) -> f64 {
        1.0 - self.compute / self.total()
    }
}

#[test]
fn times_equal_those_by_hand() {
    let machine = Machine { bandwidth: 10e9, latency: 2e-6, link: 1e9, flops: 5e9 };
    let partition = Partition {
        ranks: 9,
        bytes_max: 1_000_000,
        flops_max: 200_000,
        neighbours_max: 26,
        ghosts_max: 1000,
        ..Partition::default()
    };
    let terms = machine.terms(&partition, 2.0);
    let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
    close(terms.compute, 100e-6);
    close(terms.messages, 52e-6);
    close(terms.link, 8e-6);
    // 4 stages for 9 ranks.
    close(terms.reductions, 16e-6);
    close(terms.total(), 176e-6);
    close(terms.communication(), 76.0 / 176.0);
    // 5 flops per byte: the flop rate is the bound.
    close(Machine { flops: 1e9, ..machine }.terms(&partition, 2.0).compute, 200e-6);
    assert_eq!([1, 2, 3, 4, 5, 100_000].map(stages), [0.0, 1.0, 2.0, 2.0, 3.0, 17.0]);
}
