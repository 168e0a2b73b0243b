//! Exit codes, and who speaks: 0 verified, 2 bad usage or input (a device that is not there too), 3 not converged or not verified, 1 anything else.

use minifenl::Error;
use minifenl::comm::Communicator;
use std::io::Write;
use std::process::ExitCode;

/// Whether this process is the first rank of its launcher, or the only one. Known before MPI starts.
pub fn is_first() -> bool {
    let ranks = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];
    ranks.iter().find_map(|name| std::env::var(name).ok()).is_none_or(|rank| rank == "0")
}

/// Prints on the first rank; a reader that went away is no failure.
pub fn show(text: &str) -> anyhow::Result<ExitCode> {
    if is_first()
        && let Err(error) = std::io::stdout().write_all(text.as_bytes())
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        return Err(error.into());
    }
    Ok(ExitCode::SUCCESS)
}

/// The code of a run that ended with a report.
pub fn verdict(verified: bool) -> ExitCode {
    if verified { ExitCode::SUCCESS } else { ExitCode::from(3) }
}

/// Help goes to stdout; a mistake becomes one line.
pub fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if !error.use_stderr() {
        return show(&text).unwrap_or(ExitCode::FAILURE);
    }
    complain(&in_one_line(&text));
    ExitCode::from(2)
}

/// The lines before the usage joined; a list, whose first line ends with a colon, as a list.
fn in_one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let (mut joined, mut is_list) = (String::new(), false);
    for line in lines.filter(|line| !line.starts_with("For more")) {
        if !joined.is_empty() && !line.is_empty() {
            joined += match () {
                () if joined.ends_with(':') => " ",
                () if is_list => ", ",
                // Possible values.
                () if line.starts_with('[') => " ",
                () => "; ",
            };
        }
        joined += line;
        // An empty line ends it.
        is_list = !line.is_empty() && (is_list || line.ends_with(':'));
    }
    joined
}

/// Before the job: the first rank prints the line that all have, and each ends with its code. A device that is not there is
/// bad input for this machine; one that fails later is not.
pub fn failure(error: &anyhow::Error) -> ExitCode {
    complain(&format!("error: {error:#}"));
    ExitCode::from(early_code(error))
}

/// During the job: the rank that has the error prints it. Ranks that heard of it end quietly with 0, so that the launcher
/// passes on the code of the one that failed; what only one rank can know of ends all of them by force.
pub fn end_all(comm: &dyn Communicator, error: &anyhow::Error) -> ExitCode {
    if let Some(Error::Elsewhere { .. }) = error.downcast_ref() {
        return ExitCode::SUCCESS;
    }
    let _ = writeln!(std::io::stderr(), "error: {error:#}");
    match code(error) {
        1 if comm.size() > 1 => comm.abort(1),
        code => ExitCode::from(code),
    }
}

fn complain(line: &str) {
    if is_first() {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

fn early_code(error: &anyhow::Error) -> u8 {
    if let Some(Error::Device(_)) = error.downcast_ref() { 2 } else { code(error) }
}

fn code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref() {
        Some(Error::Invalid(_) | Error::TooLarge { .. } | Error::Folded { .. } | Error::File { .. }) => 2,
        Some(error) if error.is_collective() => 3,
        _ => 1,
    }
}

#[test]
fn codes_by_kind() {
    let code = |error: Error| code(&error.into());
    assert_eq!(code(Error::Invalid("x".into())), 2);
    assert_eq!(code(Error::Breakdown { iteration: 0, curvature: -1.0, residual: 1.0 }), 3);
    assert_eq!(code(Error::Mpi("x".into())), 1);
    assert_eq!(code(Error::Device("x".into())), 1, "during the job");
    assert_eq!(early_code(&Error::Device("x".into()).into()), 2);
}

#[test]
fn a_mistake_reads_as_a_line() {
    for (text, line) in [
        (
            "error: the following required arguments were not provided:\n  <DECK>...\n  --out <DIR>\n\nUsage: x <DECK>...",
            "error: the following required arguments were not provided: <DECK>..., --out <DIR>",
        ),
        (
            "error: unexpected argument '--redrw' found\n\n  tip: a similar argument exists: '--redraw'\n\nUsage: x",
            "error: unexpected argument '--redrw' found; tip: a similar argument exists: '--redraw'",
        ),
        (
            "error: the argument '--claims <CSV>...' cannot be used with:\n  [DECK]...\n  --redraw\n\nUsage: x",
            "error: the argument '--claims <CSV>...' cannot be used with: [DECK]..., --redraw",
        ),
        (
            "error: invalid value 'a' for '--x <X>'\n  [possible values: b, c]\n\nFor more information, try '--help'.",
            "error: invalid value 'a' for '--x <X>' [possible values: b, c]",
        ),
    ] {
        assert_eq!(in_one_line(text), line);
    }
}
