"""Graphs and fills beside scipy.sparse on the same elements."""

import os
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_matrix

from meshes import cube
from minifenl import CooPlan, Fill, Form, Graph, Mesh

STRATEGIES = ["gather", "scatter", "colour"]


def rows_of(cells, dofs=1):
    """Unknowns of each element: dofs m + c of component c at node m."""
    cells = np.asarray(cells, np.int64)
    return (cells[:, :, None] * dofs + np.arange(dofs)).reshape(len(cells), cells.shape[1] * dofs)


def expected(cells, matrices, nodes, dofs=1):
    rows = rows_of(cells, dofs)
    k = rows.shape[1]
    i, j = np.repeat(rows, k, axis=1).ravel(), np.tile(rows, (1, k)).ravel()
    matrix = coo_matrix((np.ravel(matrices), (i, j)), (nodes * dofs,) * 2).tocsr()
    matrix.sum_duplicates()
    return matrix


def elements(elems=700, nodes=300, k=5, dofs=1, seed=0):
    random = np.random.default_rng(seed)
    return random.integers(0, nodes, (elems, k)), random.standard_normal((elems, k * dofs, k * dofs))


def check(matrix, wanted, tolerance=1e-12):
    matrix.check_format(full_check=True)
    assert matrix.shape == wanted.shape and matrix.has_canonical_format
    assert (matrix.indptr == wanted.indptr).all() and (matrix.indices == wanted.indices).all()
    assert np.allclose(matrix.data, wanted.data, rtol=0, atol=tolerance)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("dofs", [1, 2, 3])
def test_sums_are_those_of_scipy(strategy, dofs):
    cells, matrices = elements(dofs=dofs)
    graph = Graph(cells, 310, dofs)
    assert graph.shape == (310 * dofs,) * 2
    for threads in (1, 3):
        fill = Fill(graph, strategy, threads=threads)
        for step in range(2):
            check(fill.csr(matrices + step), expected(cells, matrices + step, 310, dofs))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_values_of_each_type_keep_it(strategy):
    cells, matrices = elements()
    fill = Fill(Graph(cells), strategy, threads=2)
    wanted = expected(cells, matrices, 300)
    for given, kept in [("f4", "f4"), ("f8", "f8"), (">f8", "f8")]:
        found = fill.csr(matrices.astype(given))
        assert found.dtype == np.dtype(kept)
        check(found, wanted, 1e-4 if kept == "f4" else 1e-12)
    turned = matrices * (2 - 3j)
    for given, kept in [("c8", "c8"), ("c16", "c16")]:
        found = fill.csr(turned.astype(given))
        assert found.dtype == np.dtype(kept)
        check(found, wanted * (2 - 3j), 1e-4 if kept == "c8" else 1e-12)
    check(fill.csr((10 * matrices).astype(int)), expected(cells, (10 * matrices).astype(int), 300))


def test_gather_has_the_bits_of_from_elements_on_any_number_of_threads():
    cells, matrices = elements(5000, 400)
    graph = Graph(cells, 400)
    bits = {Fill(graph, threads=threads).csr(matrices).data.tobytes() for threads in (1, 2, 3, 5)}
    bits.add(CooPlan.from_elements(cells, shape=(400, 400)).csr(matrices).data.tobytes())
    assert len(bits) == 1
    coloured = {Fill(graph, "colour", threads=threads).csr(matrices).data.tobytes() for threads in (1, 2, 3, 5)}
    assert len(coloured) == 1


@pytest.mark.parametrize("name", ["tet4", "hex8", "wedge15"])
def test_the_pattern_is_that_of_a_form(name):
    points, cells = cube(name)
    for equation, dofs in [("poisson", 1), ("elasticity", 3)]:
        coefficients = {"lam": 1.0, "mu": 1.0} if dofs == 3 else {}
        matrix = Form(Mesh(points, cells), equation, **coefficients).assemble()[0]
        graph = Graph(cells, dofs=dofs)
        assert graph.nnz == matrix.nnz and graph.shape == matrix.shape
        assert (graph.indptr == matrix.indptr).all() and (graph.indices == matrix.indices).all()


