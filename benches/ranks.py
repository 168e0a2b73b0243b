#!/usr/bin/env python3
"""Finds out why products of ranks with equally many rows take different times on a host.

    python3 benches/ranks.py --minifenl target/release/minifenl --nodes 64 --ranks 1 4 16 32 --rounds 3 -- --preset fast

Five measurements, interleaved, with a box of N^3 nodes per rank and a thread per rank; times are medians over the rounds:

alone    p runs of 1 rank at the same time, each pinned to a core: no messages, no partition, no waiting
spread   p ranks of one run, dealt out over the NUMA domains and bound to cores (as minifenl-scaling does if each domain gets equally many)
eager    as spread, but Open MPI copies faces of up to 64 KiB at once, so that they move while rows without ghosts are multiplied
packed   as spread, but bound to one core after the other
none     as spread without binding

SpMV max/mean is that of the slowest rank (alone: of the slowest run) over the mean; rest is the mean of
CG without products and halo: vector updates, dot products and, but for alone, all-reduces with their waits. How to read it:

- alone is uneven: the cores of the host are unequal (virtual cores that share one, other programs, domains with more ranks than others).
  Nothing in minifenl changes that; compare with `triad max/mean` of the same runs.
- alone and spread are even, none is not: ranks moved away from their memory. Bind them.
- eager has a smaller halo / CG than spread at the same SpMV max/mean: the messages themselves take the time, not the waiting.
- spread is even, packed is not, or is slower: one domain's memory bandwidth serves most ranks.
- alone is even, spread is not: the partition or the exchange is uneven. `rows` and `ghosts` say by how much ranks differ; SpMV of
  a rank includes its boundary rows, which wait for no one.
"""
import argparse, glob, json, os, statistics, subprocess, tempfile

BINDINGS = {
    "spread": ["--map-by", "numa:PE=1", "--bind-to", "core"],
    "packed": ["--map-by", "slot:PE=1", "--bind-to", "core"],
    "eager": ["--map-by", "numa:PE=1", "--bind-to", "core", "--mca", "btl_vader_eager_limit", "65536"],
    "none": ["--bind-to", "none", "--oversubscribe"],
}
COLUMNS = ["ranks", "start", "CG ms", "SpMV ms", "rest ms", "SpMV max/mean", "halo / CG", "triad GB/s", "triad max/mean", "CG / triad", "rows", "ghosts"]


def text(path):
    try:
        return open(path).read().strip()
    except OSError:
        return "unknown"




def cores():
    """A hardware thread of each core that this program may use."""
    chosen = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        siblings = text(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        chosen.setdefault(siblings if siblings != "unknown" else cpu, cpu)
    return list(chosen.values())


def machine():
    allowed = sorted(os.sched_getaffinity(0))
    print(f"hardware threads allowed: {len(allowed)} ({allowed[0]}-{allowed[-1]}), cores: {len(cores())}")
    for node in sorted(glob.glob("/sys/devices/system/node/node[0-9]*")):
        print(f"{os.path.basename(node)}: {text(node + '/cpulist')}")
    print(f"quota (cpu.max): {text('/sys/fs/cgroup/cpu.max')}, load: {text('/proc/loadavg')}\n")


def flags(args, report):
    return ["--device", "cpu", "--threads", "1", "--cg-iterations", str(args.iterations), "--newton-max", "1", *args.flags, "--triad", "--quiet", "--report", report]


def numbers(reports):
    """The numbers of one run, or of runs at the same time as if they were ranks."""
    phase = [{p["name"]: p for p in report["phases"]} for report in reports]
    per_call = lambda name: [p[name]["seconds"] / p[name]["calls"] for p in phase if name in p]
    spmv, cg, halo = per_call("spmv"), per_call("cg"), per_call("halo")
    # Over all ranks: a report has the slowest rank and its ratio to the mean.
    mean = lambda name: statistics.mean(p[name]["seconds"] / p[name]["imbalance"] / p[name]["calls"] if name in p else 0.0 for p in phase)
    triads = [report["triad_gb_per_s"] for report in reports]
    many, part = len(reports) > 1, reports[0]["partition"]
    uneven = lambda values: max(values) / statistics.mean(values)
    return {
        "CG ms": 1e3 * max(cg), "SpMV ms": 1e3 * max(spmv), "rest ms": 1e3 * (mean("cg") - mean("spmv") - mean("halo")),
        "SpMV max/mean": uneven(spmv) if many else phase[0]["spmv"]["imbalance"],
        "halo / CG": max(halo) / max(cg) if halo else 0.0,
        "triad GB/s": sum(triads), "triad max/mean": uneven(triads) if many else None,
        "CG / triad": phase[0]["cg"]["triad_fraction"] if not many else None,
        "rows": f"{part['owned_min']}-{part['owned_max']}", "ghosts": part["ghosts"],
    }


def alone(args, ranks, folder):
    runs = []
    for rank, core in enumerate(cores()[:ranks]):
        report = os.path.join(folder, f"{rank}.json")
        command = ["taskset", "-c", str(core), args.minifenl, "--nodes", str(args.nodes), *flags(args, report)]
        runs.append((report, subprocess.Popen(command, stdout=subprocess.DEVNULL)))
    for _, run in runs:
        if run.wait():
            raise SystemExit(f"alone: exit {run.returncode}")
    return numbers([json.load(open(report)) for report, _ in runs])


def together(args, ranks, binding, folder):
    report = os.path.join(folder, "report.json")
    command = ["mpirun", "-n", str(ranks), *BINDINGS[binding], args.minifenl, "--nodes-per-rank", str(args.nodes), *flags(args, report)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        print(f"{' '.join(command)}: exit {run.returncode}\n{run.stderr.strip()}")
        return None
    return numbers([json.load(open(report))])


def cell(values):
    values = [value for value in values if value is not None]
    if not values:
        return "-"
    return values[0] if isinstance(values[0], str) else f"{statistics.median(values):.3g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minifenl", default="target/release/minifenl", help="built with MPI")
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("flags", nargs="*", help="more flags for minifenl, after --")
    args = parser.parse_args()
    args.minifenl = os.path.abspath(args.minifenl)
    machine()
    found = {}
    for _ in range(args.rounds):
        for ranks in args.ranks:
            for start in ["alone", *BINDINGS]:
                if ranks > len(cores()) and start != "none":
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    run = alone(args, ranks, folder) if start == "alone" else together(args, ranks, start, folder)
                found.setdefault((ranks, start), []).extend([run] if run else [])
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS))
    for (ranks, start), runs in sorted(found.items(), key=lambda item: item[0][0]):
        cells = [cell([run[column] for run in runs]) for column in COLUMNS[2:]]
        print(f"| {ranks} | {start} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
