"""Solves beside scipy.sparse.linalg on the same systems."""

import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

import minifenl


def laplace(n):
    """Seven-point differences on n^3 interior points."""
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], (n, n))
    one = sp.identity(n)
    return sp.csr_matrix(sum(sp.kron(sp.kron(*pair[:2]), pair[2]) for pair in [(line, one, one), (one, line, one), (one, one, line)]))


@pytest.mark.parametrize("preconditioner", ["none", "jacobi", "gauss-seidel", "ic0", "amg"])
@pytest.mark.parametrize("threads", [1, 2])
def test_solutions_are_those_of_a_direct_solver(preconditioner, threads):
    a = laplace(9)
    b = np.random.default_rng(1).standard_normal(a.shape[0])
    x, iterations, residual = minifenl.solve(a, b, rtol=1e-10, preconditioner=preconditioner, threads=threads)
    assert np.allclose(x, spsolve(a.tocsc(), b), atol=1e-8) and iterations > 0
    assert np.isclose(residual, np.linalg.norm(b - a @ x), atol=1e-12) and residual <= 1e-10 * np.linalg.norm(b)


def test_iterations_of_amg_hardly_grow():
    found = [minifenl.solve(laplace(n), np.ones(n**3)).iterations for n in (10, 20, 30)]
    plain = minifenl.solve(laplace(30), np.ones(30**3), preconditioner="none").iterations
    assert max(found) <= 20 and plain > 2 * max(found), (found, plain)


def test_elasticity_takes_its_points():
    # Springs along all edges of a grid, and diagonals: rigid motions cost nothing.
    n = 9
    points = np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), -1).reshape(-1, 3).astype(float)
    number = np.arange(n**3).reshape(n, n, n)
    rows, columns, values = [], [], []
    for step in [s for s in np.ndindex(3, 3, 3) if s > (1, 1, 1)]:
        d = np.array(step) - 1
        low, high = [tuple(slice(max(0, -s * k), n - max(0, s * k)) for k in d) for s in (1, -1)]
        i, j = number[low].ravel(), number[high].ravel()
        block = np.outer(d, d) / (d @ d) ** 1.5
        for p, q, sign in [(i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)]:
            for (k, m), value in np.ndenumerate(block):
                rows.append(3 * p + k), columns.append(3 * q + m), values.append(np.full(p.size, sign * value))
    plan = minifenl.CooPlan(np.concatenate(rows), np.concatenate(columns))
    a = plan.csr(np.concatenate(values)) + sp.diags(np.repeat(points[:, 2] == 0, 3) * 1.0)
    b = np.tile([0.0, 0.0, -1.0], n**3)
    with_points = minifenl.solve(a, b, points=points)
    plain = minifenl.solve(a, b, preconditioner="none")
    assert np.allclose(with_points.x, plain.x, atol=1e-5 * abs(plain.x).max())
    assert 2 * with_points.iterations < plain.iterations, (with_points.iterations, plain.iterations)


@pytest.mark.parametrize("method", ["gmres", "bicgstab"])
def test_systems_that_are_not_symmetric(method):
    n = 200
    a = sp.diags([-1.4, 2.1, -0.6], [-1, 0, 1], (n, n)).tocsr()
    b = np.ones(n)
    found = minifenl.solve(a, b, method=method, preconditioner="jacobi", rtol=1e-10)
    assert np.allclose(found.x, spsolve(a.tocsc(), b), atol=1e-7)
    with pytest.raises(RuntimeError, match='the matrix is not symmetric.*method="gmres" and "bicgstab"'):
        minifenl.solve(a, b, preconditioner="none", maxiter=50)


@pytest.mark.parametrize("method", ["gmres", "bicgstab"])
def test_amg_helps_nearly_symmetric_systems_and_refuses_others(method):
    n = 16
    one, wind = sp.identity(n), sp.diags([-1.0, 1.0], [-1, 1], (n, n))

    def advected(speed):
        return sp.csr_matrix(laplace(n) + speed * sp.kron(sp.kron(wind, one), one))

    a, b = advected(0.1), np.ones(n**3)
    by_amg, by_default = minifenl.solve(a, b, method=method, preconditioner="amg"), minifenl.solve(a, b, method=method)
    assert np.linalg.norm(b - a @ by_amg.x) <= 1.01e-8 * np.linalg.norm(b)
    assert by_default.iterations > 3 * by_amg.iterations
    with pytest.raises(RuntimeError, match="positive definite|converge"):
        minifenl.solve(advected(1.5), b, method=method, preconditioner="amg", maxiter=200)
    assert minifenl.solve(advected(1.5), b, method=method).iterations > 0


