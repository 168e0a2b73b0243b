#!/usr/bin/env python3
"""Solves one system with minifenl, PETSc's GAMG, hypre's BoomerAMG (by PETSc) and PyAMG, interleaved.

    apt-get install python3-petsc4py
    make python
    python3 -m venv target/tools/peers && target/tools/peers/bin/pip install numpy scipy pyamg target/wheels/*.whl
    cargo build --release --no-default-features --features cli
    target/tools/peers/bin/python benches/solver_peers.py > solver_peers.md          about 15 minutes on 2 cores

-laplace(u) = 1 on the unit cube, u = 0 on its faces, trilinear hexahedra: 27 entries per row, rows of fixed nodes left out. Every
candidate solves by CG to ||b - A x|| <= 1e-8 ||b||, preconditioned by multigrid with its own defaults (BoomerAMG: strong threshold 0.5, as its
manual advises in 3D), and is timed from the matrix in its own format to the solution; the true residual is computed by this script or by
PETSc. A round runs every candidate once, in a process of its own. The last row is minifenl's program, which knows
the box: geometric multigrid for the same equation with another right-hand side, all from mesh to verdict.

With --hpcg PATH the matrix is that of the benchmark HPCG (26 on the diagonal, -1 for the 26 neighbours, b = A 1), and its reference, a program
`xhpcg` built from https://github.com/hpcg-benchmark/hpcg, is a candidate: CG with a geometric cycle of symmetric Gauss-Seidel sweeps, 50
iterations. The others solve to the residual that these reach. Points along an edge (cells - 1) are a multiple of 16.
"""
import argparse
import datetime
import glob
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PETSC = "/usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-real/lib/python3/dist-packages"


