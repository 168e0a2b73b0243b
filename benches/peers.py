#!/usr/bin/env python3
"""Runs minifenl beside miniFE (ref) and Kokkos FENL, interleaved, and prints medians per node, with smallest and largest.

A shared machine changes its speed from minute to minute, so each round runs every candidate once and only ratios within
a round mean much; triad is measured in every minifenl run. Any candidate may be left out.

    python3 benches/peers.py --minife miniFE.x --fenl KokkosFENL.x --nodes 100 --rounds 5 --threads 1 2
    python3 benches/peers.py --minife miniFE.x --fenl KokkosFENL.x --only-cg      storages of the matrix, fewer fills

minifenl runs with --preset fast, and multiplies in CRS, as the peers do, unless a candidate names another storage.

miniFE: github.com/Mantevo/miniFE, ref/src, g++ -O3 -march=native, run on as many ranks as threads.
FENL: github.com/kokkos/kokkos tag 2.9.00, example/fenl, OpenMP, -O3 -march=native, run on threads.
"""
import argparse, json, os, re, statistics, subprocess, sys, tempfile, time

ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
           OMPI_MCA_rmaps_base_oversubscribe="1", OMP_PROC_BIND="spread", OMP_PLACES="threads")
ROWS = ["graph us", "fill us", "boundary us", "spmv ns", "cg ns", "peak B", "triad GB/s"]


def count(n, one):
    return f"{n} {one}" if n == 1 else f"{n} {one}s"


def named(words, n):
    return words.format(thread=count(n, "thread"), rank=count(n, "rank"))


def mpirun(ranks, *command):
    return ["mpirun", "--bind-to", "none", "-n", str(ranks), *command]


def output(command, folder, **env):
    run = subprocess.run(command, cwd=folder, env=dict(ENV, **env), capture_output=True, text=True, timeout=600)
    if run.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {run.returncode}\n{run.stderr}")
    return run.stdout


def minifenl(program, nodes, ranks, threads, fill, folder, extra=()):
    command = [program, "--nodes", str(nodes), "--threads", str(threads), "--preset", "fast", "--fill", fill, "--triad",
               "--report", "report.json", *(extra if "--format" in extra else ["--format", "crs", *extra])]
    output(mpirun(ranks, *command) if ranks > 1 else command, folder)
    report = json.load(open(os.path.join(folder, "report.json")))
    phase = {p["name"]: p["us_per_node"] for p in report["phases"]}
    return {"graph us": phase["graph"], "fill us": phase["fill"], "boundary us": phase["boundary"],
            "spmv ns": 1e3 * phase["spmv"], "cg ns": 1e3 * phase["cg"], "peak B": report["peak_bytes_per_node"],
            "triad GB/s": report["triad_gb_per_s"]}


def minife(program, nodes, ranks, folder):
    text = output(mpirun(ranks, program, f"nx={nodes - 1}"), folder)
    report = [f for f in os.listdir(folder) if f.endswith(".yaml")][0]
    yaml = open(os.path.join(folder, report)).read()
    os.remove(os.path.join(folder, report))
    number = lambda key: float(re.search(rf"{key}: *([0-9.eE+-]+)", yaml).group(1))
    count, iterations = nodes ** 3, number("Iterations")
    boundary = sum(float(s) for s in re.findall(r"imposing Dirichlet BC.*?\.\.\.([0-9.eE+-]+)s", text))
    return {"graph us": 1e6 * number("Mat-struc-gen Time") / count, "fill us": 1e6 * number("FE assembly Time") / count,
            "boundary us": 1e6 * boundary / count,
            "spmv ns": 1e9 * number("MATVEC Time") / (iterations + 1) / count,
            "cg ns": 1e9 * number("Time per iteration") / count}


def fenl(program, nodes, threads, fill, folder):
    words = ["fixture", "x".join([str(nodes - 1)] * 3)] + (["atomic"] if fill == "scatter" else [])
    last = output([program, *words], folder, OMP_NUM_THREADS=str(threads)).strip().splitlines()[-1]
    column = [float(cell) for cell in last.split(",") if cell.strip()]
    return {"graph us": 1e3 * sum(column[5:11]), "fill us": 1e3 * column[11], "boundary us": 1e3 * column[12],
            "spmv ns": 1e6 * column[13], "cg ns": 1e6 * column[14]}


def cell(values):
    """The median, with the spread of several rounds."""
    if not values:
        return "-"
    spread = f" [{min(values):.3g} to {max(values):.3g}]" if len(values) > 1 else ""
    return f"{statistics.median(values):.3g}{spread}"


