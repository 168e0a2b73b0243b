#!/usr/bin/env python3
"""Times Form beside scikit-fem's assembly of the same matrix: `python bench_form.py [ELEMENTS] [ROUNDS]`.

Both integrate with the same number of points; scikit-fem also with the one point that is exact on linear tetrahedra. It assembles the matrix only, Form matrix and
load. Each round times all of them in turn; medians are printed. "again": Basis or Form is kept. CPU time is that of all threads of "again", which other programs
on the machine change least.
"""

import platform
import sys
import time
from pathlib import Path

import numpy as np
import scipy
import skfem
from skfem.helpers import ddot, div, dot, grad, sym_grad

import minifenl

sys.path.append(str(Path(__file__).parent / "tests"))
from meshes import cube  # noqa: E402

# Corners of the reference hexahedron of scikit-fem as numbers of nodes in the order of VTK.
VTK = {(0, 0, 0): 0, (1, 0, 0): 1, (1, 1, 0): 2, (0, 1, 0): 3, (0, 0, 1): 4, (1, 0, 1): 5, (1, 1, 1): 6, (0, 1, 1): 7}


def poisson(u, v, w):
    return dot(grad(u), grad(v))


def elasticity(u, v, w):
    return div(u) * div(v) + 2.0 * ddot(sym_grad(u), sym_grad(v))


def peer(equation, points, cells):
    """Returns functions that make a basis and that assemble on it, by name."""
    if cells.shape[1] == 4:
        mesh, element = skfem.MeshTet(points.T.copy(), cells.T.copy()), skfem.ElementTetP1()
        rules = {"4 points": {"intorder": 2}, "1 point": {"quadrature": (np.full((3, 1), 0.25), np.array([1 / 6]))}}
    else:
        order = [VTK[tuple(int(c) for c in corner)] for corner in skfem.refdom.RefHex.p.T]
        mesh, element = skfem.MeshHex(points.T.copy(), cells[:, order].T.copy()), skfem.ElementHex1()
        rules = {"8 points": {"intorder": 3}}
    if equation == "elasticity":
        element = skfem.ElementVector(element)
    for points, rule in rules.items():
        for threads in 1, 2:
            form = skfem.BilinearForm({"poisson": poisson, "elasticity": elasticity}[equation], nthreads=threads if threads > 1 else 0)
            yield f"scikit-fem, {points}, {threads} threads", lambda rule=rule: skfem.Basis(mesh, element, **rule), form.assemble


def ours(equation, points, cells):
    mesh, coefficients = minifenl.Mesh(points, cells), {"lam": 1.0, "mu": 1.0} if equation == "elasticity" else {"source": 1.0}
    for threads in 1, 2:
        again = {}

        def assemble(form, again=again):
            again["out"] = form.assemble(out=again.get("out") if again.get("form") is form else None)[0]
            again["form"] = form
            return again["out"]

        yield f"Form, {threads} threads", lambda threads=threads: minifenl.Form(mesh, equation, threads=threads, **coefficients), assemble


def seconds(call, *args):
    """Returns wall time, CPU time and the result of a call."""
    begin, used = time.perf_counter(), time.process_time()
    result = call(*args)
    return time.perf_counter() - begin, time.process_time() - used, result


def main():
    elements = int(float(sys.argv[1])) if len(sys.argv) > 1 else 200_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, scikit-fem {skfem.__version__}")
    for equation, element in [("poisson", "tet4"), ("poisson", "hex8"), ("elasticity", "tet4"), ("elasticity", "hex8")]:
        count = elements // (1 if equation == "poisson" else 8)
        points, cells = cube(element, round((count / (6 if element == "tet4" else 1)) ** (1 / 3)), curved=True)
        calls = [*peer(equation, points, cells), *ours(equation, points, cells)]
        times, matrices = {name: [] for name, *_ in calls}, {}
        for _ in range(rounds):
            for name, make, assemble in calls:
                made, _, plan = seconds(make)
                first, _, matrix = seconds(assemble, plan)
                again, used, matrix = seconds(assemble, plan)
                times[name].append((made + first, again, used))
                matrices[name] = matrix.diagonal().sum()
                del plan, matrix
        traces = list(matrices.values())
        assert np.allclose(traces, traces[0], rtol=1e-10), matrices
        print(f"{equation} on {len(cells)} {element}, {len(points)} nodes; ms")
        best = np.inf
        for name, found in times.items():
            median = np.median(found, axis=0)
            first, again, used = 1e3 * median
            print(f"  {name:36} first {first:9.1f}  again {again:9.1f}  CPU {used:9.1f}", end="")
            if name.startswith("Form"):
                print("  the best of scikit-fem takes {:.1f}, {:.1f} and {:.1f} times as long".format(*best / median))
            else:
                best = np.minimum(best, median)
                print()


main()
