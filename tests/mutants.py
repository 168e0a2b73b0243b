#!/usr/bin/env python3
"""Runs the mutants of tests/mutants/*.toml: each is a plausible mistake in one place that a named test must catch.

    tests/mutants.py [--only NAME...] [--list] [--check] [--gpu]

A mutant replaces a text that occurs exactly once in a file:

    [[group]]
    test = "--lib fill::host::dirichlet"       # arguments of `cargo test`, features are added; this test must fail
    harmless = "why no result can differ"      # optional, instead of a test: counted, not run
    gpu = true                                 # optional: the test needs a GPU; run only with --gpu
    mutants = [
        # A unique name, a file, text that occurs exactly once in it, wrong text that still compiles.
        ["dirichlet-skips-last-row", "src/fill/host/dirichlet.rs", 'find', 'replace'],
    ]

Swapped operators and emptied functions are not listed: cargo-mutants makes them by itself.
The working tree (without ignored files) is copied to target/mutants/tree and never changed itself; builds are kept in
target/mutants/build. Mutants in functions are built together and chosen at run time (mutants/switch.py), the others one at
a time. First every named test runs without a mutant: it must pass and at least one test must match. A failed test, an abort
and a time-out count as caught; a mutant that does not compile is an error of the list. The variable CARGO names another
command for the builds. Exit code: 0 if every mutant was caught, 1 if one survived or the list has an error, 2 for wrong
arguments.
"""

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "mutants"))
import switch  # noqa: E402

WORK = ROOT / "target" / "mutants"
TREE = WORK / "tree"
KEYS = {"mutants", "test", "harmless", "gpu"}
# A test without a mutant that takes t seconds is stopped with one after SLOWER * t + PATIENCE seconds.
SLOWER, PATIENCE = 10, 60
# Of the root package: one build serves all tests.
FEATURES = "--features mpi,faults"
TAKE_A_VALUE = {"-p", "--features", "--test", "--bin", "--manifest-path"}


def load():
    """Returns the mutants of every list and the errors in the lists: unknown keys, stale texts, names used twice."""
    mutants, errors, names = [], [], set()
    for path in sorted((ROOT / "tests" / "mutants").glob("*.toml")):
        try:
            groups = tomllib.loads(path.read_text()).get("group", [])
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            errors.append(f"{path.name}: {error}")
            continue
        for group in groups:
            if unknown := set(group) - KEYS:
                errors.append(f"{path.name}: unknown key `{min(unknown)}`, expected one of {', '.join(sorted(KEYS))}")
            if "test" in group and not re.match(r"-p |--manifest-path ", group["test"]):
                group["test"] = f"{FEATURES} {group['test']}"
            for entry in group.get("mutants", []):
                mutant = dict(zip(("name", "file", "find", "replace"), entry), **group)
                reason = "expected name, file, find and replace" if len(entry) != 4 else fault(mutant, names)
                names.add(entry[0])
                if reason:
                    errors.append(f"{path.name}: mutant `{entry[0]}`: {reason}")
                else:
                    mutants.append(mutant)
    return mutants, errors


def fault(mutant, names):
    """Returns what is wrong with an entry of a list, or None."""
    if mutant["name"] in names:
        return "the name is used twice"
    if mutant["find"] == mutant["replace"]:
        return "`find` equals `replace`"
    if not (ROOT / mutant["file"]).is_file():
        return f"no file {mutant['file']}"
    if "harmless" not in mutant and not mutant.get("test"):
        return "expected `test`, the arguments of `cargo test`, or `harmless`, a reason"
    found = (ROOT / mutant["file"]).read_text().count(mutant["find"])
    return None if found == 1 else f"`find` occurs {found} times in {mutant['file']}, expected once"


