#!/usr/bin/env python3
"""Plots rates against problem size, GPU beside CPU, from the JSON files of `cargo bench --bench gpu`.

    make plot JSON="gpu.json cpu.json" OUT=docs/results/bandwidth

One panel per measured phase, both axes logarithmic: GB/s of SpMV and CG by the formulas of run::cost, after Hoemmen and Edwards 2014, slide 12,
with rates in place of times; Mnodes/s of fill and graph, and of all phases if rows have no bytes. Short dashes: the copy bandwidth, or
the nodes per second whose fewest bytes a copy moves. Dashed: CPU. Colours and markers are those of apps/figure/src/styles.csv. Writes OUT.svg and
OUT.png (192 pixels per inch).
"""
import argparse, csv, html, json, pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PANELS = [("spmv", "SpMV"), ("cg", "CG iteration"), ("fill", "Fill"), ("graph", "Graph")]
COPIED = ["spmv", "cg"]  # In GB/s.
COLOURS = {"blue": "#0072b2", "vermilion": "#d55e00", "green": "#00936b", "pink": "#c45c97", "sky": "#2e9bd6", "mustard": "#b38600",
           "grey": "#6a6a6a", "brown": "#783c00", "black": "#000000", "purple": "#6e3296"}
MARKERS = {"circle": "o", "square": "s", "diamond": "D", "up": "^", "down": "v", "cross": "x", "plus": "+", "star": (6, 2, 0)}
STYLES = pathlib.Path(__file__).parent.parent / "apps/figure/src/styles.csv"
ROW = 11.5  # Points from one label to the next.


def styles(names):
    """Colour and marker of each name; a name that comes again keeps its colour and takes the next marker, others take what is free."""
    table = {row["name"]: (row["colour"], row["marker"]) for row in csv.DictReader(STYLES.open())}
    markers = [*MARKERS, *(f"open-{name}" for name in ("circle", "square", "diamond", "up"))]
    first = lambda at: names[at] in table and names[at] not in names[:at]
    taken = [table[name] for at, name in enumerate(names) if first(at)]
    found = []
    for at, name in enumerate(names):
        style = table.get(name) if first(at) else None
        if style is None:
            colour = found[names.index(name)][0] if name in names[:at] else min(COLOURS, key=[c for c, _ in taken].count)
            style = (colour, min(markers, key=lambda m: ((colour, m) in taken, [other for _, other in taken].count(m))))
            taken.append(style)
        found.append(style)
    return found


def is_copied(row):
    """Whether a row's rate is in GB/s."""
    return row["what"] in COPIED and "gb_per_s" in row


def rate(row):
    """GB/s, or millions of nodes per second."""
    return row["gb_per_s"] if is_copied(row) else row["size"] / row["median_ms"] / 1e3


def series(report, what, best):
    """Points (nodes, rate) of each variant; of many variants of our own and of others only the `best` at the largest size."""
    found = {}
    for row in report["rows"]:
        if row["what"] == what:
            found.setdefault((row["variant"], row["peer"]), []).append((row["size"], rate(row)))
    chosen = [[key for key in found if key[1] == is_peer] for is_peer in (False, True)]
    keep = [key for keys in chosen for key in sorted(keys, key=lambda key: max(found[key])[1], reverse=True)[:best]]
    return {key[0]: sorted(found[key]) for key in keep}


def limit(report, what):
    """The copy: GB/s, or Mnodes/s by the variant that moves the fewest bytes; (nodes, rate)."""
    copy, fewest = report["copy_gb_per_s"], {}
    for row in report["rows"]:
        if row["what"] == what and "bytes" in row:
            fewest[row["size"]] = min(row["bytes"], fewest.get(row["size"], row["bytes"]))
    return [(size, copy if what in COPIED else 1e3 * copy * size / count) for size, count in sorted(fewest.items())]


def device(report):
    """"H200" for "cuda:0 (NVIDIA H200)", "16 threads" for "cpu, threads(16)"."""
    name = report["machine"]["device"]
    inside = name.split("(", 1)[1].rstrip(")") if "(" in name else name
    return f"{inside} threads" if inside.isdigit() else inside.replace("NVIDIA ", "")


def source(reports):
    """Models and versions."""
    parts = []
    for report in reports:
        machine = report["machine"]
        is_gpu = machine["device"].startswith("cuda")
        parts.append(f"{device(report)}, CUDA {machine['driver']}" if is_gpu else f"{machine['cpu']}, {device(report)}")
    return "; ".join(parts + [f"minifenl {reports[0]['machine']['minifenl']}", reports[0]["machine"]["date"].split(" ")[0]])


