"""Meshes from arrays and from meshio."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshes import TYPES, cube

from minifenl import Form, Mesh


@pytest.mark.parametrize("element", TYPES)
def test_the_number_of_nodes_tells_the_type(element):
    points, cells = cube(element, 2, curved=True)
    mesh = Mesh(points, cells, threads=2)
    assert mesh.element == element and element in repr(mesh)
    assert (mesh.points == points).all() and (mesh.cells == cells).all()
    points, cells = cube(element, 2)
    surface = np.flatnonzero((np.abs(points - 0.5) == 0.5).any(axis=1))
    assert (Mesh(points, cells).boundary_nodes() == surface).all()


def test_the_arrays_are_copies():
    points, cells = cube()
    mesh = Mesh(points.tolist(), cells.astype("u1"))
    points[:] = cells[:] = 0
    assert mesh.points.max() == 1 and mesh.cells.max() == 63
    for array in mesh.points, mesh.cells:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def changed(array, at, value):
    array[at] = value
    return array


POINTS, CELLS = cube("hex8", 2)
TURNED = CELLS[:, [4, 5, 6, 7, 0, 1, 2, 3]]


@pytest.mark.parametrize(
    ("points", "cells", "kind", "text"),
    [
        (POINTS[:, :2], CELLS, ValueError, r"points: have shape \(27, 2\)"),
        (POINTS[:25], np.arange(25).reshape(5, 5), ValueError, "5 nodes each, expected one of 8 .hex8., 20"),
        (POINTS, CELLS[0], ValueError, r"cells: have shape \(8,\)"),
        (POINTS, CELLS[:0], ValueError, r"cells: have shape \(0, 8\), expected at least 1 element"),
        (POINTS, CELLS[:, :5], ValueError, "cells: have 5 nodes each, expected one of"),
        (POINTS, CELLS[:, :3], ValueError, "cells: have 3 nodes each, expected one of"),
        (POINTS, CELLS + 0.0, TypeError, "float64, expected integers"),
        (POINTS * 1j, CELLS, TypeError, "complex128, expected real"),
        (POINTS, changed(CELLS.copy(), (3, 2), -1), ValueError, r"cells\[3, 2\] is -1: expected a node in 0 to 26"),
        (POINTS, changed(CELLS.copy(), (7, 0), 27), ValueError, r"cells\[7, 0\] is 27"),
        (POINTS, changed(CELLS.astype("u8"), (7, 0), 2**63), ValueError, r"cells\[7, 0\] is 9223372036854775808"),
        (POINTS, changed(CELLS.copy(), 5, TURNED[5]), ValueError, "element 5 is folded or inverted"),
        (POINTS, changed(CELLS.copy(), (2, 1), CELLS[2, 0]), ValueError, "element 2 is folded or inverted"),
        (POINTS * [1, 1, 0], CELLS, ValueError, "element 0 is folded or inverted"),
        (changed(POINTS.copy(), (26, 1), np.nan), CELLS, ValueError, r"points\[26\] is \[1.0, nan, 1.0\]: expected finite"),
        (changed(POINTS.copy(), (3, 0), -np.inf), CELLS, ValueError, r"points\[3\] is \[-inf, "),
        (np.vstack([POINTS, [2, 2, 2]]), CELLS, ValueError, r"points\[27\] belongs to no element"),
    ],
)
def test_what_is_wrong_is_an_exception_that_names_it(points, cells, kind, text):
    with pytest.raises(kind, match=text):
        Mesh(points, cells)


@pytest.mark.parametrize("given", [3, None, SimpleNamespace(points=POINTS)])
def test_what_is_no_mesh_is_named(given):
    with pytest.raises(TypeError, match="mesh: is a .*, expected a meshio.Mesh or a pyvista.UnstructuredGrid"):
        Mesh.from_meshio(given)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_any_arrays_are_a_mesh_or_an_exception(data):
    element = data.draw(st.sampled_from(list(TYPES)))
    points, cells = cube(element, 1)
    if data.draw(st.booleans()):
        points = points + data.draw(st.floats(0, 0.4)) * np.random.default_rng(data.draw(st.integers(0, 99))).standard_normal(points.shape)
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, cells.size - 1))
        cells = changed(cells.copy(), np.unravel_index(at, cells.shape), data.draw(st.integers(-2, len(points) + 1)))
    if data.draw(st.booleans()):
        points = changed(points, data.draw(st.integers(0, len(points) - 1)), data.draw(st.floats()))
    try:
        mesh = Mesh(points, cells, threads=data.draw(st.integers(1, 3)))
    except ValueError as error:
        assert any(word in str(error) for word in ("element", "expected"))
        return
    # A mesh that is taken has elements of positive volume.
    load = Form(mesh, "poisson", source=1.0).assemble()[1].sum()
    assert load > 0


def test_threads_are_at_least_one():
    with pytest.raises(ValueError, match="threads 0"):
        Mesh(POINTS, CELLS, threads=0)


@pytest.mark.parametrize(("number", "element"), [(10, "tet4"), (24, "tet10"), (12, "hex8"), (25, "hex20"), (29, "hex27"), (13, "wedge6"), (26, "wedge15")])
def test_grids_of_pyvista(number, element):
    """PyVista gives cells by their numbers in VTK, in numbers of 8 bits."""
    points, cells = cube(element, 2)
    grid = SimpleNamespace(points=points.astype("f4"), cells_dict={np.uint8(3): cells[:, :2], np.uint8(number): cells})
    mesh = Mesh.from_meshio(grid)
    assert mesh.element == element and (mesh.cells == cells).all()
    assert np.isclose(Form(mesh, "poisson", source=1.0).assemble()[1].sum(), 1)
    with pytest.raises(ValueError, match="mesh: has 3, expected one type of hexahedron"):
        Mesh.from_meshio(SimpleNamespace(points=points, cells_dict={np.uint8(3): cells[:, :2]}))


@pytest.mark.parametrize(("kind", "element"), [("tetra", "tet4"), ("tetra10", "tet10"), ("hexahedron20", "hex20"), ("hexahedron27", "hex27")])
def test_meshes_of_meshio(kind, element, tmp_path):
    meshio = pytest.importorskip("meshio")
    points, cells = cube(element, 2)
    half = len(cells) // 2
    made = meshio.Mesh(points, [("line", cells[:, :2]), (kind, cells[:half]), (kind, cells[half:])])
    made.write(tmp_path / "cube.vtu")
    for read in made, meshio.read(tmp_path / "cube.vtu"):
        mesh = Mesh.from_meshio(read)
        assert mesh.element == element and (mesh.cells == cells).all()
    # The load of a form is the volume: nodes are in the order that elements expect.
    assert np.isclose(Form(mesh, "poisson", source=1.0).assemble()[1].sum(), 1)
    with pytest.raises(ValueError, match="mesh: has line, expected one type of hexahedron"):
        Mesh.from_meshio(meshio.Mesh(points, [("line", cells[:, :2])]))
    two = meshio.Mesh(points, [("tetra", cells[:, :4]), ("wedge", cells[:, [0, 1, 2, 3, 3, 3]])])
    with pytest.raises(ValueError, match="mesh: has tetra, wedge"):
        Mesh.from_meshio(two)
