"""PETSc: MatSetPreallocationCOO as pattern stage, MatSetValuesCOO of the given element matrices as assembly. Each rank passes an
equal share of the elements; entries in rows of another rank are sent to it. Both are called in libpetsc: petsc4py 3.18 lacks them."""
import ctypes
from peer import DOFS, array, ms, points, serve, table
import petsc4py
from petsc4py import PETSc
import numpy as np

# The library that petsc4py has loaded.
libpetsc = ctypes.CDLL(next(line.split()[-1] for line in open("/proc/self/maps") if "/libpetsc" in line))
comm = PETSc.COMM_WORLD.tompi4py()
nodes, elems = len(points()), len(table())
share = [DOFS * (nodes * rank // comm.size) for rank in range(comm.size + 1)]
rows = share[comm.rank + 1] - share[comm.rank]
values = array("values", "f8").reshape(elems, -1)
mine = slice(elems * comm.rank // comm.size, elems * (comm.rank + 1) // comm.size)
i, j = (array(name, "i4").reshape(elems, -1)[mine].ravel().astype(PETSc.IntType) for name in "ij")
values = values[mine].ravel().copy()


def call(function, *arguments):
    code = getattr(libpetsc, function)(*arguments)
    if code:
        raise RuntimeError(f"{function}: PETSc error {code}")


def pointer(numbers):
    return ctypes.c_void_p(numbers.ctypes.data)


def create(i, j):
    made = PETSc.Mat().create(comm)
    made.setSizes(((rows, DOFS * nodes), (rows, DOFS * nodes)))
    made.setType("aij")
    call("MatSetPreallocationCOO", ctypes.c_void_p(made.handle), ctypes.c_ssize_t(len(i)), pointer(i), pointer(j))
    return made


def assemble(made):
    call("MatSetValuesCOO", ctypes.c_void_p(made.handle), pointer(values), ctypes.c_int(int(PETSc.InsertMode.INSERT_VALUES)))


def round():
    # PETSc may write to the arrays.
    copies = i.copy(), j.copy()
    pattern, made = ms(lambda: create(*copies), comm)
    first = ms(lambda: assemble(made), comm)[0]
    again = ms(lambda: assemble(made), comm)[0]
    made.destroy()
    return [("PETSc MatSetValuesCOO", pattern, first, again)]


def matrix():
    made = create(i.copy(), j.copy())
    assemble(made)
    offsets, columns, data = made.getValuesCSR()
    first = made.getOwnershipRange()[0]
    yield "PETSc MatSetValuesCOO", np.repeat(np.arange(first, first + rows), np.diff(offsets)), columns, data


version = ".".join(map(str, PETSc.Sys.getVersion()))
serve(f"PETSc {version}, petsc4py {petsc4py.__version__}, {8 * np.dtype(PETSc.IntType).itemsize}-bit indices", round, matrix, comm)
