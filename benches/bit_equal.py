#!/usr/bin/env python3
"""Compares two builds of minifenl bit by bit: residual history, iteration counts, errors, partition.

    python3 benches/bit_equal.py OLD NEW            compares two programs
    python3 benches/bit_equal.py OLD --record FILE  records the results of one; FILE.json then stands for OLD

OLD and NEW are programs built with MPI, on one machine. The cases cover decks, problems, element types, formats, operators, maps,
strategies, element kernels, 1 to 8 ranks and 1 to 8 threads on the CPU. `scatter` runs on one thread only, since its sums have no fixed order on several. Fields that only one of the
reports has are left out, and so are verdict and bound. Exit code 1 if a case differs.
"""
import itertools, json, os, subprocess, sys, tempfile
from pathlib import Path

INPUTS = Path(__file__).parent.parent / "inputs"
KEYS = ("history", "error_max", "error_l2", "newton_iterations", "cg_iterations", "partition", "mesh",
        "problem", "nodes", "elements")
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")


def run(program, ranks, flags):
    """The exit code and the report's compared keys."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [program, "--device", "cpu", "--report", report, *flags]
        if ranks > 1:
            command = ["mpirun", "--bind-to", "none", "-n", str(ranks), *command]
        code = subprocess.run(command, capture_output=True, timeout=300, env=ENVIRONMENT).returncode
        found = json.loads(report.read_text()) if report.exists() else {}
        return code, {key: found.get(key) for key in KEYS}


def shared(one, other):
    """The part of `one` whose keys `other` has too."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: shared(one[key], other[key]) for key in one if key in other}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [shared(*pair) for pair in zip(one, other)]
    return one


def cases():
    for deck, nodes in itertools.product(("default", "original", "twist"), ("20", "33x17x25")):
        yield 1, ["--input", str(INPUTS / f"{deck}.toml"), "--nodes", nodes, "--threads", "1"]
    for ranks in (1, 2):
        yield ranks, ["--input", str(INPUTS / "weak-scaling.toml")]
    for ranks, threads, coordinates, fill, kernel in itertools.product(
            range(1, 9), ("1", "2"), ("none", "twist"), ("gather", "colour"), ("fused", "table")):
        yield ranks, ["--nodes", "19x23x21", "--map", coordinates, "--fill", fill, "--kernel", kernel, "--threads", threads]
    for coordinates, graph, fill, kernel in itertools.product(
            ("none", "bubble", "twist"), ("map", "gather", "sort"), ("gather", "colour"), ("fused", "table")):
        yield 1, ["--nodes", "27x21x25", "--map", coordinates, "--graph", graph, "--fill", fill, "--kernel", kernel, "--threads", "2"]
    for ranks, graph in itertools.product((1, 2, 5), ("map", "dashmap", "gather", "sort")):
        yield ranks, ["--nodes", "18", "--graph", graph, "--fill", "scatter", "--threads", "1"]
    for threads in range(1, 9):
        yield 1, ["--nodes", "24", "--threads", str(threads)]
    for ranks, storage, values, operator in itertools.product((1, 2, 4), ("crs", "pattern", "symmetric"), ("f64", "f32"), (1, 2)):
        yield ranks, ["--nodes", "37x21x25", "--format", storage, "--matrix", values, "--threads", str(operator)]
    for problem, element, ranks, operator in itertools.product(
            ("heat", "poisson", "diffusion", "elasticity"), ("hex8", "hex20", "hex27", "tet4", "tet10", "wedge6"), (1, 3),
            ("assembled", "matrix-free")):
        yield ranks, ["--problem", problem, "--element", element, "--nodes", "9x11x13", "--map", "twist:0.4", "--operator", operator, "--threads", "2"]
    for problem, element, fill, graph in itertools.product(
            ("poisson", "elasticity"), ("hex8", "hex27", "tet10"), ("gather", "colour"), ("map", "dashmap", "gather", "sort")):
        yield 2, ["--problem", problem, "--element", element, "--nodes", "9", "--fill", fill, "--graph", graph, "--threads", "1"]
    for element, storage, variant in itertools.product(
            ("hex8", "tet4"), ("crs", "pattern", "symmetric"), ("classic", "single-reduction")):
        yield 2, ["--problem", "elasticity", "--element", element, "--nodes", "13", "--format", storage, "--cg-variant", variant, "--threads", "1"]
    for jacobian, problem in itertools.product(("analytic", "ad"), ("heat", "diffusion", "elasticity")):
        yield 1, ["--problem", problem, "--element", "tet10", "--nodes", "9", "--jacobian", jacobian, "--threads", "2"]
    yield 1, ["--problem", "minife", "--nodes", "17", "--threads", "2"]


def in_fixed_order(flags):
    """The flags with `--fill gather` where the preset's `scatter` would add on several threads."""
    return flags if "--fill" in flags or flags[-2:] == ["--threads", "1"] else [*flags, "--fill", "gather"]


def main():
    old, new = sys.argv[1:3]
    if new == "--record":
        Path(sys.argv[3]).write_text(json.dumps([run(old, ranks, in_fixed_order(flags)) for ranks, flags in cases()]))
        return False
    recorded = iter(json.loads(Path(old).read_text())) if old.endswith(".json") else None
    count, different = 0, 0
    for ranks, flags in cases():
        count, flags = count + 1, in_fixed_order(flags)
        before, after = next(recorded) if recorded else run(old, ranks, flags), run(new, ranks, flags)
        before, after = (before[0], shared(before[1], after[1])), (after[0], shared(after[1], before[1]))
        if before != after:
            different += 1
            keys = [key for key in KEYS if before[1][key] != after[1][key]]
            print(f"differs: {ranks} ranks, {' '.join(flags)}: exit {before[0]} and {after[0]}, {', '.join(keys)}")
    print(f"{count} cases, {different} differ")
    return different > 0


sys.exit(main())
