"""Plans with constraints beside C^T A C of scipy.sparse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_matrix, csr_matrix

from minifenl import CooPlan


def expansion(constraints, n):
    """C by hand, dense."""
    free = [row for row in range(n) if row not in constraints]
    matrix = np.zeros((n, len(free)))
    for row in range(n):
        for other, weight in constraints.get(row, {row: 1.0}).items():
            matrix[row, free.index(other)] += weight
    return matrix


def test_a_ring_of_springs_has_no_last_node():
    """Node 4 is node 0: the matrix is the circulant one."""
    cells = np.array([[k, k + 1] for k in range(4)])
    plan = CooPlan.from_elements(cells, constraints={4: {0: 1.0}})
    matrix = plan.csr(np.tile([[1.0, -1.0], [-1.0, 1.0]], (4, 1, 1)))
    assert matrix.toarray().tolist() == [[2, -1, 0, -1], [-1, 2, -1, 0], [0, -1, 2, -1], [-1, 0, -1, 2]]
    assert plan.shape == (4, 4) and plan.expansion.toarray().tolist() == [*np.eye(4).tolist(), [1, 0, 0, 0]]
    assert "4 x 4 with 12 entries from 16 values" in repr(plan)


def test_hanging_and_fixed_unknowns_of_any_type():
    random = np.random.default_rng(1)
    n, count = 30, 2000
    i, j, v = random.integers(0, n, count), random.integers(0, n, count), random.standard_normal(count)
    constraints = {5: {}, 29: {np.int64(3): 0.5, 0: np.float32(0.25)}, np.int32(12): {7: -2}}
    full, c = coo_matrix((v, (i, j)), (n, n)), expansion(constraints, n)
    for threads in (1, 3):
        plan = CooPlan(i, j, (n, n), constraints, threads=threads)
        assert (plan.expansion.toarray() == c).all() and isinstance(plan.expansion, csr_matrix)
        for kind, tolerance in [("f8", 1e-12), ("f4", 1e-4), ("c16", 1e-12), ("c8", 1e-4)]:
            factor = 1 + 2j if kind[0] == "c" else 1
            matrix = plan.csr((v * factor).astype(kind))
            matrix.check_format(full_check=True)
            assert matrix.dtype == np.dtype(kind) and matrix.has_canonical_format
            assert abs(matrix.toarray() - factor * (c.T @ full @ c)).max() < tolerance
    first = plan.csr(v)
    assert plan.csr(2 * v, out=first) is first and plan.csr_arrays(v, out=first.data)[0] is first.data
    assert first.data.tobytes() == CooPlan(i, j, (n, n), constraints, threads=1).csr(v).data.tobytes()
    with pytest.raises(NotImplementedError, match="expansion.T @ b"):
        plan.vector(v)


def test_solutions_satisfy_the_constraints():
    """A string of 8 springs with fixed ends, in which node 4 hangs between its neighbours."""
    cells = np.array([[k, k + 1] for k in range(8)])
    element = np.tile([[1.0, -1.0], [-1.0, 1.0]], (8, 1, 1))
    plan = CooPlan.from_elements(cells, constraints={0: {}, 8: {}, 4: {3: 0.5, 5: 0.5}})
    load = np.ones(9)
    x = plan.expansion @ np.linalg.solve(plan.csr(element).toarray(), plan.expansion.T @ load)
    assert x[0] == 0 and x[8] == 0 and abs(x[4] - (x[3] + x[5]) / 2) < 1e-15 and np.allclose(x, x[::-1])


def test_without_any_constraint_it_is_the_same_matrix():
    random = np.random.default_rng(2)
    i, j, v = random.integers(0, 9, 200), random.integers(0, 9, 200), random.standard_normal(200)
    assert (CooPlan(i, j, (9, 9), {}).csr(v) != CooPlan(i, j, (9, 9)).csr(v)).nnz == 0
    assert CooPlan([0], [0], constraints={0: {}}).csr([5.0]).shape == (0, 0)
    assert CooPlan([], [], (3, 3), {1: {}}).csr([]).shape == (2, 2)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: CooPlan([0], [0], (2, 3), {}), ValueError, r"constraints: the matrix has shape \(2, 3\), expected a square one"),
        (lambda: CooPlan([0], [0], (2, 2), [(0, {})]), TypeError, "constraints: is a list, expected a dict"),
        (lambda: CooPlan([0], [0], (2, 2), {0: 1}), TypeError, r"constraints\[0\]: is a int, expected a dict"),
        (lambda: CooPlan([0], [0], (2, 2), {0: {1: 1j}}), TypeError, r"constraints\[0\]"),
        (lambda: CooPlan([0], [0], (2, 2), {0: {1: "x"}}), ValueError, r"constraints\[0\]"),
        (lambda: CooPlan([0], [0], (2, 2), {0.5: {}}), TypeError, "constraints: the unknown 0.5 is no integer"),
        (lambda: CooPlan([0], [0], (2, 2), {"a": {}}), TypeError, "constraints: the unknown 'a' is no integer"),
        (lambda: CooPlan([0], [0], (2, 2), {-1: {}}), ValueError, "the unknown -1 is outside, expected 0 to 1"),
        (lambda: CooPlan([0], [0], (2, 2), {0: {2: 1.0}}), ValueError, r"constraints\[0\]: .*the unknown 2 is outside, expected 0 to 1"),
        (lambda: CooPlan([0], [0], (2, 2), {0: {2**70: 1.0}}), ValueError, "is outside"),
        (lambda: CooPlan([0], [0], (2, 2), {0: {1: np.nan}}), ValueError, "expected a finite number"),
        (lambda: CooPlan([0], [0], (2, 2), {0: {1: -np.inf}}), ValueError, "expected a finite number"),
        (lambda: CooPlan([0], [0], (3, 3), {0: {1: 1.0}, 1: {2: 1.0}}), ValueError, "dof 1 is constrained, too"),
        (lambda: CooPlan([0], [0], (3, 3), {0: {0: 1.0}}), ValueError, "dof 0 is constrained, too"),
        (lambda: CooPlan([0, 5], [0, 0], (2, 2), {0: {}}), ValueError, r"i\[1\] is 5: expected a row in 0 to 1$"),
        (lambda: CooPlan([0, -5], [0, 0], (2, 2), {0: {}}), ValueError, r"i\[1\] is negative"),
        (lambda: CooPlan.from_elements([[0, 1], [2, 3]], shape=(3, 3), constraints={0: {}}), ValueError, r"rows\[1, 1\] is 3"),
        (lambda: CooPlan([0], [0], (2, 2), {0: {}}, device="cuda"), (ValueError, RuntimeError), "constraints|GPU|CUDA"),
        (lambda: CooPlan([0], [0], (1, 1), {0: {}}).csr([1.0, 2.0]), ValueError, "values: have shape"),
    ],
)
def test_what_is_wrong_is_an_exception_that_names_it(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_any_constraints(data):
    n = data.draw(st.integers(1, 8))
    bound = data.draw(st.sets(st.integers(0, n - 1)))
    free = [row for row in range(n) if row not in bound]
    terms = st.dictionaries(st.sampled_from(free), st.integers(-4, 4)) if free else st.just({})
    constraints = {row: data.draw(terms) for row in bound}
    size = data.draw(st.integers(0, 30))
    i, j, v = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-1, n, (3, size))
    c, kept = expansion(constraints, n), (i >= 0) & (j >= 0)
    full = coo_matrix((v[kept], (i[kept], j[kept])), (n, n)).toarray()
    plan = CooPlan(i, j, (n, n), constraints, ignore_negative=True, threads=data.draw(st.integers(1, 3)))
    assert (plan.csr(v).toarray() == c.T @ full @ c).all()
    assert (plan.expansion.toarray() == c).all()
