"""Runs of the program."""

import re
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import minifenl
from minifenl._run import _key


def test_a_run_returns_its_report_and_its_field():
    report, points, field = minifenl.run(9, threads=2, device="cpu")
    assert report["verified"] and report["strategies"]["graph"] == "map" and report["threads"] == 2
    assert points.shape == (729, 3) and field.shape == (729, 1)
    # T = 6 K / (z + c)^2 with T = 1 at z = 0 and 2 at z = 1, in a unit box.
    low, high = np.isclose(points[:, 2], points[:, 2].min()), np.isclose(points[:, 2], points[:, 2].max())
    assert np.allclose(field[low], 1) and np.allclose(field[high], 2)


def test_settings_reach_the_deck():
    found = minifenl.run((5, 7, 9), "elasticity", element="hex20", device="cpu", preset="fast", newton__tolerance=1e-9)
    assert found.report["mesh"]["element"] == "hex20" and found.field.shape[1] == 3
    assert found.report["strategies"]["graph"] == "gather"


def test_every_flag_with_a_key_is_a_setting_or_refused():
    page = (Path(__file__).parents[2] / "docs" / "flags.md").read_text()
    # The table of a run: those of other commands have no keys.
    flags = page.split("| flag | deck key | default |")[1].split("\n\n")[0]
    rows = [line.split(" | ") for line in flags.splitlines() if line.startswith("| `--")]
    pairs = [pair for row in rows for pair in zip(re.findall(r"--([a-z-]+)", row[0]), re.findall(r"`(\w+\.\w+)`", row[1]))]
    assert len(pairs) > 40
    for flag, key in pairs:
        name = flag.replace("-", "_")
        if name in ("problem", "nodes", "report", "append", "vtk"):
            for refused in key.replace(".", "__"), name:
                with pytest.raises((ValueError, TypeError)):
                    minifenl.run(5, "heat", **{refused: "x.vtu"})
        else:
            assert ".".join(_key(name)) == key, flag


def test_flags_are_settings_with_and_without_their_section():
    found = minifenl.run(5, "minife", device="cpu", imbalance=10.0, triad=False, timeout=60.0, preset="fast")
    assert found.report["problem"]["name"] == "minife" and found.report["verified"] is not None
    tight = minifenl.run(5, device="cpu", cg_tolerance=1e-12, newton_max=9, graph="sort", triad=False)
    assert tight.report["strategies"]["graph"] == "sort" and tight.report["verified"]


def test_runs_on_ranks_are_those_of_the_program():
    with pytest.raises(RuntimeError, match="no MPI; run the program on ranks: mpirun -n 4 minifenl"):
        minifenl.run_mpi(object(), 9, "heat", threads=1)


@pytest.mark.parametrize(
    ("settings", "kind", "text"),
    [
        ({"problem": "wave"}, ValueError, "wave"),
        ({"nodes": "9x5x7"}, TypeError, "nodes: is '9x5x7', expected an int or three ints"),
        ({"nodes": "9"}, TypeError, "nodes: is '9', expected an int"),
        ({"nodes": 9.0}, TypeError, "nodes: is 9.0, expected an int"),
        ({"nodes": True}, TypeError, "nodes: is True, expected an int"),
        ({"nodes": (9, 5)}, TypeError, r"nodes: is \(9, 5\), expected an int or three ints"),
        ({"nodes_per_rank": 5}, ValueError, "nodes and nodes_per_rank: are both given"),
        ({"nodes": 1}, ValueError, "nodes"),
        ({"colour": 1}, ValueError, "colour"),
        ({"cg__colour": 1}, ValueError, "colour"),
        ({"kind": "poisson"}, ValueError, "kind: expected a flag"),
        ({"problem__kind": "poisson"}, ValueError, "problem__kind: is the argument problem"),
        ({"mesh__nodes": [4, 4, 4]}, ValueError, "mesh__nodes: is the argument nodes"),
        ({"cg_tolerance": 1e-9, "cg__tolerance": 1e-8}, ValueError, "cg_tolerance and cg__tolerance are one setting"),
        ({"run__report": "a.json"}, ValueError, "run__report: run returns report"),
        ({"run__vtk": "a.vtu"}, ValueError, "run__vtk: .* writes no file"),
        ({"append": "a.csv"}, ValueError, "append: .* writes no file"),
        ({"threads": None}, TypeError, "threads"),
        ({"threads": 0}, ValueError, "threads"),
        ({"cg__tolerance": -1.0}, ValueError, "tolerance"),
        ({"device": "cuda:77"}, (ValueError, RuntimeError), "cuda|GPU"),
    ],
)
def test_what_is_wrong_is_an_exception_that_names_it(settings, kind, text):
    with pytest.raises(kind, match=text):
        minifenl.run(**{"nodes": 5, "device": "cpu", **settings})


def test_nodes_per_rank_take_the_place_of_nodes():
    assert minifenl.run(nodes_per_rank=5, device="cpu", triad=False).points.shape == (125, 3)


def test_a_signal_ends_a_run():
    # A process in the background may ignore Ctrl-C.
    before, start = signal.signal(signal.SIGINT, signal.default_int_handler), time.monotonic()
    try:
        threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
        with pytest.raises(KeyboardInterrupt):
            # Without the signal, so many iterations take minutes.
            minifenl.run(33, device="cpu", threads=1, triad=False, cg_iterations=200_000)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - start < 20
    assert minifenl.run(5, device="cpu", triad=False).report["verified"]
