#!/usr/bin/env python3
"""Files of --vtk, read by the package meshio: python3 tests/vtk.py PROGRAM [MPIRUN ...]

Counts nodes, elements and volume of a box on one rank and, with a launcher, on three, and compares the largest error with the
report's. Then every element type: the interpolation of a field by meshio's nodes has the volume and the values of the box. Ends with a
line that tests/summary.sh counts.
"""
import json, subprocess, sys, tempfile
from pathlib import Path

import meshio
import numpy as np

# meshio knows the type, but not its dimension.
meshio._mesh.topological_dimension.setdefault("wedge15", 3)

# Corners of the six tetrahedra around the diagonal from node 0 to node 6.
TETRAHEDRA = [(0, 1, 2, 6), (0, 2, 3, 6), (0, 3, 7, 6), (0, 7, 4, 6), (0, 4, 5, 6), (0, 5, 1, 6)]


def check(command, pieces):
    with tempfile.TemporaryDirectory() as folder:
        vtu, report = Path(folder, "box.vtu"), Path(folder, "report.json")
        flags = ["--nodes", "9x8x11", "--size", "2,3,1", "--device", "cpu", "--threads", "1", "--vtk", vtu, "--report", report]
        subprocess.run([*command, *flags], check=True, stdout=subprocess.DEVNULL)
        report = json.loads(report.read_text())
        files = [vtu] if pieces == 1 else [vtu.with_suffix(f".{rank}.vtu") for rank in range(pieces)]
        elements, volume, error = 0, 0.0, 0.0
        for rank, file in enumerate(files):
            mesh = meshio.read(file)
            (cells,) = mesh.cells
            assert cells.type == "hexahedron", cells.type
            corners = mesh.points[cells.data]
            for a, b, c, d in TETRAHEDRA:
                edges = np.stack([corners[:, k] - corners[:, a] for k in (b, c, d)], axis=1)
                volume += np.linalg.det(edges).sum() / 6
            elements += len(cells.data)
            assert (mesh.cell_data["rank"][0] == rank).all()
            data = mesh.point_data
            assert np.array_equal(data["error"], data["temperature"] - data["exact"])
            error = max(error, np.abs(data["error"]).max())
        assert elements == report["elements"] == 8 * 7 * 10, elements
        assert abs(volume - 6) < 1e-12, volume
        # The report's error is relative to the largest temperature, 2.
        assert abs(error / 2 / report["error_max"] - 1) < 1e-9, (error, report["error_max"])
        if pieces > 1:
            named = vtu.with_suffix(".pvtu").read_text()
            assert all(file.name in named for file in files), named


# Element type, meshio's name, faces by corners that turn around the outward normal, nodes between corners.
HEXAHEDRON = [(0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 3, 2, 1), (4, 5, 6, 7)]
EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)]
TETRAHEDRON = [(0, 1, 3), (1, 2, 3), (2, 0, 3), (0, 2, 1)]
TET_EDGES = [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)]
# In meshio's order, which is not VTK's for linear wedges.
WEDGE = [(0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)]
WEDGE_EDGES = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)]
TYPES = {
    "hex8": ("hexahedron", HEXAHEDRON, []),
    "hex20": ("hexahedron20", HEXAHEDRON, EDGES),
    "hex27": ("hexahedron27", HEXAHEDRON, EDGES + HEXAHEDRON + [tuple(range(8))]),
    "tet4": ("tetra", TETRAHEDRON, []),
    "tet10": ("tetra10", TETRAHEDRON, TET_EDGES),
    "wedge6": ("wedge", WEDGE, []),
    "wedge15": ("wedge15", [face[::-1] for face in WEDGE], WEDGE_EDGES),
}


def check_type(command, pieces, element):
    kind, faces, middles = TYPES[element]
    with tempfile.TemporaryDirectory() as folder:
        vtu, report = Path(folder, "box.vtu"), Path(folder, "report.json")
        flags = ["--problem", "elasticity", "--element", element, "--nodes", "13x11x15", "--size", "2,3,1", "--device", "cpu", "--threads", "1"]
        subprocess.run([*command, *flags, "--vtk", vtu, "--report", report], check=True, stdout=subprocess.DEVNULL)
        report = json.loads(report.read_text())
        files = [vtu] if pieces == 1 else [vtu.with_suffix(f".{rank}.vtu") for rank in range(pieces)]
        elements, volume = 0, 0.0
        for file in files:
            mesh = meshio.read(file)
            (cells,) = mesh.cells
            assert cells.type == kind, cells.type
            elements += len(cells.data)
            at = mesh.points[cells.data]
            for middle, between in enumerate(middles, start=at.shape[1] - len(middles)):
                assert np.abs(at[:, middle] - at[:, between].mean(axis=1)).max() < 1e-14, (element, middle)
            for first, *rest in faces:
                for second, third in zip(rest, rest[1:]):
                    normal = np.cross(at[:, second], at[:, third])
                    volume += (at[:, first] * normal).sum() / 6
            x, y, z = mesh.points.T
            wave = np.sin(2 * x / 2 + 1.5 * y / 3 + z + 0.3)
            exact = np.stack([wave, -0.5 * wave, 0.75 * wave], axis=1)
            data = mesh.point_data
            assert np.abs(data["exact"] - exact).max() < 1e-14
            assert np.array_equal(data["error"], data["displacement"] - data["exact"])
            assert np.abs(data["error"]).max() < 0.02, np.abs(data["error"]).max()
        assert elements == report["elements"], elements
        assert abs(volume - 6) < 1e-12, (element, volume)


program, *launcher = sys.argv[1:]
check([program], 1)
passed = 1
if launcher:
    check([*launcher, "-n", "3", program], 3)
    passed += 1
for element in TYPES:
    check_type([program], 1, element)
    if launcher:
        check_type([*launcher, "-n", "3", program], 3, element)
    passed += 1
print(f"test result: ok. {passed} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out")
