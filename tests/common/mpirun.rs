//! Starts ranks.

use std::process::Command;

/// Returns `mpirun` with a number of ranks, to which the program is added. Runs also as root and on fewer cores than ranks.
pub fn mpirun(ranks: usize) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--oversubscribe", "-n", &ranks.to_string()]);
    command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    command
}
