"""Matrices that share row offsets and columns, and checks of arguments."""

from __future__ import annotations

import copy

import numpy as np
from scipy.sparse import csr_matrix, issparse


class Pattern:
    """Rows and columns of the entries of all matrices that a plan returns, read-only."""

    def __init__(self, shape, indptr, indices):
        self.shape, self.indptr, self.indices = shape, indptr, indices
        for array in indptr, indices:
            array.setflags(write=False)
        # Matrices are shallow copies of this one, as SciPy's constructor takes 15 us.
        self._empty = csr_matrix(shape)
        self._empty.indices, self._empty.indptr = indices, indptr
        self._empty.has_sorted_indices = self._empty.has_canonical_format = True

    def matrix(self, dtype, out: csr_matrix | None = None) -> csr_matrix:
        """Returns a matrix whose values are to be overwritten: `out`, which must be one of the plan, or a new one."""
        if out is None:
            matrix = copy.copy(self._empty)
            matrix.data = np.empty(self.indices.size, dtype)
            return matrix
        if not issparse(out) or out.format != "csr":
            raise TypeError(f"out: is a {type(out).__name__}, expected a csr_matrix that this plan returned")
        if out.indices is not self.indices or out.indptr is not self.indptr:
            raise ValueError("out: expected a matrix that this plan returned")
        if out.data.dtype != dtype:
            raise TypeError(f"out: has values of type {out.data.dtype}, expected {np.dtype(dtype)}")
        check_writable("out", out.data)
        return out


def check_writable(name, array):
    """Refuses an array that is read-only."""
    if not array.flags.writeable:
        raise ValueError(f"{name}: its values are read-only, expected writable ones")


def choices(n):
    """Names the valid indices below `n`."""
    return f"0 to {n - 1}" if n > 0 else "an empty range"


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
