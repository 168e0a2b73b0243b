"""Runs of the program."""

import numpy as np
import pytest

import minifenl


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


@pytest.mark.parametrize(
    ("settings", "kind", "text"),
    [
        ({"problem": "wave"}, ValueError, "wave"),
        ({"nodes": 1}, ValueError, "nodes"),
        ({"colour": 1}, ValueError, "colour"),
        ({"cg__colour": 1}, ValueError, "colour"),
        ({"threads": None}, TypeError, "threads"),
        ({"threads": 0}, ValueError, "threads"),
        ({"cg__tolerance": -1.0}, ValueError, "tolerance"),
        ({"device": "cuda:77"}, (ValueError, RuntimeError), "cuda|GPU"),
    ],
)
def test_what_is_wrong_is_an_exception_that_names_it(settings, kind, text):
    with pytest.raises(kind, match=text):
        minifenl.run(**{"nodes": 5, "device": "cpu", **settings})
