"""Forms beside scikit-fem, and against integrals that are known."""

import os
import threading

import numpy as np
import pytest
from meshes import TYPES, cube

import minifenl
from minifenl import Form, Mesh

LOADS = {"poisson": {"source": 2.0}, "heat": {"conductivity": 0.7}, "elasticity": {"lam": 1.2, "mu": 0.8, "force": (0.0, 0.5, -1.0)}}


def numbers(n, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 2.0, n)


@pytest.mark.parametrize("element", TYPES)
def test_energies_of_linear_fields(element):
    mesh = Mesh(*cube(element, 2))
    slope = np.array([1.0, -2.0, 0.5])
    a, b = Form(mesh, "diffusion", conductivity=3.0, reaction=0.5, source=7.0).assemble()
    u, one = mesh.points @ slope, np.ones(len(mesh.points))
    moment = slope @ (np.full((3, 3), 1 / 4) + np.eye(3) / 12) @ slope
    assert np.isclose(u @ a @ u, 3 * slope @ slope + 0.5 * moment) and np.isclose(b.sum(), 7)
    assert np.isclose(one @ a @ one, 0.5)
    strain = np.array([[0.1, 0.4, 0.0], [-0.2, 0.3, 0.5], [0.0, 0.0, -0.6]])
    a, b = Form(mesh, "elasticity", lam=1.2, mu=0.8, force=[0.0, 0.0, -1.0]).assemble()
    u, eps = (mesh.points @ strain.T).ravel(), (strain + strain.T) / 2
    assert np.isclose(u @ a @ u, 1.2 * np.trace(eps) ** 2 + 1.6 * (eps * eps).sum())
    assert np.allclose(b.reshape(-1, 3).sum(axis=0), [0, 0, -1]) and abs(a - a.T).max() < 1e-15
    # No force between points of a field of constant stress.
    assert abs((a @ u).reshape(-1, 3)[(np.abs(mesh.points - 0.5) < 0.5).all(axis=1)]).max() < 1e-14


def skfem_system(points, cells, element, bilinear, linear, **fields):
    skfem = pytest.importorskip("skfem")
    if cells.shape[1] == 4:
        mesh = skfem.MeshTet(points.T.copy(), cells.T.copy())
    else:
        vtk = {(0, 0, 0): 0, (1, 0, 0): 1, (1, 1, 0): 2, (0, 1, 0): 3, (0, 0, 1): 4, (1, 0, 1): 5, (1, 1, 1): 6, (0, 1, 1): 7}
        order = [vtk[tuple(int(c) for c in corner)] for corner in skfem.refdom.RefHex.p.T]
        mesh = skfem.MeshHex(points.T.copy(), cells[:, order].T.copy())
    basis = skfem.Basis(mesh, element(skfem), intorder=2 if cells.shape[1] == 4 else 3)
    at_points = {name: np.repeat(value[:, None], basis.dx.shape[1], axis=1) for name, value in fields.items()}
    return skfem.BilinearForm(bilinear).assemble(basis, **at_points), skfem.LinearForm(linear).assemble(basis, **at_points), basis


def diffusion(u, v, w):
    return w.k * sum(u.grad[i] * v.grad[i] for i in range(3)) + w.c * u * v


@pytest.mark.parametrize("element", ["tet4", "hex8"])
def test_diffusion_with_coefficients_per_element_is_that_of_scikit_fem(element):
    points, cells = cube(element, 4, curved=True)
    k, c, f = (numbers(len(cells), seed) for seed in range(3))
    name = {"tet4": "ElementTetP1", "hex8": "ElementHex1"}[element]
    expected, load, _ = skfem_system(points, cells, lambda s: getattr(s, name)(), diffusion, lambda v, w: w.f * v, k=k, c=c, f=f)
    form = Form(Mesh(points, cells), "diffusion", conductivity=k, reaction=c, source=f)
    for _ in range(2):
        a, b = form.assemble()
        a.check_format(full_check=True)
        assert abs(a - expected).max() < 1e-13 and np.allclose(b, load, atol=1e-14)
    # Without the term of u linear tetrahedra need one point only.
    system = skfem_system(points, cells, lambda s: getattr(s, name)(), diffusion, lambda v, w: w.f * v, k=k, c=0 * c, f=f)
    plain, b = Form(Mesh(points, cells), "diffusion", conductivity=k, source=f).assemble()
    assert abs(plain - system[0]).max() < 1e-13 and np.allclose(b, load, atol=1e-14)
    # u reaches the residual: b - A u.
    u = numbers(len(points), 5)
    assert np.allclose(form.assemble(u)[1], load - expected @ u, atol=1e-13)


