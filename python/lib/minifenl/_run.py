"""Runs of the program."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._minifenl import run as _run

__all__ = ["Run", "run"]

# Section of the deck of each short name.
_SECTIONS = {
    "nodes": "mesh", "size": "mesh", "map": "mesh", "element": "mesh",
    "device": "run", "threads": "run", "preset": "run", "deterministic": "run",
    "kind": "problem",
    "preconditioner": "cg",
}  # fmt: skip


class Run(NamedTuple):
    """What a run returns."""

    report: dict
    """The report, as ``minifenl --report`` writes it (docs/report.md)."""
    points: NDArray[np.float64]
    """Nodes, (node, 3)."""
    field: NDArray[np.float64]
    """The solution at the nodes, (node, component)."""


def run(nodes: int | tuple[int, int, int] = 64, problem: str = "heat", **settings) -> Run:
    """Solves a problem on a box as the program does, on one process.

    Parameters
    ----------
    nodes : int or (int, int, int)
        Nodes along each edge.
    problem : str
        ``heat``, ``poisson``, ``diffusion`` or ``elasticity``.
    **settings
        Keys of a deck (docs/flags.md) with their section, ``cg__tolerance=1e-10``; those of section ``mesh`` and ``run``, and
        ``preconditioner``, also without: ``element="hex27"``, ``device="cpu"``, ``threads=2``, ``preset="fast"``.

    Returns
    -------
    Run
        Report, points and field. ``report["verified"]`` says whether the checks passed.

    Raises
    ------
    ValueError
        For a setting that is unknown or contradicts another, and for a device that is missing.
    RuntimeError
        For a device that fails. A method that does not converge raises nothing: see ``report["verdict"]``.
    """
    deck = {"mesh": {"nodes": [nodes] * 3 if np.isscalar(nodes) else list(nodes)}, "problem": {"kind": problem}}
    for name, value in settings.items():
        section, _, key = name.rpartition("__")
        section = section or _SECTIONS.get(name)
        if section is None:
            raise ValueError(f"{name}: expected a key with its section, as cg__tolerance")
        deck.setdefault(section, {})[key] = value
    text = "".join(
        f"[{section}]\n" + "".join(f"{key} = {_toml(key, value)}\n" for key, value in keys.items())
        for section, keys in deck.items()
    )
    report, points, field = _run(text)
    return Run(json.loads(report), points, field)


def _toml(key, value):
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (int, float, np.integer, np.floating)):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ", ".join(_toml(key, item) for item in value) + "]"
    raise TypeError(f"{key}: has type {type(value).__name__}, expected a number, a text or a list")
