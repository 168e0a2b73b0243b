#!/usr/bin/env python3
"""Prints the numbers that docs/results/2026-11-21-contractions-h200.md has of the tables beside this file."""
import csv
import pathlib
from collections import defaultdict
from statistics import median

CASE = ["kernel", "L", "R", "P", "D", "precision", "layout", "cells", "memory_mib"]
rows = []
for path in sorted(pathlib.Path(__file__).parent.glob("*.csv")):
    lines = (line for line in path.open() if not line.startswith("#"))
    for row in csv.DictReader(lines):
        if row["device"].startswith("cuda") and row["checked"] == "yes":
            row |= {"table": path.stem, "ms": float(row["median_ms"]), "is_peer": row["variant"].startswith("cublas")}
            rows.append(row)
print(f"{len(rows)} times of checked results on the GPU")


def fastest(rows):
    return min(rows, key=lambda row: row["ms"])


print("\nfem.csv: fraction of the roofline, variant, times cuBLAS")
cases = defaultdict(list)
for row in rows:
    if row["table"] == "fem":
        cases[tuple(row[name] for name in CASE)].append(row)
for case, of in cases.items():
    ours = fastest([row for row in of if not row["is_peer"] and not row["variant"].startswith("auto")])
    peers = [row for row in of if row["is_peer"]]
    times = f"{fastest(peers)['ms'] / ours['ms']:.2f} x" if peers else ""
    print(" ", *case[:7], ours["roofline_fraction"], ours["variant"], times)

cases = defaultdict(list)
for row in rows:
    cases[tuple(row[name] for name in CASE)].append(row)
ratios = defaultdict(list)
for case, of in cases.items():
    ours, peers = [[row for row in of if row["is_peer"] == is_peer] for is_peer in (False, True)]
    if ours and peers:
        family = case[0].rsplit("_", 1)[0]
        sizes = {"field_field": f"{case[1]}x{case[2]}", "data_field": f"F = {case[2]}", "data_data": ""}[family]
        ours, peer = fastest(ours), fastest(peers)
        ratios[f"{family} {sizes}".strip()].append((peer["ms"] / ours["ms"], ours["ms"], case))
print("\nTimes cuBLAS, of all tables: cases, more than 2 % slower, worst, median, best")
everything = sum(ratios.values(), [])
for name, of in [*ratios.items(), ("all", everything)]:
    all_of = [ratio for ratio, _, _ in of]
    slower = sum(ratio < 1 / 1.02 for ratio in all_of)
    print(f"  {name}: {len(of)} {slower} {min(all_of):.2f} {median(all_of):.2f} {max(all_of):.1f}")
for name, of in [
    ("8x8x8", [one for one in ratios["field_field 8x8"] if one[2][3] == "8" and one[2][0].endswith("scalar")]),
    ("10x10xP", ratios["field_field 10x10"]),
]:
    below = [one for one in of if one[0] < 2]
    short = sum(ms < 0.006 for _, ms, _ in below)
    print(f"  {name}: {len(below)} of {len(of)} below 2, {short} of these take less than 6 us, worst {min(of)[0]:.2f}")
    for precision in ("f64", "f32"):
        large = [one for one in of if one[2][5] == precision and one[2][8] == "1024"]
        by_points = sorted((int(case[3]), f"{ratio:.2f}") for ratio, _, case in large)
        print(f"    1 GiB {precision}:", *(ratio for _, ratio in by_points))

print("\nThe same variant and case in two tables, the longer time over the shorter")
for name, low, high in [("below 10 us", 0, 0.01), ("from 10 us on", 0.01, 1e9)]:
    pairs = []
    for of in cases.values():
        by_variant = defaultdict(list)
        for row in of:
            if not row["is_peer"] and not row["variant"].startswith("auto"):
                by_variant[row["variant"]].append(row["ms"])
        for times in by_variant.values():
            times.sort()
            pairs += [b / a for i, a in enumerate(times) for b in times[i + 1 :] if low <= a < high]
    pairs.sort()
    above = sum(pair > 1.1 for pair in pairs)
    print(f"  {name}: {len(pairs)} pairs, 19 of 20 within {pairs[len(pairs) * 19 // 20]:.3f}, {above} above 1.1, at most {pairs[-1]:.2f}")
