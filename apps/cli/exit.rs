//! Exit codes, and who speaks: 0 verified, 2 bad usage or input, 3 not converged or not verified, 1 anything else.

use minifenl::Error;
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
    let line: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:")).collect();
    let line: Vec<&str> = line.into_iter().filter(|line| !line.is_empty() && !line.starts_with("For more")).collect();
    complain(&line.join("; "));
    ExitCode::from(2)
}

/// One line for an error, and its code.
pub fn failure(error: &anyhow::Error) -> ExitCode {
    complain(&format!("error: {error:#}"));
    ExitCode::from(error.downcast_ref::<Error>().map_or(1, code))
}

fn complain(line: &str) {
    if is_first() {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

fn code(error: &Error) -> u8 {
    match error {
        Error::Invalid(_) | Error::TooLarge { .. } | Error::Folded { .. } | Error::File { .. } => 2,
        Error::NotConverged { .. } | Error::Breakdown { .. } | Error::NotFinite { .. } => 3,
        _ => 1,
    }
}

#[test]
fn codes_by_kind() {
    assert_eq!(code(&Error::Invalid("x".into())), 2);
    assert_eq!(code(&Error::Breakdown { iteration: 0, curvature: -1.0, residual: 1.0 }), 3);
    assert_eq!(code(&Error::Mpi("x".into())), 1);
}
