"""Plans beside scipy.sparse on the same pairs."""

import os
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_matrix

from minifenl import CooPlan


def pairs(n, rows, columns, seed=0, dtype=np.int32):
    random = np.random.default_rng(seed)
    return random.integers(0, rows, n, dtype), random.integers(0, columns, n, dtype), random.standard_normal(n)


def check(matrix, expected, tolerance=1e-13):
    expected = expected.tocsr()
    expected.sum_duplicates()
    assert matrix.shape == expected.shape and matrix.has_canonical_format
    matrix.check_format(full_check=True)
    assert abs(matrix - expected).max() <= tolerance if matrix.nnz else expected.nnz == 0


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.uint64])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_sums_are_those_of_scipy(dtype, threads):
    i, j, v = pairs(5000, 70, 90, dtype=dtype)
    plan = CooPlan(i, j, (70, 90), threads=threads)
    for step in range(3):
        check(plan.csr(v + step), coo_matrix((v + step, (i, j)), (70, 90)))
    assert np.allclose(plan.vector(v), np.bincount(i.astype(int), v, 70))


def test_values_of_each_type_keep_it():
    i, j, v = pairs(500, 9, 9)
    plan = CooPlan(i, j)
    for kind, expected in [("f4", "f4"), ("f8", "f8"), ("i4", "f8"), ("?", "f8"), (">f8", "f8"), ("f2", "f8")]:
        found = plan.csr((10 * v).astype(kind))
        assert found.dtype == np.dtype(expected)
        check(found, coo_matrix(((10 * v).astype(kind).astype(expected), (i, j))), 1e-4 if expected == "f4" else 1e-12)
    for kind, expected in [("c8", "c8"), ("c16", "c16"), (">c16", "c16")]:
        values = (v + 1j * v[::-1]).astype(kind)
        found = plan.csr(values)
        assert found.dtype == np.dtype(expected)
        check(found, coo_matrix((values.astype(expected), (i, j))), 1e-5 if expected == "c8" else 1e-13)
        assert np.allclose(plan.vector(values), np.bincount(i, v) + 1j * np.bincount(i, v[::-1]), atol=1e-5)


def test_complex_sums_have_the_bits_of_their_parts():
    i, j, v = pairs(5000, 70, 90)
    w = np.random.default_rng(1).standard_normal(v.size)
    plan = CooPlan(i, j, (70, 90), threads=2)
    matrix = plan.csr(v + 1j * w)
    assert (matrix.data.real == plan.csr(v).data).all() and (matrix.data.imag == plan.csr(w).data).all()
    with pytest.raises(TypeError, match="out: has values of type complex128, expected float64"):
        plan.csr(v, out=matrix)


def test_bits_do_not_depend_on_threads():
    i, j, v = pairs(20000, 50, 50)
    bits = {CooPlan(i, j, threads=threads).csr(v).data.tobytes() for threads in (1, 2, 3, 5)}
    assert len(bits) == 1


def test_matrices_share_their_pattern_and_are_overwritten_in_place():
    i, j, v = pairs(500, 9, 9)
    plan = CooPlan(i, j)
    first = plan.csr(v)
    data = first.data
    assert plan.csr(2 * v).indices is first.indices
    again = plan.csr(3 * v, out=first)
    assert again is first and again.data is data and np.allclose(data, plan.csr(v).data * 3)
    for shared in first.indices, first.indptr:
        with pytest.raises(ValueError, match="read-only"):
            shared[0] = 1
    with pytest.raises(ValueError, match="shares row offsets and columns"):
        plan.csr(v, out=coo_matrix((v, (i, j))).tocsr())
    with pytest.raises(TypeError, match="float64"):
        plan.csr(v.astype("f4"), out=first)
    with pytest.raises(ValueError, match="read-only"):
        first.eliminate_zeros()
    first.copy().eliminate_zeros()


