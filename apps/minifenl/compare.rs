//! `minifenl compare A.json B.json`: two reports side by side, with an exit code for continuous integration.

use crate::args::commands::Compare;
use crate::comparison::{Comparison, NOT_VERIFIED};
use crate::report_file::read;
use minifenl::run::program::{self, Exit};
use std::io::stdout;

/// Prints the comparison; with a limit, also the phases above it.
pub fn run(flags: &Compare) -> anyhow::Result<Exit> {
    let comparison = Comparison::new(&read(&flags.a)?, &read(&flags.b)?);
    program::show(&mut stdout(), &comparison.table())?;
    let Some(limit) = flags.fail_above else { return Ok(Exit::Done) };
    if let Some(key) = comparison.other_problem() {
        let same = "--fail-above compares runs of one problem";
        return Err(
            minifenl::Error::Invalid(format!("A and B solve different problems ({key} differs): {same}")).into()
        );
    }
    // Times of runs that are not judged compare as well: each does the iterations that were asked for.
    if let Some((name, _)) = ["A", "B"].iter().zip(comparison.verdicts).find(|(_, found)| *found == NOT_VERIFIED) {
        crate::look::fail(&format!("{name} is not verified"));
        return Ok(Exit::NotVerified);
    }
    let above = comparison.above(limit);
    let said = above.iter().map(|phase| match phase.ratio() {
        Some(ratio) => format!("{} {ratio:.3}", phase.name),
        None => format!("{} in B only", phase.name),
    });
    let said: Vec<String> = said.collect();
    if !said.is_empty() {
        crate::look::fail(&format!("phases above {limit} times as long as in A: {}", said.join(", ")));
        return Ok(Exit::Slower);
    }
    Ok(Exit::Done)
}
