"""Equations on a mesh: matrices and right-hand sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import LinearOperator

from ._arrays import Pattern, check_threads, reals, unknown_indices
from ._mesh import Mesh
from ._minifenl import Form as _Form
from ._minifenl import Operator as _Operator
from ._weak import TextEquation

__all__ = ["Form"]

# Unknowns per node, and the coefficients with their components and defaults; None: to be given.
_EQUATIONS = {
    "poisson": (1, {"source": (1, 0.0)}),
    "diffusion": (1, {"conductivity": (1, 1.0), "reaction": (1, 0.0), "source": (1, 0.0)}),
    "heat": (1, {"conductivity": (1, 1.0)}),
    "elasticity": (3, {"lam": (1, None), "mu": (1, None), "force": (3, (0.0, 0.0, 0.0))}),
}


class Form:
    """An equation on a mesh, planned once and assembled again and again.

    ==============  ==============================================================  ====================================
    equation        in the weak form, u at nodes                                    coefficients
    ==============  ==============================================================  ====================================
    ``poisson``     -laplace(u) = f                                                 ``source`` f (0)
    ``diffusion``   -div(k grad u) + c u = f                                        ``conductivity`` k (1), ``reaction``
                                                                                    c (0), ``source`` f (0)
    ``heat``        -div(k grad u) + u^2 = 0                                        ``conductivity`` k (1)
    ``elasticity``  -div(sigma) = f, sigma = lam tr(eps) I + 2 mu eps, with         ``lam``, ``mu``, ``force`` f (0)
                    three displacements per node, u[3 m + c] at node m
    ==============  ==============================================================  ====================================

    Without a name, ``flux`` and ``source`` state the weak form at a point: the residual is the integral of ``grad v . flux + v source``
    for each test function v. ``Form(mesh, flux="(1 + k * u**2) * grad_u", source="-f", k=0.5, f=load)`` is
    -div((1 + k u^2) grad u) = f. Expressions have

    - ``u``, ``grad_u``, the coordinates ``x`` and the coefficients by their names; ``grad_k`` of a coefficient ``k`` per node;
    - numbers and vectors of three, ``[a, b, c]``, whose items are ``x[0]`` to ``x[2]``; ``pi``;
    - ``+ - * / **``, ``sin cos exp log sqrt tanh abs min max`` of numbers and ``dot`` of two vectors. A power whose exponent is not a
      number in the text, such as a coefficient, needs a positive base: ``u**k`` is ``exp(k * log(u))``.

    A matrix is the exact derivative. One of ``flux`` and ``source`` may be left out. Two or three unknowns per node have
    dicts: ``source={"a": "a - b", "b": "b - a"}``; unknown c at node m is ``u[dofs m + c]``, in the order in which the dicts name them.

    Parameters
    ----------
    mesh : Mesh
        Nodes and elements.
    equation : str, optional
        One of the table; without it, ``flux`` and ``source`` are given.
    flux, source : str or dict of str, optional
        The weak form at a point; vector and number.
    threads : int, optional
        Threads of this form; as many as the process may use if it is not given.
    **coefficients : float or array_like
        One number or one per element, (elem,); ``force`` is (3,) or (elem, 3). Those of expressions may also have values per node, (node,),
        which are interpolated as u is, or per quadrature point, (elem, point), see ``Mesh.quadrature_points``, and three components, with
        3 as last length: up to ten numbers in all. Units are those of the equation with lengths of the mesh.

    Raises
    ------
    ValueError
        For an equation or a coefficient that is unknown, missing or has another shape, and for an expression that has no meaning; the
        text names the column.
    TypeError
        For coefficients that are no real numbers.
    MemoryError
        Where memory is short.

    Notes
    -----
    Matrices have the same bits for any number of threads. The lock of the interpreter is released during an assembly: arrays must not
    be changed meanwhile. Ctrl-C ends a solve, an assembly only after its end.
    """

    def __init__(
        self,
        mesh: Mesh,
        equation: str | None = None,
        *,
        flux: str | dict[str, str] | None = None,
        source: ArrayLike | str | dict[str, str] | None = None,
        threads: int | None = None,
        **coefficients: ArrayLike,
    ):
        if not isinstance(mesh, Mesh):
            raise TypeError(f"mesh: is a {type(mesh).__name__}, expected a Mesh")
        check_threads(threads)
        self.mesh, self.equation = mesh, equation
        if equation is None:
            if flux is None and source is None:
                raise ValueError("equation: is missing; expected a name, or flux and source as text")
            self._text = TextEquation(mesh, flux, source, coefficients, threads)
            self.dofs, self._form = self._text.dofs, self._text.form
        else:
            if equation not in _EQUATIONS:
                raise ValueError(f"equation {equation!r}: expected one of {', '.join(_EQUATIONS)}, or flux and source as text")
            if flux is not None:
                raise ValueError(f"flux: is that of {equation}; text takes the place of a name")
            if source is not None:
                coefficients["source"] = source
            self._text = None
            self.dofs, known = _EQUATIONS[equation]
            self._coefficients = {}
            self._coefficients = self._with({**{name: default for name, (_, default) in known.items()}, **coefficients})
            # Without a term c u, derivatives by values are zero and cost nothing.
            self._reacts = "reaction" in coefficients
            name = {"poisson": "diffusion", "diffusion": "reaction" if self._reacts else "diffusion"}.get(equation, equation)
            self._form = _Form(mesh._mesh, name, threads)
        n = self.dofs * len(mesh.points)
        self._pattern = Pattern((n, n), *self._form.pattern())

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return self._pattern.shape

    @property
    def nnz(self) -> int:
        """Entries of the matrix."""
        return self._pattern.indices.size

    def assemble(
        self, u: ArrayLike | None = None, *, out: csr_matrix | None = None, **coefficients: ArrayLike
    ) -> tuple[csr_matrix, NDArray[np.float64]]:
        """Assembles matrix and right-hand side at unknowns u: a step of Newton's method is ``u += solve(A, b).x``.

        Parameters
        ----------
        u : array_like, (n,) or (node, dofs), optional
            Unknowns; zero if they are not given, so that a linear equation is ``A x = b`` itself.
        out : scipy.sparse.csr_matrix, optional
            A matrix that this form returned, whose values are overwritten.
        **coefficients
            Replace those of the form in this call.

        Returns
        -------
        A : scipy.sparse.csr_matrix, (n, n)
            Derivative of the weak form, without boundary conditions. All matrices of a form share row offsets and columns, which are
            read-only: methods that change them in place, such as ``eliminate_zeros``, need a ``copy()``.
        b : ndarray, (n,)
            Minus the residual: the load less what u takes.

        Raises
        ------
        ValueError
            For arrays of other shapes.
        """
        fields = self._text.fields(coefficients) if self._text else self._named_fields(coefficients)
        matrix, residual = self._pattern.matrix(np.float64, out), np.empty(self.shape[0])
        self._form.assemble(fields, self._unknowns(u), matrix.data, residual)
        return matrix, np.subtract(0.0, residual, out=residual)

    def _named_fields(self, coefficients):
        """Place and array of each component of the coefficients, in the order of the library."""
        given = self._with(coefficients)
        if "reaction" in coefficients and not self._reacts:
            raise ValueError("reaction: was not given to Form, which plans its term")
        if self.equation == "poisson":
            given = {"conductivity": np.ones(1), **given}
        if not self._reacts:
            given.pop("reaction", None)
        arrays = [field for value in given.values() for field in (value if value.ndim == 2 else [value])]
        return [("constant" if array.size == 1 else "elements", array) for array in arrays]

    def operator(self, u: ArrayLike | None = None, *, fixed: ArrayLike | None = None) -> LinearOperator:
        """Returns the matrix at u as an operator that stores no matrix.

        Parameters
        ----------
        u : array_like, (n,) or (node, dofs), optional
            Unknowns; zero if they are not given.
        fixed : array_like of int or bool, optional
            Unknowns with Dirichlet conditions, as for ``dirichlet``: the operator has their rows and columns of the unit matrix.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator, (n, n)
            A product computes all elements anew, on the threads of the form. ``poisson``, ``heat`` and ``elasticity`` with numbers as
            coefficients integrate the product itself; all others compute and multiply the element matrices, which takes as long as an
            assembly and is worth it where the matrix has no room. An equation as text has no transpose.
        """
        mask = np.zeros(self.shape[0], np.uint8)
        if fixed is not None:
            mask[unknown_indices("fixed", fixed, self.shape[0])] = 1
        u = self._unknowns(u).copy()
        constants = self._constants()
        if constants is not None:
            apply = _Operator(self._form, self.equation, constants, u, mask).apply
        else:
            fields = self._text.fields({}) if self._text else self._named_fields({})

            def apply(x, y):
                self._form.multiply(fields, u, x, mask, y)

        def product(x):
            y = np.empty(self.shape[0])
            apply(np.ascontiguousarray(x, np.float64).reshape(-1), y)
            return y

        is_symmetric = self._text is None
        return LinearOperator(self.shape, matvec=product, rmatvec=product if is_symmetric else None, dtype=np.float64)

    def _constants(self):
        """Coefficients of the library's product without a matrix, if it has the equation."""
        if self._text or self.equation == "diffusion":
            return None
        given = [value for name, value in self._coefficients.items() if name not in ("source", "force")]
        return [float(value[0]) for value in given] if all(value.size == 1 for value in given) else None

    def _unknowns(self, u):
        n = self.shape[0]
        if u is None:
            return np.zeros(n)
        u = reals("u", u)
        if u.shape not in ((n,), (n // self.dofs, self.dofs)):
            raise ValueError(f"u: has shape {u.shape}, expected {(n,)} or {(n // self.dofs, self.dofs)}")
        return u.reshape(-1)

    def _with(self, coefficients):
        """Coefficients of the form with others in their place: one number, one per element, or a row of them per component."""
        known = _EQUATIONS[self.equation][1]
        for name in coefficients:
            if name not in known:
                raise ValueError(f"{name}: is no coefficient of {self.equation}, expected {', '.join(known)}")
            if coefficients[name] is None:
                raise ValueError(f"{name}: is missing; {self.equation} needs it")
        fields = {name: self._fields(name, value, known[name][0]) for name, value in coefficients.items()}
        return {**self._coefficients, **fields}

    def _fields(self, name, given, components):
        value, elems = reals(name, given), len(self.mesh.cells)
        shapes = [(), (elems,)] if components == 1 else [(components,), (elems, components)]
        if value.shape not in shapes:
            raise ValueError(f"{name}: has shape {value.shape}, expected {shapes[0]} or {shapes[1]}")
        # Components are arrays of their own. A copy, as the caller may change the array.
        return np.array(value.reshape(-1) if components == 1 else np.atleast_2d(value).T, order="C")

    def __repr__(self):
        return f"<Form of {self.equation or 'an equation as text'} on {len(self.mesh.cells)} {self.mesh.element} with {self.shape[0]} unknowns>"