@pytest.mark.parametrize(
    ("out", "kind", "text"),
    [
        (lambda matrix: matrix.tocoo(), TypeError, "out: is a coo_matrix, expected a csr_matrix"),
        (lambda matrix: matrix.toarray(), TypeError, "out: is a ndarray, expected a csr_matrix"),
        (lambda matrix: matrix.data.setflags(write=False) or matrix, ValueError, "out: its values are read-only"),
    ],
)
def test_matrices_that_cannot_be_overwritten_are_refused(out, kind, text):
    plan = CooPlan([0, 1], [1, 0])
    with pytest.raises(kind, match=text):
        plan.csr([1.0, 2.0], out=out(plan.csr([3.0, 4.0])))


@pytest.mark.parametrize(
    ("out", "kind", "text"),
    [
        (np.zeros(3), ValueError, r"out: has shape \(3,\), expected \(2,\)"),
        (np.zeros(2, "f4"), TypeError, "out: expected a contiguous array of float64"),
        (np.zeros(4)[::2], TypeError, "out: expected a contiguous array of float64"),
        ([0.0, 0.0], TypeError, "out: expected a contiguous array of float64"),
        (np.frombuffer(bytes(16)), ValueError, "out: its values are read-only"),
    ],
)
def test_arrays_that_cannot_be_overwritten_are_refused(out, kind, text):
    with pytest.raises(kind, match=text):
        CooPlan([0, 1], [1, 0]).csr_arrays([1.0, 2.0], out=out)


def test_arrays_of_any_layout_are_taken():
    i, j, v = pairs(600, 30, 30)
    expected = CooPlan(i[::2].copy(), j[::2].copy(), (30, 30)).csr(v[::2].copy())
    for array in i, j, v:
        array.setflags(write=False)
    found = CooPlan(i[::2], j[::2], (30, 30)).csr(v[::2])
    assert (found != expected).nnz == 0
    assert (CooPlan(list(i[::2]), j[::2].astype(np.int64), (30, 30)).csr(list(v[::2])) != expected).nnz == 0


def test_element_matrices_and_vectors():
    random = np.random.default_rng(3)
    nodes, faces = random.integers(0, 40, (300, 4)), random.integers(0, 20, (300, 3))
    square, wide, loads = (random.standard_normal(shape) for shape in [(300, 4, 4), (300, 4, 3), (300, 4)])
    plan = CooPlan.from_elements(nodes, shape=(40, 40))
    i, j = np.repeat(nodes, 4, axis=1), np.tile(nodes, (1, 4))
    check(plan.csr(square), coo_matrix((square.ravel(), (i.ravel(), j.ravel())), (40, 40)))
    assert np.allclose(plan.vector(loads), np.bincount(nodes.ravel(), loads.ravel(), 40))
    mixed = CooPlan.from_elements(nodes, faces, (40, 20)).csr(wide)
    i, j = np.repeat(nodes, 3, axis=1), np.tile(faces, (1, 4))
    check(mixed, coo_matrix((wide.ravel(), (i.ravel(), j.ravel())), (40, 20)))


def test_nothing_and_little():
    assert CooPlan([], []).csr([]).shape == (0, 0)
    assert CooPlan([], [], (3, 4)).csr([]).nnz == 0
    assert CooPlan([2], [1]).csr([5]).toarray().tolist() == [[0, 0], [0, 0], [0, 5]]
    assert CooPlan.from_elements(np.empty((0, 8), int), shape=(3, 3)).csr(np.empty((0, 8, 8))).nnz == 0
    assert "2 x 2 with 1 entries from 2 values" in repr(CooPlan([1, 1], [1, 1]))


