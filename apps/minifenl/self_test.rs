//! `--self-test`: every stage against the serial one, a line each, for people on a new machine.

use crate::show;
use minifenl::Result;
use minifenl::comm::Solo;
use minifenl::run::deck::{Chosen, Device};
use minifenl::run::program::Exit;
use minifenl::run::{Check, self_test};
use minifenl::space::{ExecutionSpace, Threads, allowed_cores};

/// Runs the checks on the device and says how many passed; exit code 3 when one did not.
pub fn run(device: Device, threads: Option<usize>) -> anyhow::Result<Exit> {
    let mut tally = Tally::default();
    match device.choose(&Solo, false)? {
        #[cfg(feature = "cuda")]
        Chosen::Cuda(ordinal) => {
            let space = minifenl::space::Cuda::new(ordinal)?;
            show(&heading(&space.label()))?;
            self_test(&space, &mut |check| tally.add(check));
        }
        Chosen::Cpu { notice } => {
            let space = cpu(threads)?;
            show(&notice.map_or(String::new(), |text| text + "\n"))?;
            show(&heading(&space.label()))?;
            self_test(&space, &mut |check| tally.add(check));
        }
    }
    show(&format!("{} passed, {} failed, {} not on this device\n", tally.passed, tally.failed, tally.skipped))?;
    Ok(Exit::verdict(tally.failed == 0))
}

fn cpu(threads: Option<usize>) -> Result<Threads> {
    Threads::new(threads.unwrap_or_else(allowed_cores))
}

fn heading(label: &str) -> String {
    format!("self-test on {label}: largest difference from the serial result, relative\n\n")
}

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Tally {
    fn add(&mut self, check: &Check) {
        let (word, count) = match () {
            () if check.passed() => ("pass", &mut self.passed),
            () if check.skipped() => ("-", &mut self.skipped),
            () => ("FAIL", &mut self.failed),
        };
        *count += 1;
        let found = match &check.difference {
            Ok(difference) => format!("{difference:.1e} of {:.0e}", check.bound),
            Err(error) => error.to_string(),
        };
        // A reader that went away is no failure of the checks.
        let _ = show(&format!("{:<36} {word:<5} {found}\n", check.name));
    }
}