def test_matrices_share_the_graph_and_are_overwritten_in_place():
    cells, matrices = elements()
    graph = Graph(cells)
    zero, first, other = graph.csr(), Fill(graph).csr(matrices), Fill(graph, "colour")
    assert zero.nnz == graph.nnz and not zero.data.any() and graph.csr("c8").dtype == np.complex64
    for matrix in zero, first, other.csr(matrices):
        assert matrix.indices is graph.indices and matrix.indptr is graph.indptr
    data = first.data
    assert other.csr(2 * matrices, out=first) is first and first.data is data
    check(first, expected(cells, 2 * matrices, 300))
    for shared in graph.indices, graph.indptr:
        with pytest.raises(ValueError, match="read-only"):
            shared[0] = 1
    with pytest.raises(ValueError, match="out: expected a matrix that shares row offsets and columns"):
        other.csr(matrices, out=Fill(Graph(cells)).csr(matrices))
    with pytest.raises(TypeError, match="out: has values of type float64, expected complex128"):
        other.csr(1j * matrices, out=first)
    with pytest.raises(TypeError, match="out: is a ndarray"):
        other.csr(matrices, out=first.toarray())
    # SciPy's check has replaced the values by a view of them.
    first.data.setflags(write=False)
    with pytest.raises(ValueError, match="out: its values are read-only"):
        other.csr(matrices, out=first)
    check(first, expected(cells, 2 * matrices, 300))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_matrix_whose_values_were_exchanged_is_refused(strategy):
    fill = Fill(Graph([[0, 1], [1, 2]]), strategy)
    matrix = fill.csr(np.ones((2, 2, 2)))
    for data in np.ones(6), np.ones(14)[::2], np.ones((7, 1)):
        matrix.data = data
        with pytest.raises((TypeError, ValueError)):
            fill.csr(np.ones((2, 2, 2)), out=matrix)


def test_arrays_of_any_layout_are_taken():
    cells, matrices = elements()
    wanted = expected(cells, matrices, 300)
    wide_cells, wide = np.zeros((700, 10), np.int16), np.zeros((1400, 5, 5))
    wide_cells[:, ::2], wide[::2] = cells, matrices
    frozen = wide[::2]
    frozen.setflags(write=False)
    for given in wide_cells[:, ::2], np.asfortranarray(cells), cells.tolist(), cells.astype("u8"), cells.astype(">i4"):
        graph = Graph(given)
        for values in frozen, np.asfortranarray(matrices), matrices.tolist(), matrices.reshape(-1):
            check(Fill(graph).csr(values), wanted)


def test_nan_stays_where_it_is():
    for strategy in STRATEGIES:
        matrix = Fill(Graph([[0, 1], [1, 2]]), strategy).csr([[[np.nan, 1], [1, np.inf]], [[1, 1], [1, 1]]])
        assert np.isnan(matrix[0, 0]) and matrix[1, 1] == np.inf and matrix[2, 2] == 1 and np.isnan(matrix.data).sum() == 1


