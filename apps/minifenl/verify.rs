//! `minifenl verify`: a device against the mathematics, a line per check, for people on a new machine.

use crate::look;
use crate::output::Output;
use crate::show;
use minifenl::Error;
use minifenl::comm::Solo;
use minifenl::run::program::{Exit, columns_of, wrapped};
use minifenl::run::{Check, Deck};
use serde_json::{Value, json};
use std::io::stdout;

/// Runs the checks, says how many passed and writes them as a report where asked for; exit code 3 when one did not pass.
pub fn run(deck: &Deck) -> anyhow::Result<Exit> {
    let file = Output::open("--report", deck.run.report.as_deref(), &Solo)?;
    let (mut tally, mut is_first) = (Tally::default(), true);
    // A reader that went away is no failure of the checks.
    let mut heading = |text: &str| {
        let gap = if std::mem::take(&mut is_first) { "" } else { "\n" };
        drop(show(&format!("{gap}{text}\n")));
    };
    match minifenl::run::verify(deck, &mut heading, &mut |check| tally.add(check)) {
        // Neither a failed check nor a mistake of the user.
        Err(error @ Error::OutOfMemory { .. }) => {
            look::fail(&error.to_string());
            return Ok(Exit::Failed);
        }
        ended => ended?,
    }
    let Tally { passed, failed, skipped, checks } = tally;
    let word = if failed == 0 { "PASS" } else { "FAIL" };
    let shown = show(&format!("\n{word}: {passed} passed, {failed} failed, {skipped} not on this device\n"));
    let all = json!({ "passed": passed, "failed": failed, "skipped": skipped, "checks": checks });
    let is_written = file.map_or(Ok(true), |file| file.report(&all))?;
    shown.map(|_| if is_written { Exit::verdict(failed == 0) } else { Exit::Failed })
}

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
    checks: Vec<Value>,
}

impl Tally {
    fn add(&mut self, check: &Check) {
        let (word, count) = match () {
            () if check.passed() => ("pass", &mut self.passed),
            () if check.skipped() => ("-", &mut self.skipped),
            () => ("FAIL", &mut self.failed),
        };
        *count += 1;
        let found = match &check.found {
            Ok(found) if check.expected == 0.0 => format!("{found:.1e} of {:.0e}", check.bound),
            Ok(found) => format!("{found:.2}, expected {:.0} +- {:.2}", check.expected, check.bound),
            Err(error) => error.to_string(),
        };
        let line = format!("  {:<36} {word:<5} {found}", check.name);
        // A reader that went away is no failure of the checks.
        let _ = show(&format!("{}\n", wrapped(&line, columns_of(stdout()), 45)));
        self.checks.push(json!({
            "name": check.name,
            "result": word,
            "found": check.found.as_ref().ok(),
            "expected": check.expected,
            "bound": check.bound,
            "error": check.found.as_ref().err().map(ToString::to_string),
        }));
    }
}
