#!/usr/bin/env python3
"""Files of --vtk, read by the package meshio: python3 tests/vtk.py PROGRAM [MPIRUN ...]

Counts nodes, elements and volume of a box on one rank and, with a launcher, on three, and compares the largest error with the
report's. Ends with a line that tests/summary.sh counts.
"""
import json, subprocess, sys, tempfile
from pathlib import Path

import meshio
import numpy as np

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


program, *launcher = sys.argv[1:]
check([program], 1)
passed = 1
if launcher:
    check([*launcher, "-n", "3", program], 3)
    passed += 1
print(f"test result: ok. {passed} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out")
