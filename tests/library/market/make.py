"""Makes the Matrix Market files of this folder with SciPy, and what SciPy reads from each of them.

    python3 tests/library/market/make.py          (SciPy 1.16.3, NumPy)

KIND.mtx    written by scipy.io.mmwrite
KIND.csv    scipy.io.mmread of it: `rows,columns`, then `row,column,real,imaginary` for each entry by rows; every entry of an array,
            sums of duplicates of a coordinate file
"""

from pathlib import Path

import numpy
import scipy.io
import scipy.sparse

FOLDER = Path(__file__).parent
RANDOM = numpy.random.default_rng(20)


def numbers(shape, field):
    """Values with all their digits and magnitudes from 1e-300 to 1e300, a third of them 0."""
    if field == "integer":
        return RANDOM.integers(-4, 5, shape)
    if field == "unsigned-integer":
        return RANDOM.integers(0, 1 << 53, shape, dtype=numpy.uint64)
    if field == "pattern":
        return RANDOM.integers(0, 2, shape).astype(float)
    values = RANDOM.standard_normal(shape) * 10.0 ** RANDOM.integers(-300, 300, shape)
    values[RANDOM.random(shape) < 1 / 3] = 0.0
    return values + 1j * RANDOM.standard_normal(shape) * (values != 0) if field == "complex" else values


def symmetric(values, symmetry):
    lower = numpy.tril(values, -1)
    diagonal = numpy.diag(numpy.diag(values))
    return {
        "symmetric": lambda: lower + diagonal + lower.T,
        "skew-symmetric": lambda: lower - lower.T,
        "hermitian": lambda: lower + diagonal.real + lower.conj().T,
    }[symmetry]()


def reference(path):
    matrix = scipy.io.mmread(path)
    if scipy.sparse.issparse(matrix):
        csr = matrix.tocsr()
        csr.sum_duplicates()
        csr.sort_indices()
        entries = [(row, csr.indices[at], csr.data[at]) for row in range(csr.shape[0]) for at in range(csr.indptr[row], csr.indptr[row + 1])]
    else:
        entries = [(row, column, value) for (row, column), value in numpy.ndenumerate(matrix)]
    lines = [f"{matrix.shape[0]},{matrix.shape[1]}"]
    for row, column, value in entries:
        lines.append(f"{row},{column},{float(numpy.real(value))!r},{float(numpy.imag(value))!r}")
    path.with_suffix(".csv").write_text("\n".join(lines) + "\n")


def write(name, matrix, **options):
    path = FOLDER / f"{name}.mtx"
    scipy.io.mmwrite(path, matrix, **options)
    reference(path)


def main():
    for field in ["real", "integer", "unsigned-integer", "complex", "pattern"]:
        option = {"field": "pattern"} if field == "pattern" else {}
        write(f"coordinate-{field}-general", scipy.sparse.coo_array(numbers((9, 6), field)), symmetry="general", **option)
        if field != "pattern":
            write(f"array-{field}-general", numbers((4, 5), field), symmetry="general")
        if field == "unsigned-integer":
            continue
        for symmetry in ["symmetric", "skew-symmetric", "hermitian"]:
            if field == "pattern" and symmetry != "symmetric" or field != "complex" and symmetry == "hermitian":
                continue
            matrix = symmetric(numbers((7, 7), field), symmetry)
            write(f"coordinate-{field}-{symmetry}", scipy.sparse.coo_array(matrix), symmetry=symmetry, **option)
            if field != "pattern":
                write(f"array-{field}-{symmetry}", matrix[:5, :5], symmetry=symmetry)
    rows, columns = RANDOM.integers(0, 5, 60), RANDOM.integers(0, 4, 60)
    repeated = scipy.sparse.coo_array((RANDOM.integers(-8, 9, 60) / 8, (rows, columns)), shape=(5, 4))
    write("duplicates", repeated, symmetry="general", comment="places more than once, in any order")
    write("vector", RANDOM.standard_normal((11, 1)))
    write("empty-rows", scipy.sparse.coo_array(([1.5], ([3], [0])), shape=(8, 2)))


main()