def test_a_start_and_an_absolute_tolerance():
    a, b = laplace(5), np.ones(125)
    x = spsolve(a.tocsc(), b)
    assert minifenl.solve(a, b, x0=x).iterations == 0
    assert minifenl.solve(a, b, atol=1e3).iterations == 0
    # Inputs are read, never written: duplicate entries are summed in a copy.
    start, twice = np.zeros(125), sp.csr_matrix((np.repeat(a.data / 2, 2), np.repeat(a.indices, 2), 2 * a.indptr))
    for array in start, b, twice.data, twice.indices:
        array.setflags(write=False)
    assert np.allclose(minifenl.solve(twice, b, x0=start).x, x, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: minifenl.solve(np.eye(3), np.ones(3)), TypeError, "sparse"),
        (lambda: minifenl.solve(sp.identity(3) * 1j, np.ones(3)), TypeError, "real"),
        (lambda: minifenl.solve(sp.csr_matrix((3, 4)), np.ones(3)), ValueError, r"A: has shape \(3, 4\), expected a square"),
        (lambda: minifenl.solve(sp.identity(3), np.ones(4)), ValueError, r"b: has shape \(4,\), expected \(3,\)"),
        (lambda: minifenl.solve(sp.identity(3), np.ones(3), x0=np.ones(2)), ValueError, r"x0: has shape \(2,\), expected \(3,\)"),
        (lambda: minifenl.solve(sp.identity(3), np.ones(3), rtol=0), ValueError, "rtol and atol are both 0"),
        (lambda: minifenl.solve(sp.diags([1.0, -1.0]), np.ones(2), preconditioner="none"), RuntimeError, 'method="minres" takes any symmetric'),
        (lambda: minifenl.solve(sp.csr_matrix([[0.0, 1], [1, 0]]), np.ones(2), method="gmres"), ValueError, 'row 0 has no entry.*"jacobi"'),
        (lambda: minifenl.solve(sp.identity(3), np.ones(3), dofs=2), ValueError, "dofs 2: expected a divisor of the 3 unknowns"),
        (lambda: minifenl.solve(sp.identity(3), np.ones(3), method="lu"), ValueError, "lu: expected cg"),
        (lambda: minifenl.solve(sp.identity(3), np.ones(3), preconditioner="ilu"), ValueError, "ilu: expected"),
        (lambda: minifenl.solve(sp.identity(3), np.ones(3), points=np.ones((2, 3))), ValueError, "points"),
        (lambda: minifenl.solve(-sp.identity(3), np.ones(3)), (ValueError, RuntimeError), "."),
        (lambda: minifenl.solve(sp.csr_matrix((3, 3)), np.ones(3), preconditioner="jacobi"), ValueError, "diagonal"),
        (lambda: minifenl.solve(laplace(9), np.ones(729), preconditioner="none", maxiter=2), RuntimeError, "2"),
        (lambda: minifenl.solve(sp.identity(3), np.ones(3), rtol=np.nan), ValueError, "rtol"),
    ],
)
def test_what_is_wrong_is_an_exception_that_names_it(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_a_system_without_a_solution_is_not_solved():
    """Rows that add up to 0 and a right-hand side that does not: the recurrence of CG reaches its target while x grows."""
    said = []
    for n in range(3, 9):
        line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], (n, n)).tolil()
        line[0, 0] = line[-1, -1] = 1
        one = sp.identity(n)
        a = sp.csr_matrix(sum(sp.kron(sp.kron(*pair[:2]), pair[2]) for pair in [(line, one, one), (one, line, one), (one, one, line)]))
        b = 1 + np.random.default_rng(n).random(n**3)
        with pytest.raises(RuntimeError, match="singular|broke down|converge") as error:
            minifenl.solve(a, b, preconditioner="none")
        said.append(str(error.value))
    assert any("of ||b||, though that of the method reached its target" in text for text in said), said


def test_a_signal_ends_a_long_solve():
    n = 300_000
    a = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], (n, n)).tocsr()
    # A process in the background may ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
        with pytest.raises(KeyboardInterrupt):
            # As many iterations as there are rows would reach the tolerance.
            minifenl.solve(a, np.ones(n), rtol=1e-14, preconditioner="none", maxiter=50_000)
    finally:
        signal.signal(signal.SIGINT, before)
    assert minifenl.solve(laplace(5), np.ones(125)).iterations > 0