def rows(cells, begin, end, of_hpcg):
    """Row offsets, columns and values of these rows of the matrix of a cube of cells^3 elements, or of HPCG's."""
    inner, h = cells - 1, 1.0 / cells
    stiffness, mass = {0: 2 / h, 1: -1 / h}, {0: 4 * h / 6, 1: h / 6}
    row = np.arange(begin, end, dtype=np.int64)
    place = np.stack([row % inner, row // inner % inner, row // inner ** 2])
    columns = np.empty((len(row), 27), dtype=np.int64)
    values = np.zeros((len(row), 27))
    is_inside = np.zeros((len(row), 27), dtype=bool)
    offsets = [(dx, dy, dz) for dz in (-1, 0, 1) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
    for slot, offset in enumerate(offsets):
        factors = [abs(d) for d in offset]
        values[:, slot] = sum(
            np.prod([(stiffness if axis == other else mass)[d] for other, d in enumerate(factors)]) for axis in range(3)
        ) if not of_hpcg else -1.0 if any(offset) else 26.0
        at = place + np.array(offset)[:, None]
        is_inside[:, slot] = ((at >= 0) & (at < inner)).all(axis=0)
        columns[:, slot] = at[0] + inner * (at[1] + inner * at[2])
    starts = np.concatenate([[0], np.cumsum(is_inside.sum(axis=1))])
    return starts, columns[is_inside], values[is_inside]


def by_petsc(cells, kind, of_hpcg, tolerance):
    """A rank of PETSc; the first one prints seconds, iterations and residual."""
    sys.path.insert(0, PETSC)
    import petsc4py

    petsc4py.init(["peer", "-pc_hypre_boomeramg_strong_threshold", "0.5"])
    from petsc4py import PETSc

    comm, count = PETSc.COMM_WORLD, (cells - 1) ** 3
    begin, end = [count * rank // comm.size for rank in (comm.rank, comm.rank + 1)]
    starts, columns, values = rows(cells, begin, end, of_hpcg)
    csr = (starts.astype(PETSc.IntType), columns.astype(PETSc.IntType), values)
    matrix = PETSc.Mat().createAIJ(size=((end - begin, count), (end - begin, count)), csr=csr, comm=comm)
    matrix.assemble()
    matrix.setOption(PETSc.Mat.Option.SPD, True)
    b, x = matrix.createVecRight(), matrix.createVecRight()
    b.set(cells ** -3.0)
    if of_hpcg:
        x.set(1.0)
        matrix.mult(x, b)
        x.set(0.0)
    comm.barrier()
    start = time.perf_counter()
    solver = PETSc.KSP().create(comm)
    solver.setOperators(matrix)
    solver.setType("cg")
    solver.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
    solver.setTolerances(rtol=tolerance, atol=0.0, max_it=1000)
    solver.getPC().setType(kind)
    solver.setFromOptions()
    solver.setUp()
    comm.barrier()
    middle = time.perf_counter()
    solver.solve(b, x)
    comm.barrier()
    end_of = time.perf_counter()
    r = b.duplicate()
    matrix.mult(x, r)
    r.aypx(-1.0, b)
    if comm.rank == 0:
        major, minor, patch = PETSc.Sys.getVersion()
        told(f"PETSc {major}.{minor}.{patch}", [middle - start, end_of - middle], solver.getIterationNumber(), r.norm() / b.norm())
    else:
        r.norm(), b.norm()


def told(version, seconds, iterations, residual):
    print(json.dumps({"version": version, "seconds": seconds, "iterations": iterations, "residual": residual}), flush=True)


def by_python(cells, kind, threads, of_hpcg, tolerance):
    from scipy.sparse import csr_matrix

    starts, columns, values = rows(cells, 0, (cells - 1) ** 3, of_hpcg)
    a = csr_matrix((values, columns.astype(np.int32), starts.astype(np.int32)))
    b = a @ np.ones(a.shape[0]) if of_hpcg else np.full(a.shape[0], cells ** -3.0)
    if kind == "pyamg":
        import pyamg

        start = time.perf_counter()
        levels = pyamg.smoothed_aggregation_solver(a, symmetry="symmetric")
        middle, norms = time.perf_counter(), []
        x = levels.solve(b, tol=tolerance, accel="cg", maxiter=1000, residuals=norms)
        seconds, iterations, version = [middle - start, time.perf_counter() - middle], len(norms) - 1, f"PyAMG {pyamg.__version__}"
    else:
        import minifenl

        start = time.perf_counter()
        x, iterations, _ = minifenl.solve(a, b, rtol=tolerance, preconditioner="amg", threads=threads)
        seconds, version = [time.perf_counter() - start], "minifenl"
    told(version, seconds, iterations, np.linalg.norm(b - a @ x) / np.linalg.norm(b))


def by_program(program, cells, ranks):
    path = os.path.join(ROOT, "target", "solver_peers.json")
    run = [program, "--problem", "poisson", "--preset", "fast", "--preconditioner", "mg", "--nodes", str(cells + 1), "--device", "cpu"]
    run += ["--threads", str(ranks), "--no-triad", "--quiet", "--report", path]
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    with open(path) as file:
        report = json.load(file)
    residual = report["history"][0]["true_residual"] / report["history"][0]["residual"]
    return {"version": "minifenl", "seconds": [report["total_seconds"]], "iterations": report["cg_iterations"], "residual": residual}


def by_hpcg(path, cells, cores, env):
    """HPCG's reference on a cube, divided among the ranks along x; its figures stand in the report that it writes."""
    points = cells - 1
    if points % 16:
        sys.exit(f"--cells {cells} --hpcg: {points} points along an edge, expected a multiple of 16")
    with tempfile.TemporaryDirectory() as folder:
        words = ["mpirun", "-n", str(cores), "--oversubscribe", os.path.abspath(path), f"--nx={points // cores}", f"--ny={points}"]
        subprocess.run(words + [f"--nz={points}", "--rt=0"], check=True, env=env, cwd=folder, stdout=subprocess.DEVNULL)
        with open(glob.glob(os.path.join(folder, "HPCG-Benchmark*.txt"))[0]) as file:
            said = dict(line.rstrip().rsplit("=", 1) for line in file if "=" in line)
    sets = int(said["Iteration Count Information::Total number of optimized iterations"]) // 50
    seconds = [float(said["Setup Information::Setup Time"]), float(said["Benchmark Time Summary::Total"]) / sets]
    return {"version": "HPCG 3.1", "seconds": seconds, "iterations": 50,
            "residual": float(said["Reproducibility Information::Scaled residual mean"])}


def measured(name, cells, cores, args):
    kind, *_ = name.split(" ")
    if kind == "program":
        return by_program(args.program, cells, cores)
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    if kind == "hpcg":
        return by_hpcg(args.hpcg, cells, cores, env)
    words = [os.path.abspath(__file__), "--worker", kind, "--cells", str(cells), "--cores", str(cores)]
    words += ["--tolerance", repr(args.tolerance)] + ["--hpcg", args.hpcg] * bool(args.hpcg)
    python = sys.executable
    if kind in ("gamg", "hypre"):
        python = "/usr/bin/python3"
        words = ["-n", str(cores), "--oversubscribe", python] + words
        python = "mpirun"
    run = subprocess.run([python] + words, env=env, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{name}: {run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", default="65,99", help="cells along an edge, several with commas")
    parser.add_argument("--cores", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--program", default=os.path.join(ROOT, "target", "release", "minifenl"))
    parser.add_argument("--hpcg", metavar="PATH", help="HPCG's program, whose matrix all candidates take")
    parser.add_argument("--tolerance", type=float, default=1e-8, help=argparse.SUPPRESS)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    system = (bool(args.hpcg), args.tolerance)
    if args.worker in ("gamg", "hypre"):
        return by_petsc(int(args.cells), args.worker, *system)
    if args.worker:
        return by_python(int(args.cells), args.worker, int(args.cores), *system)
    print(f"{datetime.date.today()}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores. Medians of {args.rounds} rounds, "
          "seconds; ratio: total over minifenl's amg on as many cores, median of the rounds' ratios.\n")
    print("| unknowns | cores | solver | set-up | solve | total | ratio | iterations | ||b - A x|| / ||b|| |\n|---|---|---|---|---|---|---|---|---|")
    for cells in map(int, args.cells.split(",")):
        for cores in map(int, args.cores.split(",")):
            names = ["minifenl amg", "gamg", "hypre"] + ["pyamg"] * (cores == 1)
            # HPCG is the first, since its residual is the tolerance of the others; the program has no matrix of this kind.
            names = ["hpcg"] + names if args.hpcg else names + ["program mg"]
            rounds = {name: [] for name in names}
            for _ in range(args.rounds):
                for name in names:
                    rounds[name].append(measured(name, cells, cores, args))
                    if name == "hpcg":
                        args.tolerance = rounds[name][-1]["residual"]
                    print(name, cells, cores, rounds[name][-1], file=sys.stderr)
            base = [sum(run["seconds"]) for run in rounds["minifenl amg"]]
            for name, runs in rounds.items():
                last = runs[-1]
                if not all(run["residual"] <= 2 * args.tolerance for run in runs):
                    sys.exit(f"{name}: residuals {[run['residual'] for run in runs]}")
                parts = [statistics.median(run["seconds"][part] for run in runs) for part in range(len(last["seconds"]))]
                parts = [f"{part:.2f}" for part in parts] if len(parts) == 2 else ["", ""]
                total = [sum(run["seconds"]) for run in runs]
                ratio = statistics.median(t / b for t, b in zip(total, base))
                label = {"gamg": f"GAMG, {last['version']}", "hypre": f"BoomerAMG, {last['version']}", "pyamg": last["version"],
                         "minifenl amg": "minifenl, `amg`", "program mg": "minifenl's program, `mg`", "hpcg": "HPCG's reference, 3.1"}[name]
                print(f"| {(cells - 1) ** 3:,} | {cores} | {label} | {parts[0]} | {parts[1]} | {statistics.median(total):.2f} | {ratio:.2f} "
                      f"| {last['iterations']} | {last['residual']:.1e} |", flush=True)


if __name__ == "__main__":
    main()
