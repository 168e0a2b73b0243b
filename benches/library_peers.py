#!/usr/bin/env python3
"""Assembles the same matrices with minifenl as a library, dolfinx, scikit-fem, PETSc's MatSetValuesCOO and SciPy, interleaved.

    apt-get install python3-dolfinx python3-petsc4py
    python3 -m venv target/tools/peers && target/tools/peers/bin/pip install numpy scipy scikit-fem
    target/tools/peers/bin/python benches/library_peers.py > library.md            about 12 minutes on 2 cores

Poisson and linear elasticity on hexahedra and on tetrahedra of a distorted cube. Three stages: pattern (all that precedes the first
assembly), first assembly into a new matrix, assembly again into the same matrix. A round runs every candidate once, each pinned to the
same cores; on a shared machine only ratios within a round mean much. Before the clock starts, the matrix of each peer is compared with
minifenl's: Frobenius norm, row sums, 20 random entries, and the largest difference of all entries. A difference of more than 1e-10 of the
largest entry (of the norm) ends the run. Rows are printed to standard error when they are measured, the tables to standard output.
A peer that is not installed is left out, with the reason. A peer that needs more than --seconds for its rounds runs fewer of them.
"""
import argparse
import datetime
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1",
           OPENBLAS_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
CELLS = {"poisson-hexes": 64, "poisson-tets": 55, "elasticity-hexes": 24, "elasticity-tets": 24}
PEERS = {"dolfinx": ("system", True), "scikit": ("venv", False), "petsc": ("system", True), "scipy": ("venv", False)}
TOLERANCE = 1e-10


class Lost(Exception):
    """A candidate that does not run here."""


class Worker:
    """A candidate's process, which waits for commands."""

    def __init__(self, label, command, cores, pipes=()):
        self.label, self.rounds, self.errors = label, [], tempfile.TemporaryFile("w+")
        for pipe in pipes:
            os.mkfifo(pipe)
        self.process = subprocess.Popen(
            command, env=ENV, text=True, stdout=subprocess.PIPE, stderr=self.errors, cwd=os.path.join(HERE, "library"),
            stdin=subprocess.DEVNULL if pipes else subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, cores))
        # Opened for reading too, so that a process that died before it opened its pipe blocks nothing.
        self.asks = [os.fdopen(os.open(pipe, os.O_RDWR), "w") for pipe in pipes] or [self.process.stdin]
        self.version = self.line().removeprefix("ready ")

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.errors.seek(0)
            last = [line for line in self.errors.read().splitlines() if line.strip()] or ["no message"]
            reason = next((line for line in reversed(last) if "Error" in line), last[-1])
            raise Lost(f"{self.label} left out: {reason.strip()}")
        return line.strip()

    def ask(self, command):
        for ask in self.asks:
            ask.write(command + "\n")
            ask.flush()
        lines = iter(self.line, "done")
        return {name: list(map(float, numbers)) for name, *numbers in (line.split("|") for line in lines)}

    def stop(self):
        for ask in self.asks:
            ask.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            self.process.wait()


