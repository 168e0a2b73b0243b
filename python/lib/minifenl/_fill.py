"""Graphs of element tables, and sums of element matrices on them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from ._arrays import Pattern, check_nodes, check_threads, numbers
from ._minifenl import Fill as _Fill
from ._minifenl import Graph as _Graph

__all__ = ["Fill", "Graph"]

_STRATEGIES = ("gather", "scatter", "colour")


class Graph:
    """The sparsity pattern of the matrix of a table of elements: an entry for each pair of nodes of an element.

    Parameters
    ----------
    cells : array_like of int, (elem, p)
        The p nodes of each element, of any number and in any order. An element may have a node twice.
    nodes : int, optional
        Number of nodes; the largest one and one if it is not given. Nodes of no element have empty rows.
    dofs : int
        Unknowns per node. Unknown c at node m is row ``dofs m + c``, and rows of element matrices have the same order: the
        components of the first node, then those of the second.
    threads : int, optional
        Threads that find the pattern; as many as the process may use if it is not given.

    Attributes
    ----------
    dofs, cells_shape
        Unknowns per node, and the shape (elem, p) of the table.
    indptr, indices : ndarray of int32 or int64
        Row offsets (n + 1,) and sorted columns (nnz,), read-only. All matrices of the graph share them.

    Raises
    ------
    ValueError
        For a node that is negative or outside the number of nodes, no node per element, no unknown per node, arrays of other shapes, and
        more than 2^32 - 2 unknowns or rows of element matrices.
    TypeError
        For cells that are no integers.
    MemoryError
        Where memory is short.

    Notes
    -----
    Elements have k = dofs p unknowns. Beside the pattern a graph keeps, per element, 4 k bytes of rows and k^2 positions, where each
    number goes. A position has 1 byte; 2 if a row of the pattern has more than 255 entries, 4 beyond 65 535.
    """

    def __init__(self, cells: ArrayLike, nodes: int | None = None, dofs: int = 1, *, threads: int | None = None):
        cells = np.asarray(cells)
        if cells.ndim != 2 or cells.shape[1] == 0:
            raise ValueError(f"cells: have shape {cells.shape}, expected (elem, nodes per element)")
        if cells.size == 0:
            cells = cells.astype(np.int32)
        nodes = check_nodes(cells, nodes)
        for name, count, least in [("nodes", nodes, 0), ("dofs", dofs, 1)]:
            if not least <= count < 2**32 - 1:
                raise ValueError(f"{name} {count}: expected {least} to 2^32 - 2")
        check_threads(threads)
        self.dofs, self.cells_shape = dofs, cells.shape
        self._graph = _Graph(np.ascontiguousarray(cells, np.uint32), nodes, dofs, threads)
        self._pattern = Pattern((nodes * dofs, nodes * dofs), *self._graph.pattern())

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return self._pattern.shape

    @property
    def nnz(self) -> int:
        """Entries of the matrix."""
        return self._pattern.indices.size

    @property
    def indptr(self) -> NDArray:
        """Row offsets."""
        return self._pattern.indptr

    @property
    def indices(self) -> NDArray:
        """Columns, sorted in each row."""
        return self._pattern.indices

    def csr(self, dtype=np.float64) -> csr_matrix:
        """Returns the zero matrix on the graph, all of whose entries are stored."""
        matrix = self._pattern.matrix(np.dtype(dtype))
        matrix.data.fill(0)
        return matrix

    def __repr__(self):
        elems, per_elem = self.cells_shape
        return f"<Graph of {elems} elements with {per_elem} nodes: {self.shape[0]} x {self.shape[1]} with {self.nnz} entries>"


class Fill:
    """Sums of element matrices on a graph, again and again.

    Parameters
    ----------
    graph : Graph
        The table of the elements and its pattern.
    strategy : str
        - ``"gather"``: each row adds its numbers in the order of the elements: the same bits in every run, on any number of threads;
        - ``"colour"``: blocks of elements that share no node are added in parallel: the same bits in every run, too;
        - ``"scatter"``: every addition is atomic: the last bits may differ between runs.
    threads : int, optional
        Threads of this plan; as many as the process may use if it is not given. A child process after a fork starts its own.

    Raises
    ------
    TypeError
        For a graph that is none.
    ValueError
        For a strategy that is unknown.
    MemoryError
        Where memory is short.

    Notes
    -----
    ``CooPlan.from_elements`` sums such matrices with the bits of ``gather``. Take it for rows and columns of two tables, negative indices,
    constraints, element vectors and GPUs; take ``Fill`` for several dofs per node, a pattern that several plans share, and the other
    strategies. The lock of the interpreter is released during a sum: arrays must not be changed meanwhile.
    """

    def __init__(self, graph: Graph, strategy: str = "gather", *, threads: int | None = None):
        if not isinstance(graph, Graph):
            raise TypeError(f"graph: is a {type(graph).__name__}, expected a Graph")
        if strategy not in _STRATEGIES:
            raise ValueError(f"strategy {strategy!r}: expected one of {', '.join(_STRATEGIES)}")
        check_threads(threads)
        self.graph, self.strategy = graph, strategy
        elems, per_elem = graph.cells_shape
        self._matrices_shape = (elems, per_elem * graph.dofs, per_elem * graph.dofs)
        self._fill = _Fill(graph._graph, strategy, threads)

    def csr(self, matrices: ArrayLike, out: csr_matrix | None = None) -> csr_matrix:
        """Sums element matrices into a matrix.

        Parameters
        ----------
        matrices : array_like of float32, float64, complex64 or complex128, (elem, k, k)
            One matrix per element of k = dofs p unknowns. Other real types are taken as float64, other complex ones as complex128.
        out : scipy.sparse.csr_matrix, optional
            A matrix on this graph that a Fill or ``Graph.csr`` returned, whose values are overwritten.

        Returns
        -------
        scipy.sparse.csr_matrix
            On the arrays of the graph, which are read-only: methods that change them in place, such as ``eliminate_zeros``, need a
            ``copy()``.

        Raises
        ------
        ValueError
            For matrices of another shape, and an ``out`` of another graph or that is read-only.
        TypeError
            For matrices that are no numbers, and an ``out`` of another type.
        """
        matrices = numbers("matrices", matrices, self._matrices_shape)
        matrix = self.graph._pattern.matrix(matrices.dtype, out)
        real = np.float32 if matrices.dtype in (np.float32, np.complex64) else np.float64
        self._fill.sum(matrices.view(real), matrix.data.view(real), matrices.dtype.kind == "c")
        return matrix

    def __repr__(self):
        return f"<Fill by {self.strategy} of {self.graph!r}>"