def test_quadratic_tetrahedra_are_those_of_scikit_fem():
    skfem = pytest.importorskip("skfem")
    points, cells = cube("tet4", 3)
    basis = skfem.Basis(skfem.MeshTet(points.T.copy(), cells.T.copy()), skfem.ElementTetP2(), intorder=4)
    from skfem.models.poisson import laplace, mass

    mesh = Mesh(basis.doflocs.T, basis.element_dofs.T)
    a, _ = Form(mesh, "diffusion", conductivity=2.0, reaction=3.0).assemble()
    assert mesh.element == "tet10" and abs(a - (2 * laplace.assemble(basis) + 3 * mass.assemble(basis))).max() < 1e-14


@pytest.mark.parametrize("element", ["tet4", "hex8"])
def test_elasticity_with_coefficients_per_element_is_that_of_scikit_fem(element):
    points, cells = cube(element, 3, curved=True)
    lam, mu = numbers(len(cells), 1), numbers(len(cells), 2)
    force = np.random.default_rng(3).standard_normal((len(cells), 3))
    name = {"tet4": "ElementTetP1", "hex8": "ElementHex1"}[element]

    def stiffness(u, v, w):
        from skfem.helpers import ddot, div, sym_grad

        return w.lam * div(u) * div(v) + 2 * w.mu * ddot(sym_grad(u), sym_grad(v))

    fields = {"lam": lam, "mu": mu, "x": force[:, 0], "y": force[:, 1], "z": force[:, 2]}
    fields = {f"g{name}" if name in "xyz" else name: value for name, value in fields.items()}
    expected, load, basis = skfem_system(
        points, cells, lambda s: s.ElementVector(getattr(s, name)()), stiffness,
        lambda v, w: w.gx * v[0] + w.gy * v[1] + w.gz * v[2], **fields,
    )  # fmt: skip
    dofs = basis.nodal_dofs.T.ravel()
    a, b = Form(Mesh(points, cells), "elasticity", lam=lam, mu=mu, force=force).assemble()
    assert abs(a - expected[dofs][:, dofs]).max() < 1e-13 and np.allclose(b, load[dofs], atol=1e-14)


@pytest.mark.parametrize("element", ["tet4", "hex8", "tet10"])
def test_the_matrix_of_heat_is_the_derivative_of_its_residual(element):
    mesh = Mesh(*cube(element, 2, curved=True))
    k, u, v = numbers(len(mesh.cells)), numbers(len(mesh.points), 1), numbers(len(mesh.points), 2)
    form, h = Form(mesh, "heat", conductivity=k), 1e-6
    a, _ = form.assemble(u)
    ahead, back = form.assemble(u + h * v)[1], form.assemble(u - h * v)[1]
    assert np.allclose(a @ v, (back - ahead) / (2 * h), atol=1e-9)
    # u^2 of a constant field is the load of its square.
    assert np.isclose(form.assemble(np.full(len(u), 3.0))[1].sum(), -9 * Form(mesh, "poisson", source=1.0).assemble()[1].sum())


def test_newton_solves_the_problem_of_the_program():
    report, points, field = minifenl.run(9, threads=2, device="cpu")
    n = 9
    assert report["verified"]
    lattice = np.rint((points - points.min(axis=0)) / np.ptp(points, axis=0) * (n - 1)).astype(int)
    number = np.empty((n, n, n), int)
    number[tuple(lattice.T)] = np.arange(n**3)
    corners = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]]
    cells = np.stack([number[tuple(slice(a, n - 1 + a) for a in corner)].ravel() for corner in corners], -1)
    ends = np.flatnonzero(lattice[:, 2] % (n - 1) == 0)
    u = np.where(lattice[:, 2] == 0, 1.0, np.where(lattice[:, 2] == n - 1, 2.0, 1.5))
    # T = 6 K / (z + c)^2 is 1 and 2 at the ends of a unit length: c = -(2 + sqrt(2)).
    form = Form(Mesh(points, cells), "heat", conductivity=(2 + 2**0.5) ** 2 / 6)
    for _ in range(8):
        a, b = form.assemble(u)
        minifenl.dirichlet(a, b, ends)
        step = minifenl.solve(a, b, rtol=1e-12).x
        u += step
    assert abs(step).max() < 1e-12 and np.allclose(u, field[:, 0], atol=1e-8)


