#!/usr/bin/env python3
"""Checks and times sums on a GPU beside CuPy's conversion of the same values: `python bench_gpu.py [TETRAHEDRA] [ROUNDS]`.

CuPy sorts the pairs in each call, CooPlan(..., device="cuda") has done so before. Sums are compared with those of the host bit by bit.
Each round times all candidates in turn; each call ends with a wait for the GPU; medians are printed.
"""

import platform
import sys
import time
from pathlib import Path

import cupy
import numpy as np
import scipy
from cupyx.scipy.sparse import coo_matrix

import minifenl

sys.path.append(str(Path(__file__).parent / "tests"))
from meshes import cube  # noqa: E402


def milliseconds(call):
    cupy.cuda.Device().synchronize()
    begin = time.perf_counter()
    result = call()
    cupy.cuda.Device().synchronize()
    return 1e3 * (time.perf_counter() - begin), result


def main():
    elements = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 21
    gpu = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"{gpu}; Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, CuPy {cupy.__version__}")
    points, cells = cube("tet4", round((elements / 6) ** (1 / 3)))
    cells = np.ascontiguousarray(cells, np.int32)
    values = np.random.default_rng(0).standard_normal((len(cells), 4, 4))
    n = len(points)
    host = minifenl.CooPlan.from_elements(cells, shape=(n, n)).csr(values)
    on_gpu, table = cupy.asarray(values), cupy.asarray(cells)
    i, j = cupy.repeat(table, 4, axis=1).ravel(), cupy.tile(table, (1, 4)).ravel()
    flat = on_gpu.ravel()
    print(f"{len(cells)} tetrahedra, {n} nodes, {values.size} values, {host.nnz} entries; ms")

    make = {
        "pairs": lambda: minifenl.CooPlan(i, j, (n, n), device="cuda"),
        "elements": lambda: minifenl.CooPlan.from_elements(table, shape=(n, n), device="cuda"),
    }
    # The first use compiles the kernels, or loads them from the cache on disk.
    first = {name: milliseconds(call)[0] for name, call in make.items()}
    plans = {name: call() for name, call in make.items()}
    outs = {name: plan.csr(on_gpu if name == "elements" else flat) for name, plan in plans.items()}
    for name, out in outs.items():
        found = out.get()
        assert (found.indptr == host.indptr).all() and (found.indices == host.indices).all(), name
        assert (found.data == host.data).all(), f"{name}: other bits than the host"
        print(f"  {name}: the bits of the host; first plan {first[name]:.1f}, {plans[name].nbytes / 2**20:.0f} MiB")
    calls = {
        "cupyx coo_matrix(...).tocsr()": lambda: coo_matrix((flat, (i, j)), (n, n)).tocsr(),
        "CooPlan(i, j)": make["pairs"],
        "CooPlan.from_elements(cells)": make["elements"],
        "plan.csr(values)": lambda: plans["pairs"].csr(flat),
        "plan.csr(values, out)": lambda: plans["pairs"].csr(flat, out=outs["pairs"]),
        "plan of elements, csr(values, out)": lambda: plans["elements"].csr(on_gpu, out=outs["elements"]),
    }
    found = calls["cupyx coo_matrix(...).tocsr()"]()
    found.sum_duplicates()
    assert found.nnz == host.nnz and cupy.abs(found.data - outs["pairs"].data).max() < 1e-12
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(milliseconds(call)[0])
    peer = np.median(times["cupyx coo_matrix(...).tocsr()"])
    for name, found in times.items():
        low, median, high = np.percentile(found, [25, 50, 75])
        print(f"  {name:36} {median:9.3f}  (quartiles {low:.3f} to {high:.3f})  CuPy takes {peer / median:.1f} times as long")

    small, out = minifenl.CooPlan([0], [0], device="cuda"), None
    one, count = cupy.ones(1), 2000
    out = small.csr(one)
    spent, _ = milliseconds(lambda: [small.csr(one, out=out) for _ in range(count)])
    print(f"  a call without work: {1e3 * spent / count:.1f} us")
    try:
        import torch
    except ImportError:
        print("  no PyTorch")
        return
    data, indices, indptr = plans["pairs"].csr_arrays(torch.as_tensor(flat, device="cuda"))
    matrix = torch.sparse_csr_tensor(*(torch.as_tensor(array, device="cuda") for array in (indptr, indices, data)), size=(n, n))
    assert (matrix.values().cpu().numpy() == host.data).all()
    print(f"  PyTorch {torch.__version__}: the bits of the host")


main()