def copy_tree():
    """Brings target/mutants/tree up to date and returns its files. Unchanged ones keep their times, so that builds are reused."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True
    )
    files = {name for name in os.fsdecode(listed.stdout).split("\0") if name and (ROOT / name).is_file()}
    for name in files:
        source, target = ROOT / name, TREE / name
        if not target.is_file() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        target.chmod(source.stat().st_mode)
    remove_strays(files)
    return files


def remove_strays(files):
    """Removes what tests leave in the tree: the cases that failed with one mutant are not tried first with the next."""
    for path in TREE.rglob("*"):
        if path.is_file() and str(path.relative_to(TREE)) not in files:
            path.unlink()


def call(command, timeout, number=0):
    """Runs a command in the tree with one mutant of the build; returns its exit code (None after a time-out) and output."""
    env = dict(os.environ, CARGO_TARGET_DIR=str(WORK / "build"), CARGO_TERM_COLOR="never")
    env[switch.VARIABLE] = str(number)
    with subprocess.Popen(
        command, cwd=TREE, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            # mpirun ends its ranks when it is asked to, not when it is killed.
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
            return None, ""


def build(test):
    """Compiles what a test needs; returns the error or None."""
    args = shlex.split(test)
    args = args[: args.index("--")] if "--" in args else args
    code, output = call([*shlex.split(os.environ.get("CARGO", "cargo")), "test", "--no-run", *args], None)
    errors = [line for line in output.splitlines() if line.startswith("error")]
    return None if code == 0 else (errors or [f"exit code {code}"])[0]


def passes_alone(test):
    """Runs a test without a mutant; returns its time and the error or None."""
    if error := build(test):
        return 0, f"does not compile: {error}"
    start = time.monotonic()
    code, output = call(["cargo", "test", *shlex.split(test)], 1800)
    seconds = time.monotonic() - start
    if code != 0:
        return seconds, "fails without a mutant"
    # A test without the usual harness prints no counts.
    passed = re.findall(r"^test result: ok\. (\d+) passed", output, re.MULTILINE)
    if passed and sum(map(int, passed)) == 0:
        return seconds, "matches no test"
    return seconds, None


def build_together(runs):
    """Writes the mutants that can be chosen at run time into the tree and builds their tests; returns them by number.

    A mutant whose arm does not compile is taken out and left to a build of its own.
    """
    left, texts = {}, {}
    for number, mutant in enumerate(runs, 1):
        if mutant["file"].endswith(".rs"):
            left.setdefault(mutant["file"], []).append((number, mutant))
            texts[mutant["file"]] = (ROOT / mutant["file"]).read_text()
    while True:
        lines, written = {}, {}
        for file, mutants in left.items():
            written[file], lines[file] = switch.switched(texts[file], mutants)
        for root in set().union(*(roots_of(file) for file in left)):
            written[root] = written.get(root, (ROOT / root).read_text()) + switch.CHOSEN
        for file, text in written.items():
            if (TREE / file).read_text() != text:
                (TREE / file).write_text(text)
        chosen = {number: mutant for file, mutants in left.items() for number, mutant in mutants if number in lines[file]}
        places = next(filter(None, map(errors_of, sorted({selection(mutant["test"]) for mutant in chosen.values()}))), set())
        wrong = {
            number for file, arms in lines.items() for number, (first, last) in arms.items()
            if any(first <= line <= last for path, line in places if path == file)
        }
        if not wrong:
            # An error outside of all arms leaves every mutant to a build of its own.
            return {} if places else chosen
        left = {file: [entry for entry in mutants if entry[0] not in wrong] for file, mutants in left.items()}


def selection(test):
    """Returns the arguments of `cargo test` without the names of tests: what is compiled."""
    args = shlex.split(test.split(" -- ")[0])
    taken = lambda index: args[index].startswith("-") or (index and args[index - 1] in TAKE_A_VALUE)
    return shlex.join(arg for index, arg in enumerate(args) if taken(index))


def roots_of(file):
    """Returns the roots of the crates that a file belongs to, with those of tests that include files of its folder."""
    for folder in Path(file).parents:
        if roots := {str(folder / name) for name in ("lib.rs", "main.rs") if (ROOT / folder / name).is_file()}:
            including = (path for path in ROOT.glob("tests/*/main.rs") if f'#[path = "../../{folder}/' in path.read_text())
            return roots | {str(path.relative_to(ROOT)) for path in including}
    return set()


def errors_of(test):
    """Compiles what a test needs; returns the files and lines of the errors."""
    _, output = call([*shlex.split(os.environ.get("CARGO", "cargo")), "test", "--no-run", *shlex.split(test)], None)
    found, is_error = set(), False
    for line in output.splitlines():
        if re.match(r"(error|warning)", line):
            is_error = line.startswith("error")
        elif is_error and (place := re.match(r"\s*(?:-->|:::) (.+?):(\d+):\d+", line)):
            found.add((place[1], int(place[2])))
    return found


def verdict(mutant, seconds, number):
    """Tests a mutant, chosen by its number or else applied to its file; returns `caught`, `SURVIVED` or `ERROR` and a detail."""
    path = TREE / mutant["file"]
    text = path.read_text()
    try:
        if not number:
            path.write_text(text.replace(mutant["find"], mutant["replace"]))
            if error := build(mutant["test"]):
                return "ERROR", f"does not compile: {error}"
        code, output = call(["cargo", "test", *shlex.split(mutant["test"])], SLOWER * seconds + PATIENCE, number)
    finally:
        # A file that is written is compiled again.
        if not number:
            path.write_text(text)
    if code is None:
        return "caught", "time-out"
    if code == 0:
        return "SURVIVED", f"cargo test {mutant['test']}"
    failed = re.findall(r"^test (\S+) \.\.\. FAILED", output, re.MULTILINE)
    return "caught", failed[0] if failed else f"exit code {code}"


def judge(numbered, counts, files):
    """Tests the mutants, those with a positive number chosen at run time, and counts the results."""
    alone = {}
    for test in dict.fromkeys(mutant["test"] for mutant in numbered.values()):
        alone[test] = passes_alone(test)
        if alone[test][1]:
            print(f"error: cargo test {test}: {alone[test][1]}", file=sys.stderr, flush=True)
    for number, mutant in numbered.items():
        seconds, error = alone[mutant["test"]]
        start = time.monotonic()
        result, detail = ("ERROR", f"its test {error}") if error else verdict(mutant, seconds, max(number, 0))
        remove_strays(files)
        counts[result] += 1
        print(f"{result:<8} {time.monotonic() - start:5.1f} s  {mutant['name']}: {detail}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="run these mutants only")
    parser.add_argument("--list", action="store_true", help="print names, files and tests")
    parser.add_argument("--check", action="store_true", help="check only that every entry still fits its file")
    parser.add_argument("--gpu", action="store_true", help="run also the mutants whose tests need a GPU")
    args = parser.parse_args()

    mutants, errors = load()
    for error in errors:
        print(f"error: {error}", file=sys.stderr)
    if args.only:
        if missing := set(args.only) - {mutant["name"] for mutant in mutants}:
            parser.error(f"no mutant `{sorted(missing)[0]}`; --list prints the names")
        mutants = [mutant for mutant in mutants if mutant["name"] in args.only]
    if args.list:
        for mutant in mutants:
            print(f"{mutant['name']}\t{mutant['file']}\t{mutant.get('test') or 'harmless: ' + mutant['harmless']}")
    if args.check or args.list:
        print(f"{len(mutants)} mutants, {len(errors)} errors")
        return int(bool(errors))

    skips = lambda mutant: "harmless" in mutant or (mutant.get("gpu", False) and not args.gpu)
    counts = dict.fromkeys(("caught", "SURVIVED", "ERROR", "harmless", "gpu"), 0)
    counts["ERROR"] = len(errors)
    for mutant in filter(skips, mutants):
        counts["harmless" if "harmless" in mutant else "gpu"] += 1
    # Mutants of one test and file are neighbours: less is compiled from one to the next.
    runs = sorted((mutant for mutant in mutants if not skips(mutant)), key=lambda m: (m["test"].split(" -- ")[0], m["file"]))
    files = copy_tree()
    chosen = build_together(runs)
    judge(chosen, counts, files)
    copy_tree()
    judge({-number: mutant for number, mutant in enumerate(runs, 1) if number not in chosen}, counts, files)
    line = f"{counts['caught']} caught, {counts['SURVIVED']} survived, {counts['harmless']} harmless"
    line += f", {counts['gpu']} not run (need a GPU)" if counts["gpu"] else ""
    print(line + (f", {counts['ERROR']} errors" if counts["ERROR"] else ""))
    return int(counts["SURVIVED"] + counts["ERROR"] > 0)


if __name__ == "__main__":
    sys.exit(main())
