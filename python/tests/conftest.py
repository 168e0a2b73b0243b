"""Ends with why tests were skipped, and the line of the Rust tests, which `make test` counts."""

from collections import Counter


def pytest_terminal_summary(terminalreporter):
    passed, failed, skipped = (
        sum(len(terminalreporter.stats.get(name, [])) for name in names)
        for names in (["passed"], ["failed", "error"], ["skipped"])
    )
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", []))
    for reason, count in reasons.items():
        terminalreporter.write_line(f"skipped: {count} tests: {reason}")
    outcome = "FAILED" if failed else "ok"
    terminalreporter.write_line(f"test result: {outcome}. {passed} passed; {failed} failed; {skipped} ignored; 0 measured; 0 filtered out")
