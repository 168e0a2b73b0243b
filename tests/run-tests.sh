#!/usr/bin/env bash
# Runs every test of this folder (made by `make dist`), on a machine without Rust, and prints the count. Arguments go to
# each test executable, such as `cuda::` for the tests of the GPU. MINIFENL_NEEDS_GPU=1 makes a missing GPU a failure.
set -uo pipefail
cd "$(dirname "$0")"
export CARGO_MANIFEST_DIR="$PWD" CARGO_BIN_EXE_minifenl="$PWD/minifenl" RUST_BACKTRACE=0
export MINIFENL_FAULTS_PROGRAM="$PWD/minifenl-faults"
log=$(mktemp) skipped=$(mktemp) failed=0
trap 'rm -f "$log" "$skipped"' EXIT
export MINIFENL_SKIPPED="$skipped" PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-1}"
for test in tests/*; do
    echo "== $test"
    env "CARGO_BIN_EXE_minifenl-contractions=$PWD/minifenl-contractions" "CARGO_BIN_EXE_minifenl-scaling=$PWD/minifenl-scaling" \
        "CARGO_BIN_EXE_minifenl-kernels=$PWD/minifenl-kernels" "CARGO_BIN_EXE_minifenl-minimd=$PWD/minifenl-minimd" "$test" "$@" 2>&1 | tee -a "$log" | grep -v '\.\.\. ok$'
    [ "${PIPESTATUS[0]}" = 0 ] || { failed=1; echo "FAILED: $test"; }
done
./summary.sh "$log" "$skipped" || failed=1
exit $failed