def beside(axis, ends):
    """Writes labels right of the axes near the ends of their lines, none over another: (x, y, text, line) each."""
    axis.figure.canvas.draw()
    scale = 72 / axis.figure.dpi
    bottom, top = (axis.get_window_extent().y0 * scale, axis.get_window_extent().y1 * scale)
    places = [axis.transData.transform((x, y)) * scale for x, y, _, _ in ends]
    heights, free = [place[1] for place in places], top
    order = sorted(range(len(ends)), key=lambda at: -heights[at])
    for at in order:
        heights[at] = min(heights[at], free)
        free = heights[at] - ROW
    free = bottom
    for at in reversed(order):
        heights[at] = max(heights[at], free)
        free = heights[at] + ROW
    right = axis.get_window_extent().x1 * scale
    for (x, y, text, line), height in zip(ends, heights):
        start = right + 12
        part = lambda a, b: (a / scale / axis.figure.bbox.width, b / scale / axis.figure.bbox.height)
        axis.annotate("", (x, y), part(start - 2, height), textcoords="figure fraction",
                      arrowprops={"arrowstyle": "-", "color": "#bbbbbb", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 4}, annotation_clip=False)
        xs, ys = zip(part(start, height), part(start + 20, height))
        axis.figure.add_artist(plt.Line2D(xs, ys, color=line.get_color(), linewidth=line.get_linewidth(), linestyle=line.get_linestyle()))
        axis.figure.add_artist(plt.Line2D([sum(xs) / 2], [ys[0]], color=line.get_color(), marker=line.get_marker(), linestyle="none",
                                          markersize=line.get_markersize(), markerfacecolor=line.get_markerfacecolor()))
        axis.figure.text(xs[1] + 5 / 72 / axis.figure.get_figwidth(), ys[0], text, va="center", fontsize=7.5)


def draw(reports, best):
    plt.rcParams.update({"font.size": 8.5, "svg.fonttype": "none", "axes.spines.top": False, "axes.spines.right": False,
                         "svg.hashsalt": "minifenl", "axes.axisbelow": True, "font.family": "DejaVu Sans"})
    rows = [row for report in reports for row in report["rows"]]
    panels = [panel for panel in PANELS if any(row["what"] == panel[0] for row in rows)] or PANELS
    down, across = -(-len(panels) // 2), min(len(panels), 2)
    width, height = 1 + 6.5 * across, 3.8 * down
    figure, axes = plt.subplots(down, across, figsize=(width, height), sharex=True, sharey="row", squeeze=False)
    figure.subplots_adjust(left=0.77 / width, right=1 - 2.3 / width, top=1 - 1.06 / height, bottom=0.53 / height, wspace=0.76, hspace=0.2)
    for axis in axes.flat[len(panels):]:
        axis.set_visible(False)
    words, todo, sizes = [], [], []
    for axis, (what, title) in zip(axes.flat, panels):
        lines = [(report, variant, points) for report in reports for variant, points in series(report, what, best).items()]
        names = [variant.split(",")[0] for _, variant, _ in lines]
        ends = []
        for (report, variant, points), (colour, marker) in zip(lines, styles(names)):
            colour, is_open = COLOURS[colour], marker.startswith("open-")
            (line,) = axis.plot(*zip(*points), color=colour, marker=MARKERS[marker.removeprefix("open-")], markersize=4.5, linewidth=1.3,
                                markerfacecolor="white" if is_open else colour,
                                linestyle="-" if report["machine"]["device"].startswith("cuda") else (0, (5, 2.5)))
            ends.append((*points[-1], f"{device(report)}: {variant}", line))
            sizes += [size for size, _ in points]
            words.append(f"{title}, {ends[-1][2]}: {points[-1][1]:.3g} at {points[-1][0]} nodes")
        for report in reports:
            if points := limit(report, what):
                (line,) = axis.plot(*zip(*points), color="#222222", linewidth=1, linestyle=(0, (2, 2)))
                ends.append((*points[-1], f"{device(report)}: copy", line))
        is_bytes = any(is_copied(row) for row in rows if row["what"] == what)
        axis.set(xscale="log", yscale="log", ylabel="GB/s" if is_bytes else "Mnodes/s")
        axis.set_title(title, loc="left")
        axis.tick_params(labelbottom=True, labelleft=True)
        axis.grid(alpha=0.25, linewidth=0.5)
        todo.append((axis, ends))
        if not lines:
            axis.text(0.5, 0.5, "not measured", transform=axis.transAxes, ha="center", color="#777777")
    for axis in axes[-1]:
        axis.set_xlabel("finite-element nodes")
    for axis, ends in todo:
        beside(axis, ends)
    title = f"Rates at {min(sizes):,} to {max(sizes):,} nodes" if sizes else "Rates: nothing was measured"
    figure.text(0.02, 1 - 0.29 / height, title, fontsize=12)
    dashes = ". Dashed: CPU; short dashes: copy bandwidth of the same run." if any("bytes" in row for row in rows) else "."
    figure.text(0.02, 1 - 0.53 / height, f"{source(reports)}{dashes}")
    return figure, title, f"Line charts over the number of nodes: {'; '.join(words)}."


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("json", nargs="+", help="reports; the first devices come first in the labels")
    parser.add_argument("--out", default="bandwidth", help="path of the pictures, without .svg and .png")
    parser.add_argument("--best", type=int, default=3, help="variants of each device and panel, ours and theirs")
    arguments = parser.parse_args()
    figure, title, words = draw([json.load(open(path)) for path in arguments.json], arguments.best)
    # The same input gives the same bytes.
    path = pathlib.Path(f"{arguments.out}.svg")
    figure.savefig(path, metadata={"Date": None})
    start, end = path.read_text().split("<svg ", 1)
    tag, rest = end.split(">", 1)
    path.write_text(f'{start}<svg role="img" {tag}>\n <title>{html.escape(title)}</title>\n <desc>{html.escape(words)}</desc>{rest}')
    figure.savefig(f"{arguments.out}.png", dpi=192)


main()
