#!/usr/bin/env python3
"""Times equations as text beside those of the library and scikit-fem: `python bench_text.py [ELEMENTS] [ROUNDS]`.

Each round assembles every candidate once, in turn, on one thread, into the same matrix where the candidate can; medians of CPU time are printed. Form assembles matrix
and load, scikit-fem the matrix only. The last case, quasilinear diffusion, has no name in the library. Then products without a matrix: diffusion with a coefficient per
element beside heat with one number, whose product the library integrates, beside the product with the stored matrix and an assembly.
"""

import sys
import time
from pathlib import Path

import numpy as np
import skfem
from skfem.helpers import ddot, div, dot, grad, sym_grad

import minifenl

sys.path.append(str(Path(__file__).parent / "tests"))
from meshes import cube  # noqa: E402

VTK = {(0, 0, 0): 0, (1, 0, 0): 1, (1, 1, 0): 2, (0, 1, 0): 3, (0, 0, 1): 4, (1, 0, 1): 5, (1, 1, 1): 6, (0, 1, 1): 7}
ELASTICITY = {
    "flux": {
        f"u{a}": "[" + ", ".join(f"mu * (grad_u{a}[{j}] + grad_u{b}[{i}])" + f" + lam * {trace}" * (i == j) for j, b in enumerate("xyz")) + "]"
        for trace in ["(grad_ux[0] + grad_uy[1] + grad_uz[2])"]
        for i, a in enumerate("xyz")
    },
    "lam": 1.0,
    "mu": 1.0,
}
# Name, text, and the bilinear form of scikit-fem at the state w.u.
CASES = {
    "poisson": (("poisson", {"source": 1.0}), {"flux": "grad_u", "source": "-f", "f": 1.0}, lambda u, v, w: dot(grad(u), grad(v))),
    "heat": (
        ("heat", {"conductivity": 2.0}),
        {"flux": "k * grad_u", "source": "u**2", "k": 2.0},
        lambda u, v, w: 2.0 * dot(grad(u), grad(v)) + 2.0 * w.u * u * v,
    ),
    "elasticity": (
        ("elasticity", {"lam": 1.0, "mu": 1.0}),
        ELASTICITY,
        lambda u, v, w: div(u) * div(v) + 2.0 * ddot(sym_grad(u), sym_grad(v)),
    ),
    "quasilinear": (
        None,
        {"flux": "(1 + k * u**2) * grad_u", "source": "u**3 - f", "k": 0.5, "f": 1.0},
        lambda u, v, w: dot((1 + 0.5 * w.u**2) * grad(u) + w.u * u * grad(w.u), grad(v)) + 3 * w.u**2 * u * v,
    ),
}


def peer(case, points, cells):
    """Returns scikit-fem's assembly at the state u."""
    if cells.shape[1] == 4:
        mesh, element, order = skfem.MeshTet(points.T.copy(), cells.T.copy()), skfem.ElementTetP1(), 2
    else:
        corners = [VTK[tuple(int(c) for c in corner)] for corner in skfem.refdom.RefHex.p.T]
        mesh, element, order = skfem.MeshHex(points.T.copy(), cells[:, corners].T.copy()), skfem.ElementHex1(), 3
    if case == "elasticity":
        element = skfem.ElementVector(element)
    rule = {"intorder": order}
    if cells.shape[1] == 4 and case in ("poisson", "elasticity"):
        rule = {"quadrature": (np.full((3, 1), 0.25), np.array([1 / 6]))}
    basis, form = skfem.Basis(mesh, element, **rule), skfem.BilinearForm(CASES[case][2])
    if case in ("poisson", "elasticity"):
        return lambda u: form.assemble(basis)
    return lambda u: form.assemble(basis, u=basis.interpolate(u))


def main():
    elements = int(float(sys.argv[1])) if len(sys.argv) > 1 else 200_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    for case, (named, text, _) in CASES.items():
        for element in "tet4", "hex8":
            count = elements // (8 if case == "elasticity" else 1)
            points, cells = cube(element, round((count / (6 if element == "tet4" else 1)) ** (1 / 3)), curved=True)
            mesh = minifenl.Mesh(points, cells)
            forms = {"text": minifenl.Form(mesh, threads=1, **text)}
            if named is not None:
                forms["name"] = minifenl.Form(mesh, named[0], threads=1, **named[1])
            u = 1.5 + 0.2 * np.sin(np.arange(forms["text"].shape[0]))
            outs = {name: form.assemble(u)[0] for name, form in forms.items()}
            calls = {name: lambda form=form, name=name: form.assemble(u, out=outs[name])[0] for name, form in forms.items()}
            assemble = peer(case, points, cells)
            calls["scikit-fem"] = lambda: assemble(u)
            times, matrices = {name: [] for name in calls}, {}
            for _ in range(rounds):
                for name, call in calls.items():
                    begin = time.process_time()
                    matrices[name] = call()
                    times[name].append(time.process_time() - begin)
            traces = [matrix.diagonal().sum() for matrix in matrices.values()]
            assert np.allclose(traces, traces[0], rtol=1e-10), traces
            median = {name: 1e3 * float(np.median(found)) for name, found in times.items()}
            line = ", ".join(f"{name} {found:.1f}" for name, found in median.items())
            ratios = ", ".join(f"{name} / text {found / median['text']:.2f}" for name, found in median.items() if name != "text")
            print(f"{case:12} {element} {len(cells):7}: CPU ms {line}; {ratios}", flush=True)
    products(elements, rounds)


def products(elements, rounds):
    """Times products without a matrix."""
    for element in "tet4", "hex8", "hex20":
        count = elements // (4 if element == "hex20" else 1)
        points, cells = cube(element, round((count / (6 if element == "tet4" else 1)) ** (1 / 3)), curved=True)
        mesh = minifenl.Mesh(points, cells)
        u = 1.5 + 0.2 * np.sin(np.arange(len(points)))
        x = np.cos(np.arange(len(points)))
        many = minifenl.Form(mesh, "heat", threads=1, conductivity=np.full(len(cells), 2.0))
        a, _ = many.assemble(u)
        by_elements, by_number = many.operator(u), minifenl.Form(mesh, "heat", threads=1, conductivity=2.0).operator(u)
        assert np.allclose(by_elements @ x, a @ x, atol=1e-12) and np.allclose(by_number @ x, a @ x, atol=1e-12)
        calls = {
            "per element": lambda: by_elements @ x,
            "one number": lambda: by_number @ x,
            "stored": lambda: a @ x,
            "assembly": lambda: many.assemble(u, out=a),
        }
        times = {name: [] for name in calls}
        for _ in range(rounds):
            for name, call in calls.items():
                begin = time.process_time()
                call()
                times[name].append(time.process_time() - begin)
        line = ", ".join(f"{name} {1e3 * float(np.median(found)):.1f}" for name, found in times.items())
        print(f"products of heat on {len(cells)} {element}: CPU ms {line}", flush=True)


main()
