#!/usr/bin/env bash
# Counts the tests of a log: `N passed, N failed, N skipped` on a line alone. A test that lacks a GPU or a tool returns early
# and adds a line `test: why` to the second file; it counts as skipped, not as passed, and so does an ignored one.
# Exit code 1 when a test failed or none ran.
#
#     tests/summary.sh LOG SKIPPED
set -euo pipefail
log=$1 skipped=$2
sort -u "$skipped" | sed 's/^[^:]*: //' | sort | uniq -c | while read -r count why; do echo "skipped: $count tests: $why"; done
awk -v early="$(sort -u "$skipped" | wc -l)" '
    /^test result:/ { passed += $4; failed += $6; ignored += $8 }
    END {
        passed -= early
        printf "%d passed, %d failed, %d skipped\n", passed, failed, early + ignored
        exit failed > 0 || passed <= 0
    }' "$log"
