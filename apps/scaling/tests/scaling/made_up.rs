//! The program, and a made-up minifenl for it to run.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

/// The program: that of the environment where these tests were taken elsewhere, else the one that was built with them.
pub fn program() -> String {
    std::env::var("CARGO_BIN_EXE_minifenl-scaling").unwrap_or(env!("CARGO_BIN_EXE_minifenl-scaling").into())
}

pub fn scaling(arguments: &[&str]) -> Output {
    assert_cmd::Command::new(program()).args(arguments).output().unwrap()
}

/// A minifenl that writes the report of the run that it is asked for: RANKS from the launcher, the rest from its flags.
pub fn made_up(folder: &Path) -> String {
    let path = folder.join("minifenl");
    let text = r#"#!/bin/bash
while [ $# -gt 0 ]; do
  case $1 in --nodes) nodes=$2;; --threads) threads=$2;; --report) report=$2;; --imbalance) uneven=$2;;
    --preconditioner) levels=$2;; esac
  shift
done
echo "$RANKS x $threads" >> "$(dirname "$0")/log"
IFS=x read -r nx ny nz <<< "$nodes"
[ -e "$(dirname "$0")/broken" ] && { echo "error: made to fail" >&2; exit 1; }
uneven=${uneven:-0}
phase() { echo "{\"name\":\"$1\",\"calls\":10,\"seconds\":$2,\"bytes\":1e6,\"imbalance\":1.1}"; }
cat > "$report" <<END
{"schema_version":1,"version":"0.1.0","date":"2026-11-22T13:00:05Z","problem":{"name":"heat"},"mesh":{"element":"hex8","nodes":[$nx,$ny,$nz]},
"nodes":$((nx*ny*nz)),"elements":$(((nx-1)*(ny-1)*(nz-1))),"ranks":$RANKS,
"threads":$threads,"device":"cpu","cg_iterations":10,"cg_reductions":20,"total_seconds":0.5,"verified":true,"verdict":[],
"partition":{"imbalance_asked_percent":$uneven,"imbalance_percent":$uneven,"owned_max":$(((nx*ny*nz*(100+uneven)/100+RANKS-1)/RANKS))},
"triad_gb_per_s":null,"provenance":{"machine":{"host":"a","cpu":"Made Up 9","cores":2,"hardware_threads":1000},"mpi":null,
"build":{"commit":"abc","profile":"release"},"placement":[{"first_rank":0,"last_rank":$((RANKS-1)),"host":"a","threads":$threads,
"affinity":"0-1","gpu":null}]},
"phases":[$(phase graph 0.1),$(phase fill 0.2),${levels:+$(phase preconditioner 0.03),}$(phase cg 0.0$((9+RANKS))),$(phase spmv 0.05),$(phase halo 0.001)]}
END
"#;
    executable(&path, text);
    path.to_string_lossy().into_owned()
}

pub fn executable(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs of the made-up minifenl so far.
pub fn runs(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("log")).map_or(0, |log| log.lines().count())
}