@pytest.mark.parametrize("equation", LOADS)
def test_bits_do_not_depend_on_threads(equation):
    mesh = Mesh(*cube("tet4", 8, curved=True))
    forms = [Form(mesh, equation, threads=threads, **LOADS[equation]) for threads in (1, 2, 3)]
    u = numbers(forms[0].shape[0])
    assert len({b"".join(part.tobytes() for part in (a.data, b)) for a, b in (form.assemble(u) for form in forms)}) == 1


def test_matrices_share_their_pattern_and_are_overwritten_in_place():
    mesh = Mesh(*cube())
    form, other = Form(mesh, "diffusion"), Form(mesh, "diffusion")
    first, _ = form.assemble()
    data = first.data
    second, _ = form.assemble(conductivity=2.0)
    assert second.indices is first.indices and second.indptr is first.indptr and form.nnz == first.nnz
    again, _ = form.assemble(out=first, conductivity=numbers(len(mesh.cells)))
    assert again is first and again.data is data and not np.allclose(data, second.data / 2)
    assert np.allclose(form.assemble()[0].data, second.data / 2)
    for shared in first.indices, first.indptr:
        with pytest.raises(ValueError, match="read-only"):
            shared[0] = 1
    with pytest.raises(ValueError, match="an earlier call"):
        form.assemble(out=other.assemble()[0])


def test_coefficients_are_copies_and_of_any_layout():
    mesh = Mesh(*cube())
    k = numbers(2 * len(mesh.cells))
    form = Form(mesh, "diffusion", conductivity=k[::2])
    expected = form.assemble()[0].data.copy()
    k[:] = 0
    assert (form.assemble()[0].data == expected).all()
    u = np.zeros((len(mesh.points), 1))
    u.setflags(write=False)
    assert (form.assemble(u)[0].data == expected).all()


@pytest.mark.parametrize("equation", LOADS)
@pytest.mark.parametrize("element", ["tet4", "hex20"])
def test_products_without_a_matrix_are_those_of_the_matrix(equation, element):
    mesh = Mesh(*cube(element, 3, curved=True))
    form = Form(mesh, equation, threads=2, **LOADS[equation])
    u, x = numbers(form.shape[0], 1), numbers(form.shape[0], 2)
    a, b = form.assemble(u)
    assert np.allclose(form.operator(u) @ x, a @ x, atol=1e-12)
    rows = np.arange(0, form.shape[0], 7)
    found = form.operator(u, fixed=rows) @ x
    minifenl.dirichlet(a, b, rows)
    free = np.setdiff1d(np.arange(form.shape[0]), rows)
    assert np.allclose(found[free], (a @ x)[free], atol=1e-12) and (found[rows] == x[rows]).all()


@pytest.mark.parametrize("equation", ["poisson", "diffusion", "heat", "elasticity"])
@pytest.mark.parametrize("element", ["tet4", "wedge6", "hex27"])
def test_operators_have_coefficients_per_element(equation, element):
    mesh = Mesh(*cube(element, 2, curved=True))
    k, c = numbers(len(mesh.cells)), numbers(len(mesh.cells), 4)
    given = {"poisson": {"source": k}, "heat": {"conductivity": k}, "elasticity": {"lam": k, "mu": c}}
    form = Form(mesh, equation, threads=2, **given.get(equation, {"conductivity": k, "reaction": c}))
    u, x = numbers(form.shape[0], 1), numbers(form.shape[0], 2)
    a, b = form.assemble(u)
    assert np.allclose(form.operator(u) @ x, a @ x, atol=1e-12)
    rows = np.arange(0, form.shape[0], 7)
    found = form.operator(u, fixed=rows) @ x
    minifenl.dirichlet(a, b, rows)
    free = np.setdiff1d(np.arange(form.shape[0]), rows)
    assert np.allclose(found[free], (a @ x)[free], atol=1e-12) and (found[rows] == x[rows]).all()
    # One value for all elements is the library's product.
    nodes = len(mesh.points)
    one, all_elements = (Form(mesh, "heat", conductivity=k).operator(u[:nodes]) for k in (0.7, np.full(len(mesh.cells), 0.7)))
    assert np.allclose(one @ x[:nodes], all_elements @ x[:nodes], atol=1e-13)


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="no list of threads")
def test_an_operator_has_the_threads_of_its_form():
    form = Form(Mesh(*cube()), "poisson", threads=3)
    before, x = len(os.listdir("/proc/self/task")), np.ones(form.shape[0])
    operators = [form.operator() for _ in range(5)]
    assert all((operator @ x == operators[0] @ x).all() for operator in operators)
    # Threads of earlier tests may have ended since.
    assert len(os.listdir("/proc/self/task")) <= before


