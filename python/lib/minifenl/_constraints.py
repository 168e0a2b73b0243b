"""Unknowns that are linear combinations of others."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import SupportsFloat, SupportsIndex

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from ._arrays import choices

# Each constrained unknown with those that it is a combination of, and their weights.
Constraints = Mapping[SupportsIndex, Mapping[SupportsIndex, SupportsFloat]]


def terms(constraints, shape):
    """Returns constraints as lists for the extension module."""
    if shape[0] != shape[1]:
        raise ValueError(f"constraints: the matrix has shape {shape}, expected a square one")
    if not isinstance(constraints, Mapping):
        raise TypeError(f"constraints: is a {type(constraints).__name__}, expected a dict")
    return [(_unknown(row, shape[0], row), _of(row, others, shape[0])) for row, others in constraints.items()]


def _of(row, others, n):
    if not isinstance(others, Mapping):
        raise TypeError(f"constraints[{row!r}]: is a {type(others).__name__}, expected a dict of unknowns and weights")
    try:
        return [(_unknown(row, n, other), float(weight)) for other, weight in others.items()]
    except (TypeError, ValueError) as error:
        raise type(error)(f"constraints[{row!r}]: {error}") from None


def _unknown(row, n, unknown):
    """Returns an unknown as a number in 0..n."""
    try:
        number = index(unknown)
    except TypeError:
        raise TypeError(f"constraints: the unknown {unknown!r} is no integer") from None
    if not 0 <= number < n:
        raise ValueError(f"constraints: the unknown {number} is outside, expected {choices(n)}")
    return number


def pairs(rows, columns, per_elem):
    """Returns the row and the column of each number of the element matrices."""
    a, b = per_elem
    rows, columns = np.repeat(rows, b), np.tile(columns.reshape(-1, b), (1, a)) if b else columns
    return rows, np.ascontiguousarray(columns).reshape(-1)


def expansion(terms, n):
    """Returns the matrix (n, free) that gives all unknowns from the free ones."""
    is_free = np.ones(n, bool)
    is_free[[row for row, _ in terms]] = False
    numbers, free = np.cumsum(is_free) - 1, np.flatnonzero(is_free)
    of_terms = [(row, numbers[other], weight) for row, others in terms for other, weight in others]
    rows, columns, weights = np.array(of_terms).reshape(-1, 3).T
    i, j = np.r_[free, rows.astype(np.int64)], np.r_[np.arange(free.size), columns.astype(np.int64)]
    return coo_matrix((np.r_[np.ones(free.size), weights], (i, j)), (n, free.size)).tocsr()