def test_nothing_and_little():
    assert Graph(np.empty((0, 8), int)).shape == (0, 0)
    assert "0 elements with 8 nodes: 3 x 3 with 0 entries" in repr(Graph(np.empty((0, 8)), 3))
    for strategy in STRATEGIES:
        assert Fill(Graph(np.empty((0, 8)), 3), strategy).csr(np.empty((0, 8, 8))).nnz == 0
        assert Fill(Graph([[2, 2]]), strategy).csr([[[1, 2], [3, 4]]]).toarray().tolist() == [[0] * 3, [0] * 3, [0, 0, 10]]
    assert repr(Fill(Graph([[0]]), "colour")) == "<Fill by colour of <Graph of 1 elements with 1 nodes: 1 x 1 with 1 entries>>"


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: Graph([0, 1]), ValueError, r"cells: have shape \(2,\), expected \(elem, nodes per element\)"),
        (lambda: Graph(np.empty((3, 0), int)), ValueError, r"cells: have shape \(3, 0\)"),
        (lambda: Graph([[0.5]]), TypeError, "cells: have type float64, expected integers"),
        (lambda: Graph([["a"]]), TypeError, "cells: have type"),
        (lambda: Graph([[0, 1], [2, -1]]), ValueError, r"cells\[1, 1\] is -1: expected a node in 0 to 2"),
        (lambda: Graph([[0, 1], [2, 3]], 3), ValueError, r"cells\[1, 1\] is 3: expected a node in 0 to 2"),
        (lambda: Graph([[0]], 0), ValueError, "expected a node in an empty range"),
        (lambda: Graph([[2**40]]), ValueError, "nodes 1099511627777: expected 0 to"),
        (lambda: Graph(np.array([[2**64 - 1]], "u8")), ValueError, "nodes 18446744073709551616: expected 0 to"),
        (lambda: Graph([[0]], -1), ValueError, "expected a node in an empty range"),
        (lambda: Graph(np.empty((0, 2)), -1), ValueError, "nodes -1: expected 0 to"),
        (lambda: Graph([[0]], 2**32), ValueError, "nodes 4294967296: expected 0 to"),
        (lambda: Graph([[0]], 1.5), TypeError, "float"),
        (lambda: Graph([[0]], dofs=0), ValueError, "dofs 0: expected 1 to"),
        (lambda: Graph([[0, 1]], dofs=2**31), ValueError, "32 bits"),
        (lambda: Graph([[0]], dofs=2**70), ValueError, "dofs 1180591620717411303424: expected 1 to"),
        (lambda: Graph([[0]], threads=0), ValueError, "threads 0"),
        (lambda: Fill([[0]]), TypeError, "graph: is a list, expected a Graph"),
        (lambda: Fill(Graph([[0]]), "color"), ValueError, "strategy 'color': expected one of gather, scatter, colour"),
        (lambda: Fill(Graph([[0]]), threads=-2), ValueError, "threads -2"),
        (lambda: Fill(Graph([[0, 1]])).csr(np.zeros((1, 3, 3))), ValueError, r"matrices: have shape \(1, 3, 3\), expected \(1, 2, 2\)"),
        (lambda: Fill(Graph([[0, 1]], dofs=2)).csr(np.zeros((1, 2, 2))), ValueError, r"expected \(1, 4, 4\)"),
        (lambda: Fill(Graph([[0]])).csr([["x"]]), TypeError, "matrices: have type .*, expected numbers"),
    ],
)
def test_what_is_wrong_is_an_exception_that_names_it(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_threads_of_python_share_a_fill(strategy):
    cells, matrices = elements(3000)
    fill, found = Fill(Graph(cells), strategy, threads=2), [None] * 6

    def work(at):
        found[at] = fill.csr(matrices * at)

    workers = [threading.Thread(target=work, args=(at,)) for at in range(6)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    one = fill.csr(matrices)
    assert all(np.allclose(matrix.data, one.data * at) for at, matrix in enumerate(found))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_after_a_fork_has_threads_of_its_own():
    cells, matrices = elements(3000)
    fill = Fill(Graph(cells), threads=2)
    wanted = fill.csr(matrices).data.tobytes()
    child = os.fork()
    if child == 0:
        os._exit(0 if fill.csr(matrices).data.tobytes() == wanted else 1)
    assert os.waitpid(child, 0)[1] == 0


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_any_elements(data):
    nodes, k, dofs = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
    cells = np.array(data.draw(st.lists(st.lists(st.integers(-1, nodes), min_size=k, max_size=k), max_size=8)), "i8").reshape(-1, k)
    strategy, threads = data.draw(st.sampled_from(STRATEGIES)), data.draw(st.integers(1, 3))
    if cells.size and (cells.min() < 0 or cells.max() >= nodes):
        with pytest.raises(ValueError, match="cells"):
            Graph(cells, nodes, dofs)
        return
    count = len(cells) * (k * dofs) ** 2
    # Whole numbers: sums are exact in any order.
    values = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-9, 9, count).astype(data.draw(st.sampled_from(["f4", "f8", "c16"])))
    matrices = values.reshape(len(cells), k * dofs, k * dofs)
    check(Fill(Graph(cells, nodes, dofs), strategy, threads=threads).csr(matrices), expected(cells, matrices, nodes, dofs), 0)
