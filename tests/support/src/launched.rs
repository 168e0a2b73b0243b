//! A test program that starts itself under `mpirun`, once for each case and number of ranks.

use std::process::{Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant};

/// A case: its name, numbers of ranks, and whether all ranks ended as they should.
pub type Launched = (&'static str, Vec<usize>, fn(&Output) -> bool);

/// Runs the cases whose name contains the first argument of this program; the ranks find the name of theirs in `variable`. Prints
/// what the harness of Rust prints. A run that takes longer than `patience` hangs and is ended by force.
pub fn run_cases(cases: &[Launched], variable: &str, patience: Duration) -> ExitCode {
    let word = std::env::args().nth(1).filter(|word| !word.starts_with('-')).unwrap_or_default();
    let (mut passed, mut failed) = (0, 0);
    for (name, ranks, ended_well) in cases.iter().filter(|(name, ..)| name.contains(&word)) {
        for &ranks in ranks {
            let mut command = crate::mpirun(ranks);
            command.arg(std::env::current_exe().expect("this program")).env(variable, name);
            let start = Instant::now();
            let verdict = match end_of(command, patience) {
                Some(run) if ended_well(&run) => "ok".to_string(),
                Some(run) => {
                    let text = [&run.stdout, &run.stderr].map(|text| String::from_utf8_lossy(text));
                    format!("FAILED ({})\n{}{}", run.status, text[0], text[1])
                }
                None => format!("FAILED: hangs: not over after {patience:?}"),
            };
            println!("test {name} on {ranks} ranks ... {verdict} ({:.1} s)", start.elapsed().as_secs_f64());
            *if verdict == "ok" { &mut passed } else { &mut failed } += 1;
        }
    }
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {result}. {passed} passed; {failed} failed; 0 ignored");
    ExitCode::from(u8::from(failed > 0))
}

/// The output of a run; `None` if it hangs.
fn end_of(mut command: Command, patience: Duration) -> Option<Output> {
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env_remove("RUST_BACKTRACE");
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (mut run, start) = (command.spawn().expect("mpirun starts"), Instant::now());
    while run.try_wait().expect("mpirun").is_none() {
        if start.elapsed() > patience {
            let _ = run.kill();
            let _ = run.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    run.wait_with_output().ok()
}