def test_negative_indices_are_left_out_if_asked():
    plan = CooPlan([0, -1, 1], [1, 0, -5], (2, 2), ignore_negative=True)
    assert plan.csr([1.0, 2.0, 4.0]).toarray().tolist() == [[0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: CooPlan([0, -1], [0, 0]), ValueError, r"i\[1\] is negative"),
        (lambda: CooPlan([0, 5], [0, 0], (2, 2)), ValueError, r"i\[1\] is 5: expected a row in 0 to 1$"),
        (lambda: CooPlan([0, 5], [0, 0], (2, 2), ignore_negative=True), ValueError, "0 to 1, or a negative number to be ignored"),
        (lambda: CooPlan([0], [0], (0, 3)), ValueError, r"i\[0\] is 0: expected a row in an empty range"),
        (lambda: CooPlan.from_elements([[0, 1], [2, 3]], shape=(3, 4)), ValueError, r"rows\[1, 1\] is 3: expected a row in 0 to 2"),
        (lambda: CooPlan([0], [2**40], (2, 2)), ValueError, r"j\[0\]"),
        (lambda: CooPlan([0], np.array([2**64 - 1], "u8")), ValueError, "index"),
        (lambda: CooPlan([0, 1], [0]), ValueError, "i and j: have lengths 2 and 1"),
        (lambda: CooPlan([0.5], [0]), TypeError, "float64, expected integers"),
        (lambda: CooPlan([[0]], [[0]]), ValueError, "dimensions"),
        (lambda: CooPlan(["a"], [0]), TypeError, "integers"),
        (lambda: CooPlan([0], [0], (2,)), ValueError, "shape"),
        (lambda: CooPlan([0], [0], (-2, 1)), ValueError, "shape"),
        (lambda: CooPlan([0], [0], threads=0), ValueError, "threads"),
        (lambda: CooPlan([0], [0], (2**33, 1)), ValueError, "rows"),
        (lambda: CooPlan([0], [0]).csr([1.0, 2.0]), ValueError, "shape"),
        (lambda: CooPlan([0], [0]).csr(["x"]), TypeError, "expected numbers"),
        (lambda: CooPlan.from_elements([[0, 1]]).csr(np.zeros((1, 3, 3))), ValueError, "shape"),
        (lambda: CooPlan.from_elements([0, 1]), ValueError, "dimensions"),
        (lambda: CooPlan.from_elements([[0, 1, 2], [3, -1, -2]]), ValueError, r"rows\[1, 1\] is negative"),
        (lambda: CooPlan.from_elements([[0, 1, 2], [3, 4, 5]], [[0, 1], [2, -1]]), ValueError, r"columns\[1, 1\] is negative"),
        (lambda: CooPlan.from_elements([[0]], [[0], [1]]), ValueError, "rows and columns: have 1 and 2 elements"),
    ],
)
def test_what_is_wrong_is_an_exception_that_names_it(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_nan_and_infinity_stay_where_they_are():
    matrix = CooPlan([0, 0, 1], [0, 0, 1]).csr([np.nan, 1.0, np.inf])
    assert np.isnan(matrix[0, 0]) and matrix[1, 1] == np.inf


def test_threads_of_python_share_a_plan():
    i, j, v = pairs(20000, 100, 100)
    plan, found = CooPlan(i, j, threads=2), [None] * 6

    def work(at):
        found[at] = plan.csr(v * at)

    workers = [threading.Thread(target=work, args=(at,)) for at in range(6)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    one = plan.csr(v)
    assert all(np.allclose(matrix.data, one.data * at) for at, matrix in enumerate(found))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_after_a_fork_has_threads_of_its_own():
    i, j, v = pairs(20000, 100, 100)
    plan = CooPlan(i, j, threads=2)
    expected = plan.csr(v)
    child = os.fork()
    if child == 0:
        os._exit(0 if (plan.csr(v) != expected).nnz == 0 else 1)
    assert os.waitpid(child, 0)[1] == 0


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_any_pairs(data):
    rows, columns = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 12))
    pair = st.tuples(st.integers(-2, rows + 1), st.integers(-2, columns + 1), st.floats(-8, 8, width=32))
    triples = data.draw(st.lists(pair, max_size=40))
    i, j, v = (np.array([triple[k] for triple in triples], "i8" if k < 2 else "f8") for k in range(3))
    ignore, threads = data.draw(st.booleans()), data.draw(st.integers(1, 3))
    too_large = (i >= rows).any() or (j >= columns).any()
    if too_large or not ignore and ((i < 0).any() or (j < 0).any()):
        with pytest.raises(ValueError):
            CooPlan(i, j, (rows, columns), ignore_negative=ignore, threads=threads)
        return
    kept = (i >= 0) & (j >= 0)
    matrix = CooPlan(i, j, (rows, columns), ignore_negative=ignore, threads=threads).csr(v)
    check(matrix, coo_matrix((v[kept], (i[kept], j[kept])), (rows, columns)), 1e-12)