def ours(args):
    """The bench, built with the default features off."""
    if args.minifenl:
        return os.path.abspath(args.minifenl)
    build = subprocess.run(["cargo", "bench", "--no-default-features", "--bench", "library", "--no-run", "--message-format=json"],
                           cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found = [json.loads(line) for line in build.stdout.splitlines() if line.startswith("{")]
    return next(item["executable"] for item in found if item.get("executable") and item["target"]["name"] == "library")


def start(name, args, folder, problem, cores):
    interpreter, has_ranks = PEERS[name]
    pipe = os.path.join(folder, f"{name}-{len(cores)}")
    ranks = len(cores) if has_ranks else 1
    command = [getattr(args, interpreter), os.path.join(HERE, "library", f"{name}_peer.py"), folder, problem, pipe, *map(str, cores)]
    if ranks > 1:
        command = ["mpirun", "--bind-to", "none", "--oversubscribe", "-n", str(ranks), *command]
    return Worker(name, command, cores, [f"{pipe}.{rank}" for rank in range(ranks)]), pipe, ranks


class Reference:
    """minifenl's matrix: entries sorted by row and column."""

    def __init__(self, folder):
        read = lambda name, dtype: np.fromfile(os.path.join(folder, f"reference.{name}"), dtype=dtype)
        offsets, columns, self.values = read("offsets", "u8"), read("columns", "u4"), read("values", "f8")
        self.n = len(offsets) - 1
        self.rows = np.repeat(np.arange(self.n), np.diff(offsets).astype(np.int64))
        self.columns = columns.astype(np.int64)
        self.keys = self.rows * self.n + self.columns

    def compare(self, name, i, j, v):
        """Raises unless the entries are those of the reference; entries that a peer leaves out must be zero, and the other way round."""
        keys = i.astype(np.int64) * self.n + j
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        known = self.keys[at] == keys
        theirs = np.bincount(at[known], weights=v[known], minlength=len(self.keys))
        scale = np.abs(self.values).max()
        sums = [np.bincount(self.rows, weights=values, minlength=self.n) for values in (self.values, theirs)]
        some = np.random.default_rng(7).integers(0, len(self.keys), 20)
        norms = [float(np.linalg.norm(values)) for values in (self.values, theirs)]
        differences = {
            "Frobenius norm": abs(norms[0] - norms[1]) / norms[0],
            "row sums": np.abs(sums[0] - sums[1]).max() / scale,
            "20 entries": np.abs(self.values[some] - theirs[some]).max() / scale,
            "all entries": np.abs(self.values - theirs).max() / scale,
            "entries outside our pattern": np.abs(v[~known]).max(initial=0.0) / scale,
        }
        for what, difference in differences.items():
            if not difference <= TOLERANCE:
                raise SystemExit(f"{name}: {what} differ by {difference:.3g} relative to minifenl's, more than {TOLERANCE:g}")
        return differences["all entries"]


def check(worker, reference, pipe, ranks):
    """Returns the candidates of a peer with the largest difference of all entries, and how long it took."""
    begin = datetime.datetime.now()
    worker.ask("check")
    seconds = (datetime.datetime.now() - begin).total_seconds()
    parts = [np.load(f"{pipe}.{rank}.npz") for rank in range(ranks)]
    count = sum(name.startswith("name") for name in parts[0].files)
    found = {}
    for at in range(count):
        i, j, v = (np.concatenate([part[f"{key}{at}"] for part in parts]) for key in "ijv")
        name = str(parts[0][f"name{at}"])
        found[name] = reference.compare(name, i, j, v)
    return found, seconds


def log(*words):
    print(*words, file=sys.stderr, flush=True)


def measure(args, program, folder, problem, cores):
    """Rounds of times per candidate, {name: [[graph, pattern, first, again]]}; largest differences; versions."""
    found, differences, versions, workers, limits = {}, {}, {}, [], {}
    try:
        mine = Worker("minifenl", [program, "serve", folder, problem, str(CELLS[problem]), str(len(cores))], cores)
        workers.append(mine)
        versions["minifenl"], limits[mine] = "minifenl " + mine.version, args.rounds
        reference = Reference(folder)
        for name in PEERS:
            if name in args.without:
                continue
            try:
                worker, pipe, ranks = start(name, args, folder, problem, cores)
                workers.append(worker)
                checked, seconds = check(worker, reference, pipe, ranks)
            except Lost as reason:
                log(reason)
                versions[name] = str(reason)
                continue
            log(f"{problem}, {count(len(cores), 'core')}: {worker.version}: equal, {max(checked.values()):.1e}")
            differences.update(checked)
            versions[name], limits[worker] = worker.version, max(2, min(args.rounds, int(args.seconds / max(seconds, 0.1))))
        for round in range(args.rounds):
            for worker in workers:
                if round < limits.get(worker, 0):
                    for name, times in worker.ask("round").items():
                        found.setdefault(name, []).append(times if len(times) == 4 else [math.nan, *times])
    finally:
        for worker in workers:
            worker.stop()
    return found, differences, versions


def count(n, one):
    return f"{n} {one}" if n == 1 else f"{n} {one}s"


def cell(values):
    """The median, with smallest and largest."""
    if not values or any(map(math.isnan, values)):
        return "-"
    return f"{statistics.median(values):.3g} [{min(values):.3g} to {max(values):.3g}]"


def machine():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    memory = int(next(line.split()[1] for line in open("/proc/meminfo") if line.startswith("MemTotal"))) >> 20
    system = next((line.split("=")[1].strip().strip('"') for line in open("/etc/os-release") if line.startswith("PRETTY")), "")
    tool = lambda *command: subprocess.run(command, capture_output=True, text=True).stdout.splitlines()[0] if shutil.which(command[0]) else ""
    tools = ", ".join(filter(None, [tool("rustc", "--version"), tool("gcc", "--version"), tool("mpirun", "--version")]))
    return f"{cpu}, {len(os.sched_getaffinity(0))} cores, {memory} GiB, {system}; {tools}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    venv = os.path.join(ROOT, "target/tools/peers/bin/python")
    parser.add_argument("--minifenl", help="the built bench `library`; default: cargo builds it")
    parser.add_argument("--system", default="/usr/bin/python3", help="Python of dolfinx and petsc4py")
    parser.add_argument("--venv", default=venv if os.path.exists(venv) else sys.executable, help="Python of SciPy and scikit-fem")
    parser.add_argument("--problems", nargs="+", choices=list(CELLS), default=list(CELLS))
    parser.add_argument("--cells", type=int, help="cells along an edge, for all problems; default: " + str(CELLS))
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30, help="most seconds for the rounds of a peer, of at least 2 rounds")
    parser.add_argument("--without", nargs="*", choices=list(PEERS), default=[])
    args = parser.parse_args()
    if args.cells:
        CELLS.update(dict.fromkeys(CELLS, args.cells))
    sys.path.insert(0, os.path.join(HERE, "library"))
    import tables

    program, allowed = ours(args), sorted(os.sched_getaffinity(0))
    text, versions = [], {}
    for problem in args.problems:
        with tempfile.TemporaryDirectory(prefix="minifenl-library-") as folder:
            subprocess.run([program, "write", folder, problem, str(CELLS[problem])], check=True)
            for n in args.cores:
                if n > len(allowed):
                    log(f"{count(n, 'core')} left out: this process may use {len(allowed)}")
                    continue
                found, differences, used = measure(args, program, folder, problem, allowed[-n:])
                versions.update(used)
                lines = tables.of(problem, CELLS[problem], n, found, differences, cell)
                log("\n".join(lines) + "\n")
                text += lines + [""]
    print(f"{datetime.date.today()}. {machine()}. {'; '.join(versions.values())}.\n")
    print(tables.HEAD + "\n\n" + "\n".join(text))


if __name__ == "__main__":
    main()
