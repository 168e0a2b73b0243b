#!/usr/bin/env python3
"""Times CooPlan beside scipy.sparse on the element matrices of tetrahedra: `python bench.py [MILLIONS OF VALUES] [ROUNDS]`.

Each round times all of them in turn; medians are printed.
"""

import platform
import sys
import time

import numpy as np
import scipy
from scipy.sparse import coo_matrix

import minifenl


def tetrahedra(cells):
    """Six tetrahedra in each cube of a grid: the paths along its edges from the lowest corner to the highest."""
    edge = cells + 1
    corner = np.arange(cells)
    corner = (corner[:, None, None] * edge + corner[:, None]) * edge + corner
    steps = np.array([1, edge, edge * edge])
    paths = np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
    offsets = np.concatenate([np.zeros((6, 1), int), np.cumsum(steps[paths], axis=1)], axis=1)
    return (corner.reshape(-1, 1, 1) + offsets).reshape(-1, 4).astype(np.int32), edge**3


def main():
    values = float(sys.argv[1]) if len(sys.argv) > 1 else 16
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    cells, nodes = tetrahedra(round((values * 1e6 / 96) ** (1 / 3)))
    i, j = np.repeat(cells, 4, axis=1).ravel(), np.tile(cells, (1, 4)).ravel()
    v = np.random.default_rng(0).standard_normal(i.size)
    shape = (nodes, nodes)
    print(f"{i.size} values, {nodes} rows; Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}")
    plans = {f"{threads} threads": minifenl.CooPlan(i, j, shape, threads=threads) for threads in (1, 2)}
    outs = {name: plan.csr(v) for name, plan in plans.items()}
    expected = coo_matrix((v, (i, j)), shape).tocsr()
    assert abs(outs["1 threads"] - expected).max() < 1e-10
    work = {"scipy tocsr": lambda: coo_matrix((v, (i, j)), shape).tocsr()}
    for threads in (1, 2):
        name = f"{threads} threads"
        work |= {
            f"plan and first sum, {name}": lambda threads=threads: minifenl.CooPlan(i, j, shape, threads=threads).csr(v),
            f"from_elements and first sum, {name}": lambda threads=threads: minifenl.CooPlan.from_elements(
                cells, shape=shape, threads=threads
            ).csr(v),
            f"csr, {name}": lambda name=name: plans[name].csr(v),
            f"csr into out, {name}": lambda name=name: plans[name].csr(v, out=outs[name]),
        }
    seconds = {name: [] for name in work}
    for _ in range(rounds):
        for name, call in work.items():
            begin = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - begin)
    median = {name: float(np.median(all)) for name, all in seconds.items()}
    for name, found in median.items():
        print(f"{name:40} {1e3 * found:9.1f} ms  {found / median['scipy tocsr']:6.3f} of SciPy")
    small = minifenl.CooPlan([0], [0], threads=1)
    one, out = np.ones(1), small.csr([1.0])
    begin = time.perf_counter()
    for _ in range(10000):
        small.csr(one, out=out)
    print(f"{'one value into out':40} {1e2 * (time.perf_counter() - begin):9.1f} us a call")


main()
