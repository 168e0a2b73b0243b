"""Plans on a GPU: arguments with a stand-in for the GPU's memory, sums with CuPy where there is a GPU."""

import ctypes
import sys

import numpy as np
import pytest
from meshes import cube
from scipy.sparse import coo_matrix

from minifenl import CooPlan, _gpu


def gpu():
    """CuPy, or a skipped test."""
    cupy = pytest.importorskip("cupy", reason="no CuPy")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        pytest.skip(f"no GPU: {error}")
    return cupy


class Lent:
    """An array of NumPy that says it lies on a GPU."""

    def __init__(self, array, **more):
        self.array, found = array, array.__array_interface__
        wanted = {"shape": found["shape"], "typestr": found["typestr"], "data": found["data"], "strides": found["strides"]}
        self.__cuda_array_interface__ = {**wanted, "version": 3, "stream": 1, **more}

    def min(self):
        return self.array.min()

    def max(self):
        return self.array.max()


def at(place, dtype):
    """The array of an address and a length."""
    address, size = place
    return np.frombuffer((ctypes.c_byte * (size * np.dtype(dtype).itemsize)).from_address(address), dtype) if size else np.zeros(0, dtype)


def place(array):
    return (array.ctypes.data, array.size)


class StandIn:
    """Sums in host memory, by the calls of the plan on a GPU."""

    def __init__(self, device, i, j, shape, per_elem):
        i, j = (at(index, np.int32) if isinstance(index, tuple) else index for index in (i, j))
        assert i.dtype == j.dtype == np.int32
        if per_elem is not None:
            a, b = per_elem
            i, j = np.repeat(i, b), np.tile(j.reshape(-1, b), (1, a)).reshape(-1)
        self.pairs, self.shape, self.waits = (i.copy(), j.copy()), shape, 0
        self.pattern_of = coo_matrix((np.ones(i.size), self.pairs), shape).tocsr()
        self.value_count, self.nnz, self.nbytes = i.size, self.pattern_of.nnz, 0

    def pattern(self):
        return [place(self.pattern_of.indptr), place(self.pattern_of.indices)]

    def entries(self):
        made = np.full(self.nnz, np.nan)
        return type("GpuArray", (), {"array": made, "place": place(made)})()

    def sum_entries(self, values, out):
        if values[1] != self.value_count or out[1] != self.nnz:
            raise ValueError("`values` or `out`")
        at(out, np.float64)[:] = coo_matrix((at(values, np.float64), self.pairs), self.shape).tocsr().data

    def wait(self):
        self.waits += 1


@pytest.fixture
def stand_in(monkeypatch):
    monkeypatch.setattr(_gpu, "GpuPlan", StandIn)


def array(shared, dtype):
    """What a library makes of shared memory."""
    found = shared.__cuda_array_interface__
    assert found["version"] == 3 and found["stream"] == 1 and found["typestr"] == np.dtype(dtype).str
    return at((found["data"][0], found["shape"][0]), dtype)


I, J, V = np.array([2, 0, 2, 2, 3], np.int32), np.array([1, 0, 1, 2, 2], np.int32), np.arange(5.0)


@pytest.mark.parametrize("given", [(I, J), (list(I), J.astype(np.int64)), (Lent(I), Lent(J)), (Lent(I), J)])
def test_sums_go_to_arrays_by_their_addresses(stand_in, given):
    plan, expected = CooPlan(*given, device="cuda"), CooPlan(I, J).csr(V)
    assert plan.shape == (4, 3) and plan.nnz == 4 and "from 5 values" in repr(plan)
    data, indices, indptr = plan.csr_arrays(Lent(V))
    assert (array(data, np.float64) == expected.data).all()
    assert (array(indices, np.int32) == expected.indices).all() and (array(indptr, np.int32) == expected.indptr).all()
    out = np.full(4, np.nan)
    assert plan.csr_arrays(Lent(2 * V), out=Lent(out))[1] is indices
    assert (out == 2 * expected.data).all()


def test_elements_and_streams(stand_in):
    points, cells = cube("tet4", 2)
    values = np.random.default_rng(0).standard_normal((len(cells), 4, 4))
    plan = CooPlan.from_elements(Lent(cells.astype(np.int32)), device="cuda:1")
    data, _, _ = plan.csr_arrays(Lent(values))
    assert np.allclose(array(data, np.float64), CooPlan.from_elements(cells).csr(values).data)
    assert plan._gpu._plan.waits == 0
    # A stream that is not in order with the default one: before and after.
    plan.csr_arrays(Lent(values, stream=0x7F00))
    assert plan._gpu._plan.waits == 2
    torch_like = Lent(values)
    del torch_like.__cuda_array_interface__["stream"]
    plan.csr_arrays(torch_like)
    assert plan._gpu._plan.waits == 4
    # None says that there is nothing to wait for.
    plan.csr_arrays(Lent(values, stream=None), out=Lent(np.empty(plan.nnz), stream=2))
    assert plan._gpu._plan.waits == 4
    plan.csr_arrays(Lent(values), out=Lent(np.empty(plan.nnz), stream=0x7F00))
    assert plan._gpu._plan.waits == 6