def ratios(found, threads):
    """Peer over ours, from the quotients of each round: (words, row, ours, peer, whether both run the same algorithm)."""
    fenl, theirs = "Kokkos FENL scatter, {thread}", "miniFE ref, {rank}"
    ours, ranks = "minifenl scatter, {thread}", "minifenl scatter, {rank}"
    pairs = [("graph by a map of node pairs", "graph us", "minifenl scatter, map graph, 1 thread", named(fenl, 1), "yes")]
    for t in threads:
        pairs += [
            ("graph, preset fast (gather)", "graph us", "minifenl colour, {thread}", fenl, "no: gather against map"),
            ("fill by scatter-add, residual and Jacobian", "fill us", ours, fenl, "yes"),
            ("fill by gather-sum, residual and Jacobian", "fill us", "minifenl gather, {thread}", "Kokkos FENL gather, {thread}", "yes"),
            ("fill, preset fast (colour)", "fill us", "minifenl colour, {thread}", fenl, "no: colour against scatter-add"),
            ("SpMV", "spmv ns", ours, fenl, "yes"),
            ("CG iteration", "cg ns", ours, fenl, "yes"),
        ]
        mine = ranks if t > 1 else ours
        for unit in ["{thread}"] + ["{rank}"] * (t > 1):
            for values, words in [("f64", "symmetric halves"), ("f32", "symmetric halves in f32")]:
                stored = f"minifenl symmetric {values}, {unit}"
                pairs += [("CG iteration", "cg ns", stored, peer, f"no: {words} against CRS") for peer in (fenl, theirs)]
        pairs += [
            ("graph, preset fast (gather)", "graph us", mine, theirs, "no: gather against sorted rows"),
            ("fill", "fill us", mine, theirs, "no: theirs is linear"),
            ("SpMV", "spmv ns", mine, theirs, "yes"),
            ("CG iteration", "cg ns", mine, theirs, "yes"),
        ]
        pairs = [(words, row, named(a, t), named(b, t), same) for words, row, a, b, same in pairs]
    for words, row, mine, peer, same in pairs:
        if found.get(mine) and found.get(peer):
            quotients = [theirs[row] / ours[row] for ours, theirs in zip(found[mine], found[peer])]
            yield f"| {words} | {mine} | {peer} | {same} | {cell(quotients)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minifenl", default="target/release/minifenl")
    parser.add_argument("--minife")
    parser.add_argument("--fenl")
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only-cg", action="store_true", help="storages of the matrix, with the peers' scatter-add only")
    args = parser.parse_args()
    ours, theirs, original = (os.path.abspath(p) if p else None for p in (args.minifenl, args.minife, args.fenl))
    candidates = {}
    for t in args.threads:
        for values in ("f64", "f32"):
            storage = ["--format", "symmetric", "--matrix", values]
            candidates[f"minifenl symmetric {values}, {count(t, 'thread')}"] = lambda d, t=t, s=storage: minifenl(ours, args.nodes, 1, t, "colour", d, s)
            if t > 1:
                candidates[f"minifenl symmetric {values}, {count(t, 'rank')}"] = lambda d, t=t, s=storage: minifenl(ours, args.nodes, t, 1, "colour", d, s)
        for fill in ("scatter",) if args.only_cg else ("scatter", "gather", "colour"):
            candidates[f"minifenl {fill}, {count(t, 'thread')}"] = lambda d, t=t, f=fill: minifenl(ours, args.nodes, 1, t, f, d)
        if t > 1:
            candidates[f"minifenl scatter, {count(t, 'rank')}"] = lambda d, t=t: minifenl(ours, args.nodes, t, 1, "scatter", d)
        if theirs:
            candidates[f"miniFE ref, {count(t, 'rank')}"] = lambda d, t=t: minife(theirs, args.nodes, t, d)
        if original:
            for fill in ("scatter",) if args.only_cg else ("scatter", "gather"):
                candidates[f"Kokkos FENL {fill}, {count(t, 'thread')}"] = lambda d, t=t, f=fill: fenl(original, args.nodes, t, f, d)
    if not args.only_cg:
        candidates["minifenl scatter, map graph, 1 thread"] = lambda d: minifenl(
            ours, args.nodes, 1, 1, "scatter", d, ["--graph", "map"])
    found = {name: [] for name in candidates}
    for round in range(args.rounds):
        for name, run in candidates.items():
            start = time.time()
            with tempfile.TemporaryDirectory() as folder:
                found[name].append(run(folder))
            print(f"round {round + 1} of {args.rounds}, {name}: {time.time() - start:.0f} s", file=sys.stderr)
    print(f"{args.nodes}^3 nodes, {args.rounds} interleaved rounds: median [smallest to largest] per node; spmv, cg: and per iteration\n")
    print("| candidate | " + " | ".join(ROWS) + " |\n|---|" + "---|" * len(ROWS))
    for name, rounds in found.items():
        print(f"| {name} | " + " | ".join(cell([r[row] for r in rounds if row in r]) for row in ROWS) + " |", flush=True)
    print("\n| what | ours | peer | same algorithm | peer / ours |\n|---|---|---|---|---|")
    print("\n".join(ratios(found, args.threads)))


if __name__ == "__main__":
    main()
