#!/usr/bin/env python3
"""Prints line and region coverage per module, and the files that no test reaches, from the summary of cargo-llvm-cov.

    tests/coverage.py coverage.json

`make coverage` calls it. Files whose path holds `cuda` run on a GPU; without one they count apart.
"""
import json, os, sys


def module(path):
    """The layer of a library file, with `/cuda` for its GPU part; the program of another file."""
    parts = path.split("/")
    if parts[0] == "apps":
        return "/".join(parts[:2])
    layer = parts[1].removesuffix(".rs") if len(parts) > 1 else path
    return layer + "/cuda" if any("cuda" in part for part in parts[2:]) else layer


def rate(covered, count):
    return f"{100 * covered / count:5.1f} %" if count else "      -"


def main():
    with open(sys.argv[1]) as file:
        files = json.load(file)["data"][0]["files"]
    root, rows, untouched = os.getcwd() + "/", {}, []
    for entry in files:
        path = entry["filename"].removeprefix(root)
        if not path.startswith(("src/", "apps/")):
            continue
        counts = [(entry["summary"][kind]["covered"], entry["summary"][kind]["count"]) for kind in ("lines", "regions")]
        is_gpu = "cuda" in module(path)
        for name in (module(path), "all that runs on a GPU" if is_gpu else "all that runs without a GPU"):
            old = rows.setdefault(name, [(0, 0), (0, 0)])
            rows[name] = [(a + c, b + d) for (a, b), (c, d) in zip(old, counts)]
        if counts[0][0] == 0 and counts[0][1] > 0:
            untouched.append(path)
    print(f"| module | lines | covered | regions | covered |\n|---|---|---|---|---|")
    for name in sorted(rows, key=lambda name: (name.startswith("all"), "/cuda" in name, name)):
        lines, regions = rows[name]
        print(f"| {name} | {lines[1]} | {rate(*lines)} | {regions[1]} | {rate(*regions)} |")
    print("files without a covered line:", ", ".join(sorted(untouched)) or "none")


main()
