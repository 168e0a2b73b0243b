"""Meshes of volumes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import check_nodes, check_threads, reals
from ._minifenl import Mesh as _Mesh

__all__ = ["Mesh"]

# Volumes by their names in meshio and their numbers in VTK.
_VOLUMES = {
    "tetra": 10, "tetra10": 24, "hexahedron": 12, "hexahedron20": 25, "hexahedron27": 29, "wedge": 13, "wedge15": 26,
}  # fmt: skip


class Mesh:
    """Nodes and elements of one type.

    Parameters
    ----------
    points : array_like of float, (node, 3)
        Coordinates, in any unit of length.
    cells : array_like of int, (elem, k)
        Nodes of each element, in the order of VTK. Their number tells the type: 4 and 10 are tetrahedra of degree 1 and 2, 8, 20 and
        27 hexahedra, 6 and 15 wedges.
    threads : int, optional
        Threads that check the elements; as many as the process may use if it is not given.

    Attributes
    ----------
    points, cells : ndarray
        Copies, read-only.
    element : str
        ``tet4``, ``tet10``, ``hex8``, ``hex20``, ``hex27``, ``wedge6`` or ``wedge15``.

    Raises
    ------
    ValueError
        For a point that is not finite, a node outside the points, an element that is inverted or flat at some point of it, arrays of other shapes, and points that no
        element has, whose rows would be empty. The text names the element.
    TypeError
        For cells that are no integers.
    """

    def __init__(self, points: ArrayLike, cells: ArrayLike, *, threads: int | None = None):
        points, cells = reals("points", points), np.asarray(cells)
        if points.ndim != 2 or points.shape[1] != 3:
            raise ValueError(f"points: have shape {points.shape}, expected (node, 3)")
        if cells.ndim != 2:
            raise ValueError(f"cells: have shape {cells.shape}, expected (elem, nodes per element)")
        if cells.size == 0:
            raise ValueError(f"cells: have shape {cells.shape}, expected at least 1 element")
        nodes, finite = len(points), np.isfinite(points).all(axis=1)
        if not finite.all():
            node = int(np.argmin(finite))
            raise ValueError(f"points[{node}] is {points[node].tolist()}: expected finite coordinates")
        check_nodes(cells, nodes)
        check_threads(threads)
        try:
            self._mesh = _Mesh(points, np.ascontiguousarray(cells, np.uint32), threads)
        except ValueError as error:
            raise ValueError(str(error).replace(" of this rank", "")) from None
        # After the elements: cells with too few nodes leave points alone, too.
        used = np.zeros(nodes, bool)
        used[cells] = True
        if not used.all():
            alone = f"points[{np.argmin(used)}] belongs to no element"
            raise ValueError(f"{alone}: its row would be empty; remove such points (meshio: remove_orphaned_nodes)")
        self.points, self.cells, self.element = points.copy(), cells.copy(), self._mesh.element
        for array in self.points, self.cells:
            array.setflags(write=False)

    @classmethod
    def from_meshio(cls, mesh, *, threads: int | None = None) -> Mesh:
        """Takes points and volumes of a ``meshio.Mesh`` or a ``pyvista.UnstructuredGrid``; lines and faces are left out.

        Raises
        ------
        ValueError
            For a mesh without volumes or with several types of them, and as the constructor.
        TypeError
            For other objects.
        """
        if not hasattr(mesh, "cells_dict") or not hasattr(mesh, "points"):
            raise TypeError(f"mesh: is a {type(mesh).__name__}, expected a meshio.Mesh or a pyvista.UnstructuredGrid")
        names = {number: name for name, number in _VOLUMES.items()}
        blocks = {str(names.get(kind, kind)): cells for kind, cells in mesh.cells_dict.items()}
        types = sorted(set(blocks) & set(_VOLUMES))
        if len(types) != 1:
            found = ", ".join(types or sorted(blocks)) or "nothing"
            raise ValueError(f"mesh: has {found}, expected one type of {', '.join(sorted(_VOLUMES))}")
        return cls(mesh.points, blocks[types[0]], threads=threads)

    def boundary_nodes(self) -> NDArray[np.int64]:
        """Returns the nodes on the boundary, ascending: those of faces that belong to one element only."""
        return self._mesh.boundary_nodes()

    def quadrature_points(self) -> NDArray[np.float64]:
        """Returns the coordinates of the points at which a Form integrates, (elem, point, 3), for coefficients that vary in elements."""
        return self._mesh.quadrature_points()

    def __repr__(self):
        return f"<Mesh of {len(self.cells)} {self.element} on {len(self.points)} nodes>"
