#!/usr/bin/env python3
"""Draws bandwidth against size, GPU beside CPU, from the JSON files of `cargo bench --bench gpu`.

    make plot JSON="gpu.json cpu.json" OUT=docs/results/bandwidth

One panel a stage (SpMV, CG, fill, graph), GB/s by the formulas of run::cost against nodes, both axes logarithmic: the figure
of Hoemmen and Edwards 2014, slide 12, with rates in place of times, so that one line, the copy, is the ceiling of each device.
Solid: minifenl; dashed: other libraries. Writes OUT.svg and OUT.png.
"""
import argparse, json

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PANELS = [("spmv", "SpMV"), ("cg", "CG iteration"), ("fill", "Fill"), ("graph", "Graph")]
# Told apart without colour too.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#8c510a", "#7b3294", "#1b7837"]
MARKERS = "osd^vP*Xh<"


def series(report, what, best):
    """Points (size, GB/s) of each variant; of many variants of our own only the `best` at the largest size."""
    found = {}
    for row in report["rows"]:
        if row["what"] == what:
            found.setdefault((row["variant"], row["peer"]), []).append((row["size"], row["gb_per_s"]))
    rate = lambda key: max(found[key])[1]
    chosen = [[key for key in found if key[1] == is_peer] for is_peer in (False, True)]
    keep = [key for keys in chosen for key in sorted(keys, key=rate, reverse=True)[:best]]
    return {key: sorted(found[key]) for key in keep}


def short(device):
    """"H200" for "cuda:0 (NVIDIA H200)", "cpu, 64 threads" for "cpu, threads(64)"."""
    if "(" in device and device.startswith("cuda"):
        return device.split("(", 1)[1].rstrip(")").replace("NVIDIA ", "")
    return device.replace("threads(", "").rstrip(")") + " threads" if "threads(" in device else device


def draw(reports, best):
    plt.rcParams.update({"font.size": 8, "svg.fonttype": "none", "axes.spines.top": False, "axes.spines.right": False,
                         "svg.hashsalt": "minifenl", "axes.axisbelow": True})
    figure, axes = plt.subplots(2, 2, figsize=(9, 6.2), sharex=True, constrained_layout=True)
    for axis, (what, title) in zip(axes.flat, PANELS):
        number = 0
        for report in reports:
            device, largest = short(report["machine"]["device"]), 0
            for (variant, is_peer), points in series(report, what, best).items():
                axis.plot(*zip(*points), color=COLOURS[number % len(COLOURS)], marker=MARKERS[number % len(MARKERS)],
                          markersize=4, linewidth=1.3, linestyle="--" if is_peer else "-", label=f"{device}: {variant}")
                number, largest = number + 1, max(largest, points[-1][0])
            if largest:
                copy = report["copy_gb_per_s"]
                axis.axhline(copy, color="black", linewidth=0.7, linestyle=":")
                axis.annotate(f"copy, {device}", (1.1e3, copy), va="bottom", fontsize=6.5)
        axis.set(title=title, xscale="log", yscale="log", xlim=(1e3, 1e8))
        axis.grid(alpha=0.25, linewidth=0.5)
        if number:
            axis.legend(fontsize=6.5, loc="lower right", framealpha=0.85, edgecolor="none")
            axis.set_ylim(bottom=axis.get_ylim()[0] / 5)
        else:
            axis.text(0.5, 0.5, "not measured", transform=axis.transAxes, ha="center", color="#777777")
    for axis in axes[:, 0]:
        axis.set_ylabel("GB/s")
    for axis in axes[-1]:
        axis.set_xlabel("finite-element nodes")
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("json", nargs="+", help="reports; the first devices come first in the legends")
    parser.add_argument("--out", default="bandwidth", help="path of the pictures, without .svg and .png")
    parser.add_argument("--best", type=int, default=3, help="variants of each device and panel, ours and theirs")
    arguments = parser.parse_args()
    figure = draw([json.load(open(path)) for path in arguments.json], arguments.best)
    # The same input gives the same bytes.
    figure.savefig(f"{arguments.out}.svg", metadata={"Date": None})
    figure.savefig(f"{arguments.out}.png", dpi=130)


main()
