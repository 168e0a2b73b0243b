#!/usr/bin/env python3
"""Times CooPlan and Fill beside scipy.sparse and scikit-fem on the element matrices of a cube: `python bench.py [ELEMENTS] [ROUNDS]`.

ELEMENTS, 1e6 if not given, counts the tetrahedra; hexahedra are a fifth. Each round times all calls in turn; medians are printed. scikit-fem's time is that of
its sum of element matrices that are computed already, with index pairs and values in the order that it makes.
"""

import platform
import sys
import time
from pathlib import Path

import numpy as np
import scipy
import skfem
from scipy.sparse import coo_matrix
from skfem.assembly.form.coo_data import COOData

import minifenl

sys.path.append(str(Path(__file__).parent / "tests"))
from meshes import cube  # noqa: E402

STRATEGIES = ["gather", "colour"]


def peers(cells, v, shape):
    """SciPy and scikit-fem, by name."""
    i, j = np.repeat(cells, cells.shape[1], axis=1).ravel(), np.tile(cells, (1, cells.shape[1])).ravel()
    # The first entries of all elements, then the second ones.
    by_entry = [np.ascontiguousarray(array.reshape(len(cells), -1).T).ravel() for array in (i, j, v)]
    local = COOData(np.stack(by_entry[:2]), by_entry[2], shape, cells.shape[1:] * 2)
    return {"scipy tocsr": lambda: coo_matrix((v.ravel(), (i, j)), shape).tocsr(), "scikit-fem tocsr": local.tocsr}, (i, j)


def ours(cells, pairs, v, shape, threads):
    """Plans with their first sums, and sums, by name."""
    plan, graph = minifenl.CooPlan(*pairs, shape, threads=threads), minifenl.Graph(cells, shape[0], threads=threads)
    flat = v.ravel()
    out = plan.csr(flat)
    work = {
        "CooPlan and first csr": lambda: minifenl.CooPlan(*pairs, shape, threads=threads).csr(flat),
        "CooPlan.from_elements and first csr": lambda: minifenl.CooPlan.from_elements(cells, shape=shape, threads=threads).csr(v),
        "CooPlan.csr": lambda: plan.csr(flat),
        "CooPlan.csr(out)": lambda: plan.csr(flat, out=out),
        "Graph, Fill and first csr": lambda: minifenl.Fill(minifenl.Graph(cells, shape[0], threads=threads), threads=threads).csr(v),
    }
    for strategy in STRATEGIES:
        fill, to = minifenl.Fill(graph, strategy, threads=threads), graph.csr()
        work[f"Fill({strategy}).csr(out)"] = lambda fill=fill, to=to: fill.csr(v, out=to)
    return {f"{name}, {threads} threads": call for name, call in work.items()}


def report(element, elements, rounds):
    cells = cube(element, round((elements / (6 if element == "tet4" else 1)) ** (1 / 3)))[1].astype(np.int32)
    nodes, k = cells.max() + 1, cells.shape[1]
    v, shape = np.random.default_rng(0).standard_normal((len(cells), k, k)), (nodes, nodes)
    work, pairs = peers(cells, v, shape)
    for threads in (1, 2):
        work |= ours(cells, pairs, v, shape, threads)
    print(f"{len(cells)} {element}, {v.size} values, {nodes} rows")
    expected = work["scipy tocsr"]()
    for name, call in work.items():
        assert abs(call() - expected).max() < 1e-10, name
    seconds = {name: [] for name in work}
    for _ in range(rounds):
        for name, call in work.items():
            begin = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - begin)
    median = {name: float(np.median(all)) for name, all in seconds.items()}
    for name, found in median.items():
        print(f"  {name:46} {1e3 * found:9.1f} ms  {found / median['scipy tocsr']:6.3f} of SciPy")


def main():
    elements = float(sys.argv[1]) if len(sys.argv) > 1 else 1e6
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, scikit-fem {skfem.__version__}")
    report("tet4", elements, rounds)
    report("hex8", elements / 5, rounds)
    small, graph = minifenl.CooPlan([0], [0], threads=1), minifenl.Graph([[0]], threads=1)
    fill, one = minifenl.Fill(graph, threads=1), np.ones(1)
    for name, sums, out in [("CooPlan", small, small.csr(one)), ("Fill", fill, graph.csr())]:
        begin = time.perf_counter()
        for _ in range(10000):
            sums.csr(one, out=out)
        print(f"{name + ': one value into out':48} {1e2 * (time.perf_counter() - begin):9.1f} us a call")


main()
