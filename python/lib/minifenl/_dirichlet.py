"""Dirichlet conditions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, issparse

from ._arrays import check_threads, check_writable, reals, unknown_indices
from ._minifenl import dirichlet as _dirichlet

__all__ = ["dirichlet"]


def dirichlet(
    A: csr_matrix,
    b: NDArray[np.float64],
    rows: ArrayLike,
    values: ArrayLike = 0.0,
    *,
    threads: int | None = None,
) -> None:
    """Imposes x[rows] = values on A x = b by symmetric elimination, in place.

    Columns of the fixed unknowns move to b; then their rows and columns are zero but for the diagonal, which keeps its value d, and
    b[rows] = d values. A symmetric A stays symmetric. Entries that become zero stay in the pattern.

    Parameters
    ----------
    A : scipy.sparse.csr_matrix of float64, (n, n)
        Changed. Its pattern is symmetric, as that of a Form.
    b : ndarray of float64, (n,)
        Changed.
    rows : array_like of int, or mask (n,)
        Fixed unknowns; for several per node those of Form.
    values : float or array_like, (len(rows),)
        Their values, in units of x. For a mask they are in the order of its true items.
    threads : int, optional
        As many as the process may use if it is not given.

    Raises
    ------
    ValueError
        For a matrix whose values are read-only, an unknown outside the matrix, arrays of other shapes, and a fixed row whose diagonal entry is missing, zero or NaN; A and b
        are not changed then.
    TypeError
        For matrices and vectors of other types, which cannot be changed in place.
    """
    if not issparse(A) or A.format != "csr" or A.dtype != np.float64:
        raise TypeError(f"A: is a {type(A).__name__} of {getattr(A, 'dtype', None)}, expected a csr_matrix of float64")
    check_writable("A", A.data)
    n = A.shape[0]
    if A.shape[1] != n:
        raise ValueError(f"A: has shape {A.shape}, expected a square matrix")
    if not isinstance(b, np.ndarray) or b.dtype != np.float64 or not b.flags.c_contiguous or not b.flags.writeable:
        raise TypeError("b: expected a contiguous, writable array of float64, which is changed in place")
    if b.shape != (n,):
        raise ValueError(f"b: has shape {b.shape}, expected {(n,)}")
    check_threads(threads)
    if not A.has_canonical_format:
        A.sum_duplicates()
    rows, imposed, fixed = unknown_indices("rows", rows, n), np.zeros(n), np.zeros(n, np.uint8)
    values = reals("values", values)
    if values.shape not in ((), rows.shape):
        raise ValueError(f"values: have shape {values.shape}, expected () or {rows.shape}")
    imposed[rows], fixed[rows] = values, 1
    _dirichlet(A.indptr, A.indices, A.data, b, fixed, imposed, threads=threads)
