"""Finite elements for SciPy: from a mesh to a matrix to a solution, assembled again and again on an unchanged pattern.

>>> import numpy as np, minifenl
>>> plan = minifenl.CooPlan([0, 0, 1, 1], [0, 1, 1, 1])
>>> plan.csr([1.0, 2.0, 3.0, 4.0]).toarray()
array([[1., 2.],
       [0., 7.]])
"""

from ._dirichlet import dirichlet
from ._fill import Fill, Graph
from ._form import Form
from ._mesh import Mesh
from ._plan import CooPlan
from ._run import Run, run, run_mpi
from ._solve import Solution, solve

__all__ = ["CooPlan", "Fill", "Form", "Graph", "Mesh", "Run", "Solution", "dirichlet", "run", "run_mpi", "solve"]
