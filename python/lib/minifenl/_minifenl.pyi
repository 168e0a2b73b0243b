"""The extension module: arguments are checked by the package, arrays are contiguous."""

import numpy as np
from numpy.typing import NDArray

_Reals = NDArray[np.float64]
_Indices = NDArray[np.int32] | NDArray[np.int64]
_Values = NDArray[np.float32] | NDArray[np.float64] | NDArray[np.complex64] | NDArray[np.complex128]

class Plan:
    def __new__(
        cls, i: _Indices, j: _Indices, shape: tuple[int, int], per_elem: tuple[int, int] | None = None, threads: int | None = None
    ) -> Plan: ...
    @property
    def value_count(self) -> int: ...
    @property
    def nnz(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def pattern(self) -> list[_Indices]: ...
    def sum_entries(self, values: _Values, out: _Values) -> None: ...
    def sum_rows(self, values: _Values, out: _Values) -> None: ...

class Mesh:
    def __new__(cls, points: _Reals, cells: NDArray[np.uint32], threads: int | None) -> Mesh: ...
    @property
    def element(self) -> str: ...
    def boundary_nodes(self) -> NDArray[np.int64]: ...

class Form:
    def __new__(cls, mesh: Mesh, equation: str, threads: int | None) -> Form: ...
    def pattern(self) -> list[_Indices]: ...
    def assemble(self, coefficients: list[_Reals], unknowns: _Reals, values: _Reals, residual: _Reals) -> None: ...

class Operator:
    def __new__(
        cls, mesh: Mesh, equation: str, constants: list[float], unknowns: _Reals, fixed: NDArray[np.uint8], threads: int | None
    ) -> Operator: ...
    def apply(self, x: _Reals, y: _Reals) -> None: ...

def dirichlet(
    offsets: _Indices, columns: _Indices, values: _Reals, b: _Reals, fixed: NDArray[np.uint8], imposed: _Reals, threads: int | None
) -> None: ...
def solve(
    offsets: _Indices,
    columns: _Indices,
    values: _Reals,
    b: _Reals,
    x: _Reals,
    *,
    rtol: float,
    atol: float,
    maxiter: int,
    method: str,
    preconditioner: str,
    dofs: int,
    points: _Reals | None,
    threads: int | None,
) -> tuple[int, float, float]: ...
def run(deck: str) -> tuple[str, _Reals, _Reals]: ...
