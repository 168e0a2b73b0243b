"""Equations as text, against equations of the library, scikit-fem and difference quotients."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshes import TYPES, cube
from test_form import numbers, skfem_system

from minifenl import Form, Mesh

MESH = Mesh(*cube("tet4", 2, curved=True))
VOLUME = -Form(MESH, source="1").assemble()[1].sum()
ELASTICITY = {
    f"u{a}": "[" + ", ".join(f"mu * (grad_u{a}[{j}] + grad_u{b}[{i}])" + f" + lam * {div}" * (i == j) for j, b in enumerate("xyz")) + "]"
    for div in ["(grad_ux[0] + grad_uy[1] + grad_uz[2])"]
    for i, a in enumerate("xyz")
}


def close(one, other, size=1e-14):
    return all(abs(a - b).max() <= size * max(1.0, abs(b).max()) for a, b in zip(one, other))


@pytest.mark.parametrize("element", TYPES)
def test_equations_of_the_library_in_words(element):
    mesh = Mesh(*cube(element, 2, curved=True))
    k, c, f = (numbers(len(mesh.cells), seed) for seed in range(3))
    u = numbers(len(mesh.points), 5)
    text = Form(mesh, flux="grad_u", source="-f", f=f)
    assert close(text.assemble(u), Form(mesh, "poisson", source=f).assemble(u))
    text = Form(mesh, flux="k * grad_u", source="c * u - f", k=k, c=c, f=f)
    assert close(text.assemble(u), Form(mesh, "diffusion", conductivity=k, reaction=c, source=f).assemble(u))
    text = Form(mesh, flux="k * grad_u", source="u ** 2", k=0.7)
    assert close(text.assemble(u), Form(mesh, "heat", conductivity=0.7).assemble(u))


@pytest.mark.parametrize("element", ["tet4", "hex8", "wedge15"])
def test_elasticity_in_words(element):
    mesh = Mesh(*cube(element, 2, curved=True))
    lam, mu = numbers(len(mesh.cells), 1), numbers(len(mesh.cells), 2)
    force, u = np.random.default_rng(3).standard_normal((len(mesh.cells), 3)), numbers(3 * len(mesh.points), 4)
    source = {f"u{a}": f"-g[{i}]" for i, a in enumerate("xyz")}
    text = Form(mesh, flux=ELASTICITY, source=source, lam=lam, mu=mu, g=force)
    assert text.dofs == 3
    assert close(text.assemble(u), Form(mesh, "elasticity", lam=lam, mu=mu, force=force).assemble(u))


@pytest.mark.parametrize("element", ["tet4", "hex8"])
def test_coefficients_and_coordinates_are_those_of_scikit_fem(element):
    points, cells = cube(element, 3, curved=True)
    k, v = numbers(len(cells)), np.array([0.3, -0.5, 0.7])

    def bilinear(u, w, at):
        slope = sum(v[i] * u.grad[i] for i in range(3))
        return at.k * (1 + at.x[0] ** 2) * sum(u.grad[i] * w.grad[i] for i in range(3)) + (slope + np.exp(at.x[1]) * u) * w

    name = {"tet4": "ElementTetP1", "hex8": "ElementHex1"}[element]
    load = lambda w, at: np.sin(np.pi * at.x[2]) * w  # noqa: E731
    expected, b, _ = skfem_system(points, cells, lambda s: getattr(s, name)(), bilinear, load, k=k)
    form = Form(
        Mesh(points, cells), flux="k * (1 + x[0]**2) * grad_u", source="dot(v, grad_u) + exp(x[1]) * u - sin(pi * x[2])", k=k, v=v
    )
    assert close(form.assemble(), (expected, b), 1e-13)


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex20"])
def test_values_of_nodes_elements_and_points_are_one_field(element):
    mesh = Mesh(*cube(element, 2, curved=True))
    at_points = mesh.quadrature_points()
    plane = lambda x: 1 + x @ [0.5, 0.2, -0.1]  # noqa: E731
    u = numbers(len(mesh.points), 2)
    found = [Form(mesh, flux="k * grad_u", source="k", k=k).assemble(u) for k in (plane(mesh.points), plane(at_points))]
    assert close(found[0], found[1], 1e-13)
    assert close(Form(mesh, flux="(1 + dot([0.5, 0.2, -0.1], x)) * grad_u", source="1 + dot(a, x)", a=[0.5, 0.2, -0.1]).assemble(u), found[0], 1e-13)
    # The gradient of values of nodes is that of the plane, and zero of values of elements.
    form = Form(mesh, flux="grad_u + grad_k", source="u * k_e", k=plane(mesh.points), k_e=np.full(len(mesh.cells), 2.0))
    expected = Form(mesh, flux="grad_u + [0.5, 0.2, -0.1]", source="2 * u")
    assert close(form.assemble(u), expected.assemble(u), 1e-13)
    assert close(Form(mesh, flux="grad_k", k=numbers(len(mesh.cells))).assemble(u), (np.zeros(1), np.zeros(1)))
    # A vector per node.
    form = Form(mesh, source="dot(v, grad_u)", v=mesh.points)
    assert close(form.assemble(u), Form(mesh, source="dot(x, grad_u)").assemble(u), 1e-13)


@pytest.mark.parametrize(
    ("flux", "source"),
    [
        ("(1 + u**2) * grad_u", "exp(-u) * sin(3 * u) + log(u) / u"),
        ("grad_u / sqrt(1 + dot(grad_u, grad_u))", "tanh(u - 1.2) + abs(u - 1.3) + cos(u / 3)**-2"),
        ("[u, u**3 * x[0], grad_u[0]**2]", "u**1.5 + u**(u / 3) + 2**u"),
        ("max(u, 1.1) * grad_u", "min(u * u, 1.7)"),
    ],
)
@pytest.mark.parametrize("element", ["tet4", "hex8"])
def test_matrices_are_derivatives(element, flux, source):
    mesh = Mesh(*cube(element, 2, curved=True))
    form, u, v = Form(mesh, flux=flux, source=source), numbers(len(mesh.points), 1), numbers(len(mesh.points), 2)
    h = 1e-6
    a, _ = form.assemble(u)
    quotient = (form.assemble(u - h * v)[1] - form.assemble(u + h * v)[1]) / (2 * h)
    assert np.allclose(a @ v, quotient, atol=1e-8)


@pytest.mark.parametrize(
    "source", ["max(log(u), -10)", "max(-10, log(u))", "min(1 / u, 5)", "min(5, 1 / u)", "max(sqrt(u - 1), 0)", "max(0, sqrt(u - 1))"]
)
def test_what_min_and_max_do_not_take_has_no_effect(source):
    a, b = Form(MESH, source=source + " + 3 * u").assemble()
    assert np.isfinite(b).all() and np.isclose(a.sum(), 3 * VOLUME)


@pytest.mark.parametrize("exponent", ["sqrt(4)", "2 ** 20 / 2 ** 19", "max(1, 2)", "-min(-2, 3)", "abs(-2)", "2 * cos(0)"])
def test_exponents_of_numbers_are_numbers(exponent):
    b = Form(MESH, source=f"u**({exponent})").assemble(np.full(27, -0.5))[1]
    assert np.isclose(b.sum(), -0.25 * VOLUME)


def test_two_unknowns_are_blocks_and_newton_finds_their_state():
    mesh = Mesh(*cube("hex8", 3))
    form = Form(mesh, flux={"a": "grad_a", "b": "d * grad_b"}, source={"a": "a * b - 2", "b": "b - a"}, d=0.3)
    u = np.full((len(mesh.points), 2), [1.0, 1.2])
    assert form.dofs == 2 and form.shape == (2 * len(mesh.points),) * 2
    for _ in range(8):
        a, b = form.assemble(u)
        from scipy.sparse.linalg import spsolve

        u += spsolve(a.tocsc(), b).reshape(-1, 2)
    assert np.allclose(u, math.sqrt(2))
    stiffness = Form(mesh, "poisson").assemble()[0]
    assert close([form.assemble(0 * u)[0][0::2, 0::2]], [stiffness], 1e-14)


def test_a_step_in_time_reads_the_old_solution_and_changes_its_coefficients():
    mesh = Mesh(*cube("hex8", 2))
    old, u = np.ones(27), np.full(27, 3.0)
    form = Form(mesh, flux="k * grad_u", source="(u - u_old) / dt", k=0.5, u_old=old, dt=0.1)
    a, b = form.assemble(u)
    assert np.isclose(b.sum(), -20) and np.isclose(a.sum(), 10)
    again, b = form.assemble(u, u_old=u, dt=0.2, out=a)
    assert again is a and abs(b).max() < 1e-14 and np.isclose(a.sum(), 5)
    # Another place of its values is as good; those of the form stay.
    assert np.isclose(form.assemble(u, u_old=2.0)[1].sum(), -10) and np.isclose(form.assemble(u)[1].sum(), -20)


def test_bits_do_not_depend_on_threads():
    mesh = Mesh(*cube("tet10", 3, curved=True))
    forms = [Form(mesh, flux="exp(u) * grad_u", source="u / (1 + u**2)", threads=threads) for threads in (1, 2, 3)]
    found = [form.assemble(numbers(len(mesh.points))) for form in forms]
    assert len({b"".join(part.tobytes() for part in (a.data, b)) for a, b in found}) == 1


@pytest.mark.parametrize("element", ["tet4", "hex20"])
def test_products_without_a_matrix_are_those_of_the_matrix(element):
    mesh = Mesh(*cube(element, 2, curved=True))
    k = numbers(len(mesh.points))
    form = Form(mesh, flux={"a": "k * a * grad_b", "b": "grad_b"}, source={"a": "exp(a * b)", "b": "grad_a[1]"}, k=k, threads=2)
    u, x = numbers(form.shape[0], 1), numbers(form.shape[0], 2)
    a, b = form.assemble(u)
    operator = form.operator(u)
    assert np.allclose(operator @ x, a @ x, atol=1e-12) and abs(a - a.T).max() > 0.01
    # u and x are read when they are given.
    expected, u[:] = a @ x, 0
    assert np.allclose(operator @ x, expected, atol=1e-12)
    with pytest.raises(NotImplementedError):
        operator.T @ x
    rows = np.arange(0, form.shape[0], 7)
    found = form.operator(numbers(form.shape[0], 1), fixed=rows) @ x
    free = np.setdiff1d(np.arange(form.shape[0]), rows)
    masked = np.where(np.isin(np.arange(x.size), rows), 0, x)
    assert np.allclose(found[free], (a @ masked)[free], atol=1e-12) and (found[rows] == x[rows]).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("u +", "source, column 4: expected a number, a name or a bracket, found the end"),
        ("u + * 2", r"column 5: .*found `\*`"),
        ("(u", r"column 3: expected `\)`, found the end"),
        ("u)", r"column 2: expected an operator or the end, found `\)`"),
        ("2 u", "column 3: expected an operator or the end, found `u`"),
        ("k * u", "column 1: unknown name `k`, expected u, grad_u, x, pi or a function"),
        ("grad_k[0]", "column 1: unknown name `grad_k`"),
        ("1.2.3", "column 1: `1.2.3` is no number"),
        ("u + 1e999", "column 5: `1e999` is no number"),
        ("u & 2", "column 3: unexpected character `&`"),
        ("u if u > 0 else 0", "column 3: expected an operator or the end, found `if`"),
        ("np.sin(u)", "column 1: `np.sin` has a prefix, expected `sin`"),
        ("1 + math.pi * u", "column 5: `math.pi` has a prefix, expected `pi`"),
        ("u.", "column 2: `.` is no number"),
        ("ü + u", "column 1: unexpected character `ü`"),
        ("sinh(u)", "column 1: unknown function `sinh`, expected sin"),
        ("sin", r"column 1: expected `\(` after `sin`"),
        ("u(2)", "unknown function `u`"),
        ("sin(u, u)", "sin: has 2 items, expected 1"),
        ("min(u)", "min: has 1 items, expected 2"),
        ("sin(grad_u)", "sin: expected numbers, found a vector"),
        ("dot(u, grad_u)", "dot: expected two vectors"),
        ("grad_u", "source, column 1: is a vector, expected a number"),
        ("grad_u * grad_u", r"column 8: two vectors: expected dot\(a, b\)"),
        ("u + grad_u", r"column 3: a number \+ a vector has no meaning"),
        ("1 / grad_u", "column 3: a number / a vector has no meaning"),
        ("grad_u**2", r"column 7: \*\*: expected numbers"),
        ("x[3]", "column 3: expected 0, 1 or 2, found `3`"),
        ("u[0]", "column 2: a number has no items"),
        ("[u, u][0]", "a vector: has 2 items, expected 3"),
        ("(" * 101 + "u" + ")" * 101, "nested deeper than 100"),
        ("-" * 200 + "u", "nested deeper than 100"),
        ("\n\n&", "column 3: unexpected"),
    ],
)
def test_errors_name_the_column(text, message):
    with pytest.raises(ValueError, match=message):
        Form(MESH, source=text)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({}, ValueError, "equation: is missing"),
        ({"flux": "u"}, ValueError, "flux, column 1: is a number, expected a vector of three"),
        ({"flux": 1.0}, TypeError, "flux: is a float, expected a text"),
        ({"flux": {"a": 1}}, TypeError, "flux: expected a dict of texts"),
        ({"flux": "grad_u", "source": {"u": "u"}}, ValueError, "two texts or two dicts"),
        ({"equation": "poisson", "flux": "grad_u"}, ValueError, "flux: is that of poisson"),
        ({"source": {"a": "a", "b": "c"}}, ValueError, "source of b, column 1: unknown name `c`, expected a, grad_a, b, grad_b, x"),
        ({"source": {name: name for name in "abcd"}}, ValueError, "4 unknowns per node: expected 1 to 3"),
        ({"source": "u * k"}, ValueError, "unknown name `k`"),
        ({"source": "u", "k": 1.0}, ValueError, "k: is in no expression"),
        ({"source": "u", "u": 1.0}, ValueError, "u: names two things"),
        ({"source": {"a": "a + u"}, "u": 1.0}, ValueError, "u: is an argument of assemble"),
        ({"source": "u * out", "out": 1.0}, ValueError, "out: is an argument of assemble"),
        ({"flux": ""}, ValueError, "flux, source: are empty"),
        ({"flux": {}}, ValueError, "flux, source: are empty"),
        ({"flux": {"a": ""}, "source": {"b": ""}}, ValueError, "flux, source: are empty"),
        ({"source": "u", "x": 1.0}, ValueError, "x: expected a name that has no other meaning"),
        ({"source": "u", "grad_k": 1.0}, ValueError, "grad_k: expected a name"),
        ({"source": "k * u", "k": np.ones(5)}, ValueError, r"k: has shape \(5,\), expected one of \(\), \(27,\), \(48,\), \(48, 4\)"),
        ({"source": "k * u", "k": "1"}, TypeError, "k: has type"),
        ({"source": "dot(k, k)", "k": 1.0}, ValueError, "dot: expected two vectors"),
        ({"flux": "grad_k", "k": np.ones(3)}, ValueError, "k is a vector, expected the gradient of a number"),
        ({"flux": "grad_k", "k": np.ones((48, 4))}, ValueError, "k: has a value per quadrature point and no gradient"),
        ({"source": "+".join(f"k{i}" for i in range(11)), **{f"k{i}": 1.0 for i in range(11)}}, ValueError, "11 components, expected at most 10"),
    ],
)
def test_arguments_that_are_wrong(arguments, kind, message):
    with pytest.raises(kind, match=message):
        Form(MESH, **arguments)


def test_shapes_that_say_two_things_are_refused():
    one = Mesh(np.eye(4, 3, -1), [[0, 1, 2, 3]])
    # (1, 4): per point; (4,): per node; (1,): per element; (1, 3): a vector per element.
    for shape in [(), (1,), (4,), (1, 4)]:
        assert np.isclose(Form(one, source="k", k=np.full(shape, 3.0)).assemble()[1].sum(), -0.5)
    assert np.isclose(Form(one, source="k[1]", k=[[1.0, 3.0, 5.0]]).assemble()[1].sum(), -0.5)
    # Two rings of tetrahedra around an edge: as many elements as nodes less two.
    angles = 2 * np.pi * np.arange(6) / 6
    rim = np.stack([np.cos(angles), np.sin(angles), 0 * angles], -1)
    points = np.concatenate([[[0, 0, 0], [0, 0, 1], [0, 0, -1]], rim])
    ring = np.array([[0, 3 + i, 3 + (i + 1) % 6, 1] for i in range(6)])
    below = ring[:3, [0, 2, 1, 3]]
    below[:, 3] = 2
    mesh = Mesh(points, np.concatenate([ring, below]))
    assert len(mesh.points) == len(mesh.cells) == 9
    with pytest.raises(ValueError, match="may be nodes with 1 or elements with 1 components"):
        Form(mesh, source="k", k=np.ones(9))


FORM = Form(MESH, source="k * u", k=1.0)


def test_a_form_says_what_it_is():
    assert repr(FORM) == "<Form of an equation as text on 48 tet4 with 27 unknowns>"


@pytest.mark.parametrize(
    ("coefficients", "message"),
    [
        ({"c": 1.0}, "c: is no coefficient of this form, expected k"),
        ({"k": np.ones(3)}, r"k: has shape \(3,\), expected one of \(\), \(27,\), \(48,\), \(48, 4\)$"),
    ],
)
def test_coefficients_of_a_call_that_are_wrong(coefficients, message):
    with pytest.raises(ValueError, match=message):
        FORM.assemble(**coefficients)


# Expressions as Python writes them: it evaluates them at u = 0.7, of which the residual of a constant field is the integral.
ATOMS = st.one_of(st.just("u"), st.just("k"), st.just("pi"), st.floats(0.1, 9, allow_nan=False).map(lambda number: repr(round(number, 3))))
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" + ", "-", " * ", "/"]), inner).map("".join),
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda parts: f"({''.join(parts)})"),
        st.tuples(inner, st.integers(-3, 5)).map(lambda parts: f"({parts[0]}) ** {parts[1]}"),
        inner.map(lambda text: "-" + text),
        st.tuples(st.sampled_from(["tanh", "abs"]), inner).map(lambda parts: f"{parts[0]}({parts[1]})"),
        # Of bounded arguments: the sine of a large number shows its rounding.
        st.tuples(st.sampled_from(["sin", "cos"]), inner).map(lambda parts: f"{parts[0]}(4 * tanh({parts[1]}))"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda parts: f"{parts[0]}({parts[1]}, {parts[2]})"),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(EXPRESSIONS)
def test_expressions_mean_what_they_mean_in_python(text):
    names = {"u": 0.7, "k": 1.3, "pi": math.pi, "sin": math.sin, "cos": math.cos, "tanh": math.tanh}
    try:
        expected = eval(text, {"abs": abs, "min": min, "max": max, "__builtins__": {}}, names)  # noqa: S307
    except (ZeroDivisionError, OverflowError, ValueError):
        return
    coefficient = {"k": 1.3} if "k" in text else {}
    found = -Form(MESH, source=text, **coefficient, threads=1).assemble(np.full(27, 0.7))[1].sum()
    assert np.isclose(found, expected * VOLUME, rtol=1e-6, atol=1e-9)


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.text(max_size=40), st.text("u+-*/().,[]0123456789exgrad_ sin", max_size=40)))
def test_any_text_is_an_equation_or_an_error(text):
    try:
        Form(MESH, source=text, threads=1).assemble()
    except ValueError as error:
        assert "source" in str(error)
