"""Plans of sums: ``scipy.sparse.coo_matrix(...).tocsr()`` whose pattern is found once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from . import _constraints, _gpu
from ._arrays import Pattern, check_threads, check_writable, choices, numbers
from ._constraints import Constraints
from ._minifenl import Plan

__all__ = ["CooPlan"]


class CooPlan:
    """The pattern of ``coo_matrix((values, (i, j)), shape).tocsr()``, and where each value goes.

    The plan is made once; ``csr`` then sums values of other steps, times or iterates into it. Each entry adds its values in the order
    of the input, so that a sum has the same bits on any number of threads.

    Parameters
    ----------
    i, j : array_like of int, (n,)
        Row and column of each value, in any order, with duplicates. int32 and int64 are taken as they are, others are copied.
    shape : (int, int), optional
        Rows and columns; the largest indices and one if it is not given.
    constraints : dict of int to dict of int to float, optional
        Unknowns that are linear combinations of others (periodic boundaries, hanging nodes): ``{7: {2: 0.5, 3: 0.5}}`` says that
        x[7] = 0.5 x[2] + 0.5 x[3], and ``{7: {}}`` that x[7] = 0. The matrix is then C^T A C of the other unknowns, in their order, where C is
        ``expansion``. The unknowns on the right have no constraint of their own, and the shape is square.
    ignore_negative : bool
        Whether values at negative indices are left out. They are an error otherwise.
    threads : int, optional
        Threads of this plan; as many as the process may use if it is not given. A child process after a fork starts its own.
    device : str, optional
        ``"cuda"`` or ``"cuda:K"``: the sums run on a GPU. Indices are arrays of NumPy, or int32 on the GPU; values are float64 on the
        GPU, arrays of CuPy, PyTorch or any library with ``__cuda_array_interface__``, and are not copied. Needs NVIDIA's driver and
        runtime compiler (pip's nvidia-cuda-nvrtc, which CuPy's packages have, or that of a CUDA toolkit). Sums are enqueued on the
        default stream. If ``stream`` of an array names another one, or is missing, as in PyTorch, ``csr`` waits for all work on the
        GPU before and after; None says that there is nothing to wait for: synchronise a side stream first.

    Attributes
    ----------
    shape : (int, int)
        Rows and columns of the matrix; with constraints the number of unknowns without one.
    expansion : scipy.sparse.csr_matrix or None
        With constraints, C (n, free): ``x = C @ x_free`` has all unknowns, and ``C.T @ b`` is the right-hand side of the matrix.

    Raises
    ------
    ValueError
        For an index that is negative or outside the shape, a constraint whose unknowns are outside or constrained themselves, a weight
        that is not finite, arrays of other lengths, more than 2^32 - 2 values, rows or columns.
    TypeError
        For indices that are no integers, and constraints that are no dict of dicts.
    MemoryError
        Where memory is short.
    RuntimeError
        Where a GPU, its driver or the runtime compiler is missing or fails.

    Notes
    -----
    A plan of n values has about 5 n bytes, ``nbytes``, beside row offsets and columns of the matrix; with constraints 12 n more, and
    ``csr`` copies the values, on one thread, before it sums them: first those of two free unknowns, then the products. It may be used
    from several Python threads, whose sums wait for the same pool of threads. The lock of the interpreter is released meanwhile: arrays
    must not be changed during a call.
    """

    def __init__(
        self,
        i: ArrayLike,
        j: ArrayLike,
        shape: tuple[int, int] | None = None,
        constraints: Constraints | None = None,
        *,
        ignore_negative: bool = False,
        threads: int | None = None,
        device: str | None = None,
    ):
        i, j = _indices("i", i, 1, device), _indices("j", j, 1, device)
        if i.size != j.size:
            raise ValueError(f"i and j: have lengths {i.size} and {j.size}, expected the same")
        self._make(i, j, shape, None, constraints, ignore_negative, threads, device)
        self._values_shape = i.shape

    @classmethod
    def from_elements(
        cls,
        rows: ArrayLike,
        columns: ArrayLike | None = None,
        shape: tuple[int, int] | None = None,
        constraints: Constraints | None = None,
        *,
        ignore_negative: bool = False,
        threads: int | None = None,
        device: str | None = None,
    ) -> CooPlan:
        """Plans sums of element matrices.

        Parameters
        ----------
        rows : array_like of int, (elem, a)
            Rows of each element matrix: its nodes or degrees of freedom.
        columns : array_like of int, (elem, b), optional
            Its columns, if they are others (two spaces).
        shape, constraints, ignore_negative, threads, device
            As for the plan of index pairs. With constraints the plan makes index pairs of the elements.

        Returns
        -------
        CooPlan
            Its ``csr`` takes matrices (elem, a, b) and its ``vector`` element vectors (elem, a).
        """
        rows = _indices("rows", rows, 2, device)
        columns = rows if columns is None else _indices("columns", columns, 2, device)
        if rows.shape[0] != columns.shape[0]:
            raise ValueError(f"rows and columns: have {rows.shape[0]} and {columns.shape[0]} elements, expected the same number")
        plan = cls.__new__(cls)
        per_elem = (rows.shape[1], columns.shape[1])
        plan._make(rows.reshape(-1), columns.reshape(-1), shape, per_elem, constraints, ignore_negative, threads, device)
        plan._values_shape = (rows.shape[0], *per_elem)
        return plan

    def _make(self, i, j, shape, per_elem, constraints, ignore_negative, threads, device):
        names, widths = (("i", "j"), (1, 1)) if per_elem is None else (("rows", "columns"), per_elem)
        if i.dtype != j.dtype and device is None:
            i, j = i.astype(np.int64, copy=False), j.astype(np.int64, copy=False)
        if not ignore_negative:
            for name, indices, width in zip(names, (i, j), widths):
                if indices.size and indices.min() < 0:
                    place = ": an index"
                    if isinstance(indices, np.ndarray):
                        place = _place(indices < 0, per_elem, width)
                    raise ValueError(f"{name}{place} is negative; ignore_negative=True leaves such values out")
        if shape is None:
            shape = tuple(max(int(indices.max(initial=-1)) + 1, 0) for indices in (i, j))
            shape = shape if constraints is None else (max(shape),) * 2
        if len(shape) != 2 or min(shape) < 0:
            raise ValueError(f"shape {shape}: expected two numbers, 0 or more")
        check_threads(threads)
        self.shape = shape = (int(shape[0]), int(shape[1]))
        self._gpu = self.expansion = None
        try:
            if device is not None:
                if threads is not None:
                    raise ValueError("threads: a plan on a GPU has none")
                if constraints is not None:
                    raise ValueError("constraints: a plan on a GPU takes none")
                self._plan = self._gpu = _gpu.GpuSums(_gpu.ordinal(device), i, j, self.shape, per_elem)
                return
            if constraints is None:
                self._plan = Plan(i, j, shape, per_elem, threads)
            else:
                terms = _constraints.terms(constraints, shape)
                pairs = (i, j) if per_elem is None else _constraints.pairs(i, j, per_elem)
                self._plan = Plan.constrained(*pairs, shape[0], terms, threads)
                self.expansion = _constraints.expansion(terms, shape[0])
                self.shape = self.expansion.shape[1:] * 2
        except ValueError:
            # The search takes longer than the plan's own, so it comes after a failure only.
            for name, what, indices, width, limit in zip(names, ("row", "column"), (i, j), widths, shape):
                if isinstance(indices, np.ndarray) and indices.size and indices.max() >= limit:
                    place, index = _place(indices >= limit, per_elem, width), indices[np.argmax(indices >= limit)]
                    others = ", or a negative number to be ignored" if ignore_negative else ""
                    raise ValueError(f"{name}{place} is {index}: expected a {what} in {choices(limit)}{others}") from None
            raise
        self._pattern = Pattern(self.shape, *self._plan.pattern())

    @property
    def nnz(self) -> int:
        """Entries of the matrix."""
        return self._plan.nnz

    @property
    def nbytes(self) -> int:
        """Bytes of the plan beside row offsets and columns."""
        return self._plan.nbytes

    def csr(self, values: ArrayLike, out: csr_matrix | None = None) -> csr_matrix:
        """Sums values into a matrix.

        Parameters
        ----------
        values : array_like of float32, float64, complex64 or complex128, (n,) or (elem, a, b)
            One value per pair of the plan, in its order. Other real types are taken as float64, other complex ones as complex128.
        out : scipy.sparse.csr_matrix, optional
            A matrix that this plan returned, whose values are overwritten.

        Returns
        -------
        scipy.sparse.csr_matrix
            With sorted columns and without duplicates. All matrices of a plan share row offsets and columns, which are read-only:
            methods that change them in place, such as ``eliminate_zeros``, need a ``copy()``. On a GPU it is that of
            ``cupyx.scipy.sparse``, whose arrays have no protection: sums follow the work on CuPy's default stream.
        """
        if self._gpu is not None:
            return self._gpu.csr(values, self._values_shape, out)
        values = numbers("values", values, self._values_shape)
        matrix = self._pattern.matrix(values.dtype, out)
        self._plan.sum_entries(values, matrix.data)
        return matrix

    def csr_arrays(self, values: ArrayLike, out=None) -> tuple:
        """Sums as ``csr`` does, without CuPy.

        Parameters
        ----------
        values : array_like
            As for ``csr``.
        out : array, (nnz,), optional
            Values to overwrite, contiguous and writable; on a GPU an array of any library, of float64.

        Returns
        -------
        data, indices, indptr
            The arrays of the matrix: of NumPy, or with ``__cuda_array_interface__``, as ``torch.as_tensor`` takes them.
        """
        if self._gpu is not None:
            return self._gpu.sum(values, self._values_shape, out), self._gpu.indices, self._gpu.indptr
        values = numbers("values", values, self._values_shape)
        data = np.empty(self.nnz, values.dtype) if out is None else _entries(out, values.dtype, self.nnz)
        self._plan.sum_entries(values, data)
        return data, self._pattern.indices, self._pattern.indptr

    def vector(self, values: ArrayLike) -> NDArray:
        """Sums element vectors (elem, a), or one value per pair, into the rows: the right-hand side beside ``csr``. Not with
        constraints, and not on a GPU: there a plan with one column does it."""
        if self._gpu is not None:
            raise NotImplementedError("vector: not on a GPU; CooPlan(i, zeros, (rows, 1), device=...) sums into rows")
        if self.expansion is not None:
            raise NotImplementedError("vector: not with constraints; plan.expansion.T @ b reduces the vector b of a plan without them")
        values = numbers("values", values, self._values_shape[:2])
        rows = np.empty(self.shape[0], values.dtype)
        self._plan.sum_rows(values, rows)
        return rows

    def __repr__(self):
        return f"<CooPlan of {self.shape[0]} x {self.shape[1]} with {self.nnz} entries from {self._plan.value_count} values>"


def _place(is_wrong, per_elem, width):
    """Subscript of the first index that is wrong."""
    at = int(np.argmax(is_wrong))
    return f"[{at}]" if per_elem is None else "[{}, {}]".format(*divmod(at, width))


def _entries(out, dtype, nnz):
    """Returns the array to overwrite, if it can take the entries."""
    if not isinstance(out, np.ndarray) or out.dtype != dtype or not out.flags.c_contiguous:
        raise TypeError(f"out: expected a contiguous array of {np.dtype(dtype)}")
    if out.shape != (nnz,):
        raise ValueError(f"out: has shape {out.shape}, expected {(nnz,)}")
    check_writable("out", out)
    return out


def _indices(name, given, dims, device):
    is_on_gpu = device is not None and _gpu.is_array(given)
    array = _gpu.Array(name, given, np.dtype(np.int32)) if is_on_gpu else np.asarray(given)
    if array.ndim == dims and is_on_gpu:
        return array
    if array.size == 0 and not is_on_gpu:
        array = array.astype(np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: has type {array.dtype}, expected integers")
    if array.ndim != dims:
        raise ValueError(f"{name}: has {array.ndim} dimensions, expected {dims}")
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{name}: an index is {array.max()}, expected at most 2^32 - 3")
    kind = array.dtype.newbyteorder("=") if array.dtype in (np.int32, np.int64) else np.dtype(np.int64)
    return np.ascontiguousarray(array, kind)
