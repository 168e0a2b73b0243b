"""Meshes of a unit cube."""

import numpy as np

# Nodes of a hexahedron on a lattice of half edges, in the order of VTK: corners, edges, faces, centre.
HEX27 = np.array(
    [
        [0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0], [0, 0, 2], [2, 0, 2], [2, 2, 2], [0, 2, 2],
        [1, 0, 0], [2, 1, 0], [1, 2, 0], [0, 1, 0], [1, 0, 2], [2, 1, 2], [1, 2, 2], [0, 1, 2], [0, 0, 1], [2, 0, 1], [2, 2, 1], [0, 2, 1],
        [0, 1, 1], [2, 1, 1], [1, 0, 1], [1, 2, 1], [1, 1, 0], [1, 1, 2], [1, 1, 1],
    ]
)  # fmt: skip
EDGES = {4: [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)]}
EDGES[6] = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)]
# Corners of the six tetrahedra and the two wedges of a cube.
TETS = [[0, 1, 2, 6], [0, 2, 3, 6], [0, 3, 7, 6], [0, 7, 4, 6], [0, 4, 5, 6], [0, 5, 1, 6]]
WEDGES = [[0, 1, 2, 4, 5, 6], [0, 2, 3, 4, 6, 7]]
# Nodes per element of each type.
TYPES = {"tet4": 4, "tet10": 10, "hex8": 8, "hex20": 20, "hex27": 27, "wedge6": 6, "wedge15": 15}


def cube(element="tet4", n=3, curved=False):
    """Points and cells of n^3 cubes, moved by a smooth map if `curved`."""
    # x fastest, as the nodes below.
    corner = 2 * np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij")[::-1], -1).reshape(-1, 1, 3)
    if element.startswith("hex"):
        cells = corner + HEX27[: TYPES[element]]
    else:
        parts = np.array(TETS if element.startswith("tet") else WEDGES)
        cells = (corner + HEX27[:8])[:, parts].reshape(-1, parts.shape[1], 3)
        if TYPES[element] > parts.shape[1]:
            a, b = np.transpose(EDGES[parts.shape[1]])
            cells = np.concatenate([cells, (cells[:, a] + cells[:, b]) // 2], axis=1)
    lattice, cells = np.unique(cells.reshape(-1, 3) @ [1, 1000, 10**6], return_inverse=True)
    points = np.stack([lattice % 1000, lattice // 1000 % 1000, lattice // 10**6], -1) / (2.0 * n)
    if curved:
        points += 0.03 * np.sin(np.pi * (points[:, [1, 2, 0]] + 2 * points[:, [2, 0, 1]]))
    return points, cells.reshape(-1, TYPES[element])
