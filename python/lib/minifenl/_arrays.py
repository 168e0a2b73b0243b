"""Matrices that share row offsets and columns, and checks of arguments."""

from __future__ import annotations

import copy

import numpy as np
from scipy.sparse import csr_matrix, issparse


class Pattern:
    """Row offsets and columns that all matrices of a graph or plan share, read-only."""

    def __init__(self, shape, indptr, indices):
        self.shape, self.indptr, self.indices = shape, indptr, indices
        for array in indptr, indices:
            array.setflags(write=False)
        # Matrices are shallow copies of this one, as SciPy's constructor takes 15 us.
        self._empty = csr_matrix(shape)
        self._empty.indices, self._empty.indptr = indices, indptr
        self._empty.has_sorted_indices = self._empty.has_canonical_format = True

    def matrix(self, dtype, out: csr_matrix | None = None) -> csr_matrix:
        """Returns a matrix whose values are to be overwritten: `out`, which must share this pattern, or a new one."""
        if out is None:
            matrix = copy.copy(self._empty)
            matrix.data = np.empty(self.indices.size, dtype)
            return matrix
        if not issparse(out) or out.format != "csr":
            raise TypeError(f"out: is a {type(out).__name__}, expected a csr_matrix")
        if not (_is_same(out.indices, self.indices) and _is_same(out.indptr, self.indptr)):
            raise ValueError("out: expected a matrix that shares row offsets and columns, as an earlier call returned it")
        if out.data.dtype != dtype:
            raise TypeError(f"out: has values of type {out.data.dtype}, expected {np.dtype(dtype)}")
        check_writable("out", out.data)
        return out


def _is_same(array, other):
    """Whether both are one array, or views of all of it: SciPy's ``check_format`` replaces arrays by views."""
    if array is other:
        return True
    places = (array.__array_interface__["data"], other.__array_interface__["data"])
    return array.dtype == other.dtype and array.shape == other.shape and array.strides == other.strides and places[0] == places[1]


def check_writable(name, array):
    """Refuses an array that is read-only."""
    if not array.flags.writeable:
        raise ValueError(f"{name}: its values are read-only, expected writable ones")


def choices(n):
    """Names the valid indices below `n`."""
    return f"0 to {n - 1}" if n > 0 else "an empty range"


def check_nodes(cells, nodes):
    """Refuses elements that are no integers, and a node outside the nodes; None takes the largest one and one. Returns their number."""
    if cells.dtype.kind not in "iu":
        raise TypeError(f"cells: have type {cells.dtype}, expected integers")
    if nodes is None:
        nodes = max(int(cells.max()) + 1, 0) if cells.size else 0
    if cells.size and (cells.min() < 0 or cells.max() >= nodes):
        elem, k = np.argwhere((cells < 0) | (cells >= nodes))[0]
        raise ValueError(f"cells[{elem}, {k}] is {cells[elem, k]}: expected a node in {choices(nodes)}")
    return nodes


def check_threads(threads):
    """Refuses a number of threads below 1."""
    if threads is not None and threads < 1:
        raise ValueError(f"threads {threads}: expected 1 or more")


def reals(name, given):
    """Returns a contiguous array of float64; refuses other types."""
    array = np.asarray(given)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name}: has type {array.dtype}, expected real numbers")
    return np.asarray(array, np.float64, order="C")


def numbers(name, given, shape):
    """Returns a contiguous array of one dimension, of a type that a matrix can have."""
    array = np.asarray(given)
    if array.dtype.kind not in "fiubc":
        raise TypeError(f"{name}: have type {array.dtype}, expected numbers")
    if array.shape != shape and array.shape != (int(np.prod(shape)),):
        raise ValueError(f"{name}: have shape {array.shape}, expected {shape}")
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    kind = array.dtype.type if array.dtype in (np.float32, np.complex64) else wide
    return np.ascontiguousarray(array, kind).reshape(-1)


def unknown_indices(name, rows, n):
    """Returns indices of unknowns, from indices or a mask."""
    rows = np.asarray(rows)
    if rows.dtype == bool:
        if rows.shape != (n,):
            raise ValueError(f"{name}: is a mask of shape {rows.shape}, expected {(n,)}")
        return np.flatnonzero(rows)
    if rows.size == 0:
        return np.zeros(0, np.int64)
    if rows.dtype.kind not in "iu":
        raise TypeError(f"{name}: has type {rows.dtype}, expected integers or a mask")
    if rows.ndim != 1:
        raise ValueError(f"{name}: has {rows.ndim} dimensions, expected 1")
    if rows.min() < 0 or rows.max() >= n:
        at = int(np.argmax((rows < 0) | (rows >= n)))
        raise ValueError(f"{name}[{at}] is {rows[at]}: expected an unknown in {choices(n)}")
    return rows