def test_out_is_apart_from_the_values_and_may_be_written(stand_in):
    plan, both = CooPlan(I, J, device="cuda"), np.arange(9.0)
    values, out = Lent(both[:5]), Lent(both[5:])
    plan.csr_arrays(values, out=out)
    assert (both[5:] == CooPlan(I, J).csr(V).data).all()
    for start in (0, 1, 4):
        with pytest.raises(ValueError, match="out: overlaps values"):
            plan.csr_arrays(values, out=Lent(both[start : start + 4]))
    with pytest.raises(ValueError, match="out: overlaps values"):
        plan.csr_arrays(Lent(both[3:8]), out=Lent(both[:4]))
    read_only = np.zeros(5)
    read_only.flags.writeable = False
    plan.csr_arrays(Lent(read_only), out=out)
    with pytest.raises(ValueError, match="out: is read-only"):
        plan.csr_arrays(values, out=Lent(read_only[:4]))


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda plan: plan.csr_arrays(V), TypeError, "values: is a ndarray, expected an array on the GPU; cupy.asarray makes one"),
        (lambda plan: plan.csr_arrays(Lent(V.astype("f4"))), TypeError, "values: has type float32, expected float64 on a GPU"),
        (lambda plan: plan.csr_arrays(Lent(V + 1j)), TypeError, "complex128"),
        (lambda plan: plan.csr_arrays(Lent(V[:4])), ValueError, r"values: have shape \(4,\), expected \(5,\)"),
        (lambda plan: plan.csr_arrays(Lent(np.arange(10.0)[::2])), ValueError, "values: is not contiguous"),
        (lambda plan: plan.csr_arrays(Lent(V), out=Lent(V.astype("i8"))), TypeError, "out: has type int64"),
        (lambda plan: plan.vector(Lent(V)), NotImplementedError, "not on a GPU"),
        (lambda _: CooPlan(Lent(I.astype("i8")), Lent(J), device="cuda"), TypeError, "i: has type int64, expected int32 on a GPU"),
        (lambda _: CooPlan(Lent(I - 1), Lent(J), device="cuda"), ValueError, "i: an index is negative"),
        (lambda _: CooPlan([0], [2**31], (1, 2**31 + 1), device="cuda"), ValueError, "expected at most 2.31 - 1 on a GPU"),
        (lambda _: CooPlan(Lent(I.reshape(5, 1)), Lent(J), device="cuda"), ValueError, "i: has 2 dimensions"),
        (lambda _: CooPlan(I, J, device="gpu"), ValueError, "device 'gpu': expected None, cuda or cuda:K"),
        (lambda _: CooPlan(I, J, device="cuda", threads=2), ValueError, "threads"),
    ],
)
def test_what_is_wrong_is_an_exception_that_names_it(stand_in, call, kind, text):
    plan = CooPlan(I, J, device="cuda")
    with pytest.raises(kind, match=text):
        call(plan)


def test_without_cupy_there_are_arrays_but_no_matrices(stand_in, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    plan = CooPlan(I, J, device="cuda")
    with pytest.raises(ImportError, match="csr_arrays does not"):
        plan.csr(Lent(V))
    data, indices, indptr = CooPlan(I, J).csr_arrays(V)
    assert (data == CooPlan(I, J).csr(V).data).all() and indices.size == 4 and indptr.size == 5


def test_a_missing_gpu_is_one_line():
    try:
        CooPlan(I, J, device="cuda:99")
    except RuntimeError as error:
        assert "\n" not in str(error) and "GPU" in str(error)
    else:
        pytest.fail("there is no hundredth GPU")


@pytest.mark.parametrize("elements", [False, True])
def test_matrices_of_cupy_have_the_bits_of_the_host(elements):
    cupy = gpu()
    points, cells = cube("tet4", 6)
    values = np.random.default_rng(1).standard_normal((len(cells), 4, 4))
    pairs = np.repeat(cells, 4, axis=1).ravel(), np.tile(cells, (1, 4)).ravel()
    host = CooPlan.from_elements(cells).csr(values)
    if elements:
        plan = CooPlan.from_elements(cupy.asarray(cells, dtype=np.int32), device="cuda")
    else:
        plan, values = CooPlan(*pairs, device="cuda"), values.ravel()
    on_gpu = cupy.asarray(values)
    first = plan.csr(on_gpu)
    assert first.has_canonical_format and first.shape == host.shape
    assert (first.get() != host).nnz == 0 and (first.data.get() == host.data).all()
    data = first.data.data.ptr
    again = plan.csr(2 * on_gpu, out=first)
    assert again is first and first.data.data.ptr == data and (first.data.get() == 2 * host.data).all()
    second = plan.csr(on_gpu)
    assert second.indices.data.ptr == first.indices.data.ptr and second.data.data.ptr != data
    x = cupy.arange(host.shape[1], dtype=np.float64)
    assert cupy.allclose(second @ x, cupy.asarray(host @ x.get()))
    # Work that is enqueued on other streams comes before and after the sums.
    for non_blocking in (False, True):
        with cupy.cuda.Stream(non_blocking=non_blocking):
            late = cupy.zeros_like(on_gpu)
            for _ in range(50):
                late += on_gpu
            found = plan.csr(late).data.copy()
        assert np.allclose(found.get(), 50 * host.data)
    with pytest.raises(ValueError, match="this plan"):
        plan.csr(on_gpu, out=first.copy())
    with pytest.raises(ValueError, match="row in 0..2"):
        CooPlan(cupy.asarray([0, 5], dtype=np.int32), [0, 0], (2, 2), device="cuda")
