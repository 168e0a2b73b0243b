"""Runs of the program."""

from __future__ import annotations

import json
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ._minifenl import run as _run

__all__ = ["Run", "run", "run_mpi"]

# Section and key of a deck for each flag of the program (docs/flags.md).
_FLAGS = {
    "nodes_per_rank": "mesh", "element": "mesh", "map": "mesh", "size": "mesh", "imbalance": "mesh",
    "t_min": "problem", "t_max": "problem", "advection": "problem",
    "graph": "graph.strategy", "scan": "graph",
    "fill": "fill.strategy", "kernel": "fill", "workset": "fill", "layout": "fill", "variant": "fill", "jacobian": "fill",
    "newton_tolerance": "newton.tolerance", "newton_max": "newton.max_iterations", "forcing": "newton",
    "cg_tolerance": "cg.tolerance", "cg_max": "cg.max_iterations", "cg_iterations": "cg.iterations",
    "operator": "cg", "solver": "cg", "cg_variant": "cg.variant", "preconditioner": "cg",
    "format": "matrix", "matrix": "matrix.values", "lanes": "matrix",
    "device": "run", "share_gpu": "run", "halo": "run", "deterministic": "run", "threads": "run", "timeout": "run",
    "triad": "run", "preset": "run",
}  # fmt: skip
# Keys that a run in Python does not take.
_REFUSED = {
    **{("mesh", "nodes"): "is the argument nodes", ("problem", "kind"): "is the argument problem"},
    **{("run", key): "run returns report, points and field, and writes no file" for key in ("report", "append", "vtk")},
}


class Run(NamedTuple):
    """What a run returns."""

    report: dict
    """The report, as ``minifenl --report`` writes it (docs/report.md)."""
    points: NDArray[np.float64]
    """Nodes, (node, 3)."""
    field: NDArray[np.float64]
    """The solution at the nodes, (node, component)."""


def run(nodes: int | tuple[int, int, int] | None = None, problem: str = "heat", **settings) -> Run:
    """Solves a problem on a box as the program does, on one process.

    Parameters
    ----------
    nodes : int or (int, int, int), optional
        Nodes along each edge; 64 if neither it nor ``nodes_per_rank`` is given.
    problem : str
        ``heat``, ``poisson``, ``diffusion``, ``elasticity`` or ``minife`` (docs/problems.md).
    **settings
        Flags of the program (docs/flags.md) with underscores, ``cg_tolerance=1e-10``, ``element="hex27"``, ``preset="fast"``,
        ``device="cpu"``, or keys of a deck with their section, ``cg__tolerance=1e-10``. No files are written: those of ``report``,
        ``append`` and ``vtk`` are refused.

    Returns
    -------
    Run
        Report, points and field. ``report["verified"]`` says whether the checks passed.

    Raises
    ------
    TypeError
        For settings of other types.
    ValueError
        For a setting that is unknown, given twice or contradicts another, and for a device that is missing.
    RuntimeError
        For a device that fails. A method that does not converge raises nothing: see ``report["verdict"]``.
    KeyboardInterrupt
        At Ctrl-C, with the next phase, step of Newton's method or convergence check of the linear solver; so does the exception of any
        handler of a signal. On a large box a phase takes seconds.
    """
    deck = {"mesh": {}, "problem": {"kind": problem}}
    names = {}
    for name, value in settings.items():
        section, key = _key(name)
        before = names.setdefault((section, key), name)
        if before != name:
            raise ValueError(f"{before} and {name} are one setting: give one of them")
        deck.setdefault(section, {})[key] = value
    per_rank = names.get(("mesh", "nodes_per_rank"))
    if nodes is None and per_rank is None:
        nodes = 64
    if nodes is not None:
        if per_rank is not None:
            raise ValueError(f"nodes and {per_rank}: are both given; expected one of them")
        deck["mesh"]["nodes"] = _edges("nodes", nodes)
    text = "".join(
        f"[{section}]\n" + "".join(f"{key} = {_toml(key, value)}\n" for key, value in keys.items())
        for section, keys in deck.items()
    )
    report, points, field = _run(text)
    return Run(json.loads(report), points, field)


def run_mpi(comm, nodes: int | tuple[int, int, int] = 64, problem: str = "heat", **settings) -> NoReturn:
    """Refuses a run on MPI ranks: the package is built without MPI, of which each machine has its own.

    The program does such runs: ``make build`` in a checkout of minifenl builds it with the MPI of the machine, and
    ``mpirun -n 4 target/release/minifenl --nodes 64 --problem heat --report report.json`` writes the report that ``run`` returns.

    Raises
    ------
    RuntimeError
        Always.
    """
    raise RuntimeError("run_mpi: this package has no MPI; run the program on ranks: mpirun -n 4 minifenl --nodes 64 --report report.json")


def _edges(name, given):
    """Three numbers of nodes from one or three."""
    edges = [given] * 3 if np.isscalar(given) else list(given) if isinstance(given, (list, tuple, np.ndarray)) else []
    if len(edges) != 3 or not all(isinstance(edge, (int, np.integer)) and not isinstance(edge, bool) for edge in edges):
        raise TypeError(f"{name}: is {given!r}, expected an int or three ints")
    return edges


def _key(name):
    """Section and key of a setting."""
    if name in _FLAGS:
        section, _, key = _FLAGS[name].partition(".")
        key = key or name
    else:
        section, _, key = name.partition("__")
    why = _REFUSED.get((section, key)) or _REFUSED.get(("run", section))
    if why is None and not key:
        why = "expected a flag, as cg_tolerance, or a key of a deck with its section, as cg__tolerance"
    if why is not None:
        raise ValueError(f"{name}: {why}")
    return section, key


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
