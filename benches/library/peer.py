"""What the peers of library_peers.py share: the arrays of a problem, the clock, and the commands.

A peer is a process per rank: python3 PEER FOLDER PROBLEM PIPE CORE...; rank r reads commands from the pipe PIPE.r and runs on
the r-th core. A pipe blocks, so an idle peer takes no time from the others. Rank 0 answers on standard output:

    check    writes PIPE.r.npz (rows, columns, values of this rank), answers `done`
    round    answers a line `name|pattern|first|again` of ms per candidate, then `done`
"""
import os
import sys
import time

FOLDER, PROBLEM, PIPE, CORES = sys.argv[1], sys.argv[2], sys.argv[3], [int(core) for core in sys.argv[4:]]
RANK = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0))
# A peer of one process with threads has all cores.
os.sched_setaffinity(0, CORES if "OMPI_COMM_WORLD_RANK" not in os.environ else {CORES[RANK]})

import numpy as np

HEXES, DOFS = PROBLEM.endswith("hexes"), 1 if PROBLEM.startswith("poisson") else 3


def array(name, dtype):
    return np.fromfile(os.path.join(FOLDER, name), dtype=dtype)


def points():
    return array("points", "f8").reshape(-1, 3)


def table():
    return array("table", "u4").reshape(-1, 8 if HEXES else 4).astype(np.int64)


def ms(work, comm=None):
    """Milliseconds until the last rank is done, and the result."""
    if comm is not None:
        comm.Barrier()
    start = time.perf_counter()
    result = work()
    if comm is not None:
        comm.Barrier()
    return 1e3 * (time.perf_counter() - start), result


def serve(version, round, matrix, comm=None):
    """`round()` returns rows (name, pattern, first, again); `matrix()` yields (name, rows, columns, values) of this rank, in the
    numbering of the problem. `comm` has all ranks."""
    commands = open(f"{PIPE}.{RANK}")
    if RANK == 0:
        print("ready", version, flush=True)
    for command in commands:
        if command.strip() == "check":
            arrays = {}
            for at, (name, i, j, v) in enumerate(matrix()):
                arrays.update({f"name{at}": name, f"i{at}": i, f"j{at}": j, f"v{at}": v})
            np.savez(f"{PIPE}.{RANK}.npz", **arrays)
        else:
            for row in round():
                if RANK == 0:
                    print("|".join(map(str, row)), flush=True)
        if comm is not None:
            comm.Barrier()
        if RANK == 0:
            print("done", flush=True)
