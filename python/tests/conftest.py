"""Ends with the line of the Rust tests, which `make test` counts."""


def pytest_terminal_summary(terminalreporter):
    passed, failed, skipped = (
        sum(len(terminalreporter.stats.get(name, [])) for name in names)
        for names in (["passed"], ["failed", "error"], ["skipped"])
    )
    outcome = "FAILED" if failed else "ok"
    terminalreporter.write_line(f"test result: {outcome}. {passed} passed; {failed} failed; {skipped} ignored; 0 measured; 0 filtered out")
