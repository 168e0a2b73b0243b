"""Dirichlet conditions beside their definition on dense matrices."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from minifenl import dirichlet


def system(n=30, seed=0, kind=sp.csr_matrix):
    random = np.random.default_rng(seed)
    half = sp.random(n, n, 0.15, random_state=seed)
    return kind(half + half.T + 4 * sp.identity(n)), random.standard_normal(n)


def eliminated(a, b, rows, values):
    a, b, imposed = a.toarray(), b.copy(), np.zeros(len(b))
    imposed[rows] = values
    diagonal = a.diagonal()[rows]
    b -= a @ imposed
    a[rows] = a[:, rows] = 0
    a[rows, rows], b[rows] = diagonal, diagonal * imposed[rows]
    return a, b


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 99), st.lists(st.integers(0, 29), unique=True), st.integers(1, 3), st.booleans())
def test_conditions_are_their_definition(seed, rows, threads, mask):
    a, b = system(seed=seed)
    values = np.random.default_rng(seed).standard_normal(len(rows))
    rows, order = np.array(rows, int), np.argsort(rows)
    expected = eliminated(a, b, rows, values)
    given = np.isin(np.arange(30), rows) if mask else rows
    data, before = a.data, b
    dirichlet(a, b, given, values[order] if mask else values, threads=threads)
    assert a.data is data and b is before
    assert np.allclose(a.toarray(), expected[0], atol=1e-14) and np.allclose(b, expected[1], atol=1e-13)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("width", [np.int32, np.int64])
def test_matrices_of_any_width_and_order(kind, width):
    a, b = system(kind=kind)
    twice = kind((np.repeat(a.data / 2, 2), np.repeat(a.indices, 2).astype(width), 2 * a.indptr.astype(width)), a.shape)
    expected = eliminated(a, b, [3, 7], 2.0)
    for matrix in a, twice:
        rhs = b.copy()
        dirichlet(matrix, rhs, [7, 3], 2.0)
        assert np.allclose(matrix.toarray(), expected[0]) and np.allclose(rhs, expected[1])


def zero_diagonal():
    a, _ = system()
    a[4, 4] = 0.0
    return a


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda a, b: dirichlet(a.tocsc(), b, [0]), TypeError, "csc_matrix of float64, expected a csr_matrix"),
        (lambda a, b: dirichlet(a.astype("f4"), b, [0]), TypeError, "float32"),
        (lambda a, b: dirichlet(a.toarray(), b, [0]), TypeError, "ndarray"),
        (lambda a, b: dirichlet(a[:20].tocsr(), b, [0]), ValueError, "square"),
        (lambda a, b: dirichlet(a, b[:20], [0]), ValueError, "b: has shape"),
        (lambda a, b: dirichlet(a, list(b), [0]), TypeError, "b: expected"),
        (lambda a, b: dirichlet(a, np.repeat(b, 2)[::2], [0]), TypeError, "b: expected"),
        (lambda a, b: dirichlet(a, b, [0, 30]), ValueError, r"rows\[1\] is 30: expected an unknown in 0 to 29"),
        (lambda a, b: dirichlet(a, b, [-1]), ValueError, r"rows\[0\] is -1"),
        (lambda a, b: dirichlet(a, b, [0.0]), TypeError, "rows: has type float64"),
        (lambda a, b: dirichlet(a, b, [[0]]), ValueError, "rows: has 2 dimensions"),
        (lambda a, b: dirichlet(a, b, np.ones(29, bool)), ValueError, "mask of shape"),
        (lambda a, b: dirichlet(a, b, [0, 1], [1.0]), ValueError, "values: have shape"),
        (lambda a, b: dirichlet(a, b, [0], threads=0), ValueError, "threads"),
        (lambda a, b: dirichlet(zero_diagonal(), b, [4]), ValueError, "row 4 is fixed and its diagonal entry is 0"),
        (lambda a, b: dirichlet(sp.csr_matrix((30, 30)), b, [4]), ValueError, "row 4 is fixed and has no diagonal entry"),
    ],
)
def test_what_is_wrong_is_an_exception_and_changes_nothing(call, kind, text):
    a, b = system()
    before = a.copy(), b.copy()
    with pytest.raises(kind, match=text):
        call(a, b)
    assert (a != before[0]).nnz == 0 and (b == before[1]).all()


def test_read_only_arrays_are_refused():
    a, b = system()
    b.setflags(write=False)
    with pytest.raises(TypeError, match="writable"):
        dirichlet(a, b, [0])
    a.data.setflags(write=False)
    with pytest.raises(ValueError, match="A: its values are read-only"):
        dirichlet(a, b.copy(), [0])
