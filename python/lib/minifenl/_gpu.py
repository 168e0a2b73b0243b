"""Sums on a GPU, in arrays of CuPy, PyTorch and others that have ``__cuda_array_interface__``."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import math
import re
from pathlib import Path

import numpy as np

from ._minifenl import GpuPlan

_FLOAT64 = np.dtype(np.float64)
# Streams in order with the default stream: none to wait for, it, and that of a thread. An array that names no stream may be of any.
_ORDERED = (None, 1, 2)


def ordinal(device):
    """Returns the number of a GPU, from ``cuda`` or ``cuda:K``."""
    found = re.fullmatch(r"cuda(?::(\d{1,3}))?", str(device))
    if found is None:
        raise ValueError(f"device {device!r}: expected None, cuda or cuda:K")
    return int(found[1] or 0)


def is_array(given):
    """Whether an array lies on a GPU."""
    return hasattr(given, "__cuda_array_interface__")


class Array:
    """An array of another library, by address."""

    def __init__(self, name, given, dtype):
        if not is_array(given):
            raise TypeError(f"{name}: is a {type(given).__name__}, expected an array on the GPU; cupy.asarray makes one")
        # Without NumPy's functions, of which each takes microseconds.
        found = given.__cuda_array_interface__
        if found["typestr"] != dtype.str and np.dtype(found["typestr"]) != dtype:
            raise TypeError(f"{name}: has type {np.dtype(found['typestr'])}, expected {dtype} on a GPU")
        self.given, self.name, self.dtype, self.shape = given, name, dtype, tuple(found["shape"])
        self.ndim, self.size = len(self.shape), math.prod(self.shape)
        strides = found.get("strides")
        if self.size > 0 and strides is not None:
            packed = tuple(math.prod(self.shape[k + 1 :]) * dtype.itemsize for k in range(self.ndim))
            if tuple(strides) != packed:
                raise ValueError(f"{name}: is not contiguous; ascontiguousarray makes it so")
        address, self.is_read_only = found["data"]
        self.place, self.end = (address, self.size), address + self.size * dtype.itemsize
        self.is_ordered = found.get("stream", "not named") in _ORDERED

    def min(self):
        """The least item, which the GPU finds."""
        return int(self.given.min())

    def max(self, initial):
        """The largest item, which the GPU finds."""
        return max(initial, int(self.given.max())) if self.size else initial

    def reshape(self, _):
        """The same items: addresses have no shape."""
        return self


class _Shared:
    """Memory of this package for other libraries, which keep its owner alive."""

    def __init__(self, owner, place, dtype):
        self.owner = owner
        address, size = place
        self.__cuda_array_interface__ = {
            "shape": (size,), "typestr": np.dtype(dtype).str, "data": (address, False), "strides": None, "stream": 1, "version": 3,
        }  # fmt: skip


class GpuSums:
    """The pattern and the sums of a ``CooPlan`` on a GPU."""

    def __init__(self, device, i, j, shape, per_elem):
        _load_nvrtc()
        places = [index.place if isinstance(index, Array) else _narrow(index) for index in (i, j)]
        self._plan, self._shape = GpuPlan(device, *places, shape, per_elem), shape
        self.value_count, self.nnz, self.nbytes = self._plan.value_count, self._plan.nnz, self._plan.nbytes
        self.indptr, self.indices = (_Shared(self._plan, place, np.int32) for place in self._plan.pattern())
        self._matrix = None

    def csr(self, values, shape, out):
        """Sums into a matrix of CuPy, ``out`` or a new one."""
        try:
            import cupy
            from cupyx.scipy.sparse import csr_matrix
        except ImportError:
            raise ImportError("csr: needs CuPy for a matrix on a GPU; csr_arrays does not") from None
        if self._matrix is None:
            self._matrix = tuple(cupy.asarray(array) for array in (self.indices, self.indptr))
        indices, indptr = self._matrix
        if out is not None:
            if not isinstance(out, csr_matrix):
                raise TypeError(f"out: is a {type(out).__name__}, expected a csr_matrix that this plan returned")
            if out.indices.data.ptr != indices.data.ptr or out.indptr.data.ptr != indptr.data.ptr:
                raise ValueError("out: expected a matrix that this plan returned")
            self.sum(values, shape, out.data)
            return out
        matrix = csr_matrix((cupy.asarray(self.sum(values, shape)), indices, indptr), shape=self._shape)
        matrix.has_canonical_format = True
        return matrix

    def sum(self, values, shape, out=None):
        """Sums into an array, ``out`` or a new one."""
        values = Array("values", values, _FLOAT64)
        if values.shape != shape and values.shape != (math.prod(shape),):
            raise ValueError(f"values: have shape {values.shape}, expected {shape}")
        if out is None:
            made = self._plan.entries()
            out = _Shared(made, made.place, np.float64)
        into = Array("out", out, _FLOAT64)
        if into.is_read_only:
            raise ValueError("out: is read-only")
        if max(values.place[0], into.place[0]) < min(values.end, into.end):
            raise ValueError("out: overlaps values")
        is_ordered = values.is_ordered and into.is_ordered
        if not is_ordered:
            self._plan.wait()
        self._plan.sum_entries(values.place, into.place)
        if not is_ordered:
            self._plan.wait()
        return out


def _narrow(indices):
    if indices.size and indices.max() > np.iinfo(np.int32).max:
        raise ValueError(f"an index is {indices.max()}, expected at most 2^31 - 1 on a GPU")
    return np.ascontiguousarray(np.maximum(indices, -1), np.int32)


def _load_nvrtc():
    """Loads the runtime compiler of the newest package ``nvidia-cuda-nvrtc``; without one, the system's is found."""
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(folder) for folder in (spec.submodule_search_locations or () if spec else ())]
    found = [path for folder in folders for path in folder.glob("*/lib/libnvrtc.so.[0-9]*")]
    for path in sorted(found, key=lambda path: path.name)[-1:]:
        with contextlib.suppress(OSError):
            ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