def test_scipy_solves_with_an_operator():
    from scipy.sparse.linalg import cg

    mesh = Mesh(*cube("tet4", 6))
    form, surface = Form(mesh, "poisson", source=1.0), mesh.boundary_nodes()
    a, b = form.assemble()
    minifenl.dirichlet(a, b, surface)
    x, failed = cg(form.operator(fixed=surface), b, rtol=1e-10)
    assert failed == 0 and np.allclose(x, minifenl.solve(a, b, rtol=1e-10).x, atol=1e-9) and x.max() > 0.04


def test_threads_of_python_share_a_form():
    mesh = Mesh(*cube("tet4", 6))
    form, found = Form(mesh, "diffusion", threads=2), [None] * 6

    def work(at):
        found[at] = form.assemble(conductivity=float(at))[0]

    workers = [threading.Thread(target=work, args=(at,)) for at in range(6)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    one = form.assemble()[0]
    assert all(np.allclose(matrix.data, one.data * at) for at, matrix in enumerate(found))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_after_a_fork_has_threads_of_its_own():
    form = Form(Mesh(*cube("tet4", 6)), "poisson", threads=2)
    expected = form.assemble()[0]
    child = os.fork()
    if child == 0:
        os._exit(0 if (form.assemble()[0] != expected).nnz == 0 else 1)
    assert os.waitpid(child, 0)[1] == 0


MESH = Mesh(*cube("tet4", 2))
SOLID = {"lam": 1.0, "mu": 1.0}


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: Form(MESH.points, "heat"), TypeError, "mesh: is a ndarray, expected a Mesh"),
        (lambda: Form(MESH, "wave"), ValueError, "'wave': expected one of poisson, diffusion, heat, elasticity"),
        (lambda: Form(MESH, "poisson", conductivity=1.0), ValueError, "conductivity: is no coefficient of poisson, expected source"),
        (lambda: Form(MESH, "elasticity", lam=1.0), ValueError, "mu: is missing"),
        (lambda: Form(MESH, "poisson", source=np.ones(7)), ValueError, r"source: has shape \(7,\), expected \(\) or \(48,\)"),
        (lambda: Form(MESH, "elasticity", **SOLID, force=1.0), ValueError, r"force: has shape \(\), expected \(3,\) or \(48, 3\)"),
        (lambda: Form(MESH, "poisson", source="x"), TypeError, "source: has type <U1, expected real numbers"),
        (lambda: Form(MESH, "poisson", source=1j), TypeError, "complex"),
        (lambda: Form(MESH, "poisson", threads=0), ValueError, "threads"),
        (lambda: Form(MESH, "poisson").assemble(np.ones(5)), ValueError, r"u: has shape \(5,\), expected \(27,\) or \(27, 1\)"),
        (lambda: Form(MESH, "elasticity", **SOLID).assemble(np.ones(27)), ValueError, r"expected \(81,\) or \(27, 3\)"),
        (lambda: Form(MESH, "diffusion").assemble(reaction=1.0), ValueError, "reaction: was not given to Form"),
        (lambda: Form(MESH, "poisson").assemble(mu=1.0), ValueError, "mu: is no coefficient"),
        (lambda: Form(MESH, "poisson").operator(fixed=[27]), ValueError, r"fixed\[0\] is 27"),
    ],
)
def test_what_is_wrong_is_an_exception_that_names_it(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_nan_stays_where_it_is():
    k = np.ones(48)
    k[5] = np.nan
    a, _ = Form(MESH, "diffusion", conductivity=k).assemble()
    nodes = MESH.cells[5]
    assert np.isnan(a[nodes][:, nodes].toarray()).all() and np.isnan(a.data).sum() == 16
