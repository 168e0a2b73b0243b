//! `--self-test`: every stage against the serial one, a line each, for people on a new machine.

use crate::show;
use minifenl::run::Check;
use minifenl::run::deck::Device;
use minifenl::run::program::Exit;

/// Runs the checks on the device and says how many passed; exit code 3 when one did not.
pub fn run(device: Device, threads: Option<usize>) -> anyhow::Result<Exit> {
    let mut tally = Tally::default();
    // A reader that went away is no failure of the checks.
    let mut heading = |text: &str| drop(show(&format!("{text}\n\n")));
    minifenl::run::self_test(device, threads, &mut heading, &mut |check| tally.add(check))?;
    show(&format!("{} passed, {} failed, {} not on this device\n", tally.passed, tally.failed, tally.skipped))?;
    Ok(Exit::verdict(tally.failed == 0))
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
