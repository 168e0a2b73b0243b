"""scikit-fem: Basis as pattern stage (it tabulates gradients at all points), form.assemble(basis) as assembly. It keeps no
pattern: every assembly is a first one. On several cores the form is integrated by as many threads."""
from peer import CORES, DOFS, HEXES, ms, points, serve, table
import numpy as np
import skfem
from skfem.helpers import ddot, dot, div, grad, sym_grad

threads = len(CORES) if len(CORES) > 1 else 0
x, t = points(), table()
if HEXES:
    # The corners of the reference element in the order of skfem, as numbers of nodes in the order of VTK.
    vtk = {(0, 0, 0): 0, (1, 0, 0): 1, (1, 1, 0): 2, (0, 1, 0): 3, (0, 0, 1): 4, (1, 0, 1): 5, (1, 1, 1): 6, (0, 1, 1): 7}
    order = [vtk[tuple(int(c) for c in corner)] for corner in skfem.refdom.RefHex.p.T]
    mesh, element = skfem.MeshHex(x.T.copy(), t[:, order].T.copy()), skfem.ElementHex1()
    rule = skfem.quadrature.get_quadrature(skfem.refdom.RefHex, 3)
    assert rule[0].shape[1] == 8, f"{rule[0].shape[1]} points, expected 8"
else:
    mesh, element = skfem.MeshTet(x.T.copy(), t.T.copy()), skfem.ElementTetP1()
    # One point is exact; by degree, skfem takes 4.
    rule = np.full((3, 1), 0.25), np.array([1.0 / 6.0])
if DOFS == 3:
    element = skfem.ElementVector(element)


def poisson(u, v, w):
    return dot(grad(u), grad(v))


def elasticity(u, v, w):
    return div(u) * div(v) + 2.0 * ddot(sym_grad(u), sym_grad(v))


form = skfem.BilinearForm(poisson if DOFS == 1 else elasticity, nthreads=threads)


def basis():
    return skfem.Basis(mesh, element, quadrature=rule)


def round():
    pattern, made = ms(basis)
    first = ms(lambda: form.assemble(made))[0]
    return [("scikit-fem", pattern, first, first)]


def matrix():
    made = basis()
    coo = form.assemble(made).tocoo()
    # Dof of the problem of each dof of the basis.
    own = np.empty(made.N, dtype=np.int64)
    for c in range(DOFS):
        own[made.nodal_dofs[c]] = DOFS * np.arange(len(x)) + c
    yield "scikit-fem", own[coo.row], own[coo.col], coo.data


serve(f"scikit-fem {skfem.__version__}, NumPy {np.__version__}", round, matrix)
