"""Linear solves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, issparse

from ._arrays import check_threads, reals
from ._minifenl import solve as _solve

__all__ = ["Solution", "solve"]


class Solution(NamedTuple):
    """What ``solve`` returns."""

    x: NDArray[np.float64]
    """The solution."""
    iterations: int
    """Iterations of the method."""
    residual: float
    """||b - A x|| by the method's recurrence."""


def solve(
    A,
    b: ArrayLike,
    *,
    x0: ArrayLike | None = None,
    rtol: float = 1e-8,
    atol: float = 0.0,
    maxiter: int = 10000,
    method: str = "cg",
    preconditioner: str | None = None,
    dofs: int = 1,
    points: ArrayLike | None = None,
    threads: int | None = None,
) -> Solution:
    """Solves A x = b.

    Parameters
    ----------
    A : scipy.sparse matrix, (n, n)
        Copied once. For ``cg`` it is symmetric positive definite.
    b : array_like, (n,)
        Right-hand side.
    x0 : array_like, (n,), optional
        Start; zero if it is not given.
    rtol, atol : float
        The solve ends at ||b - A x|| <= max(rtol ||b||, atol).
    maxiter : int
        Iterations after which the solve fails.
    method : str
        ``cg``, ``gmres`` (restarted after 30), ``bicgstab`` or ``minres`` (symmetric matrices).
    preconditioner : str, optional
        ``amg``: a cycle of smoothed aggregation; ``ic0``: incomplete Cholesky factors without fill, for symmetric matrices;
        ``gauss-seidel``: symmetric, by colours; ``jacobi``; ``none``. Without one, ``cg`` and ``minres`` take ``amg``, ``gmres`` and
        ``bicgstab`` ``jacobi``. That of ``minres`` has to be positive definite: ``none`` where the matrix is not. ``amg`` is made for
        symmetric positive definite matrices: it also speeds up ``gmres`` and ``bicgstab`` where A is nearly symmetric, such as
        diffusion with weak advection, and fails or does not converge where it is not.
    dofs : int
        Unknowns per node, one after another in x; for ``amg``.
    points : array_like, (n / 3, 3), optional
        Nodes of a problem of elasticity with three displacements each, whose rigid body modes ``amg`` then keeps.
    threads : int, optional
        As many as the process may use if it is not given.

    Returns
    -------
    Solution
        ``x, iterations, residual``.

    Raises
    ------
    ValueError
        For a matrix that is not square, arrays of other lengths, tolerances that are both 0, a diagonal item that is zero or negative
        with ``amg``, or not positive or missing with ``jacobi``, ``ic0`` and ``gauss-seidel``; for a pattern that is not symmetric with
        the last two.
    RuntimeError
        Where the method does not converge or breaks down; the text has iterations and residual. Where ``amg`` meets a matrix that is
        not positive definite on its last level.
    KeyboardInterrupt
        Between two iterations, at Ctrl-C; so does the exception of any handler of a signal.
    """
    if not issparse(A):
        raise TypeError(f"A: is a {type(A).__name__}, expected a sparse matrix of SciPy")
    matrix = csr_matrix(A)
    if matrix.dtype.kind not in "fiub":
        raise TypeError(f"A: has type {matrix.dtype}, expected real numbers")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    n = matrix.shape[0]
    b = reals("b", b)
    x = np.zeros(n) if x0 is None else reals("x0", x0).copy()
    if points is not None:
        points, dofs = np.ascontiguousarray(points, np.float64), 3
        if points.shape != (n // 3, 3) or n % 3:
            raise ValueError(f"points: have shape {points.shape}, expected {(n // 3, 3)} for {n} unknowns")
    if matrix.shape[1] != n:
        raise ValueError(f"A: has shape {matrix.shape}, expected a square matrix")
    for name, array in ("b", b), ("x0", x):
        if array.shape != (n,):
            raise ValueError(f"{name}: has shape {array.shape}, expected {(n,)}")
    if dofs < 1 or n % dofs:
        raise ValueError(f"dofs {dofs}: expected a divisor of the {n} unknowns")
    check_threads(threads)
    if preconditioner is None:
        preconditioner = "jacobi" if method in ("gmres", "bicgstab") else "amg"
    if maxiter < 0:
        raise ValueError(f"maxiter {maxiter}: expected 0 or more")
    iterations, residual, _ = _solve(
        np.ascontiguousarray(matrix.indptr),
        np.ascontiguousarray(matrix.indices),
        np.ascontiguousarray(matrix.data, np.float64),
        b, x, rtol=rtol, atol=atol, maxiter=maxiter, method=method, preconditioner=preconditioner, dofs=dofs,
        points=points, threads=threads,
    )  # fmt: skip
    return Solution(x, iterations, residual)
