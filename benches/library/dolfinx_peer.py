"""dolfinx: create_matrix(form) as pattern stage (sparsity pattern and an allocated matrix), assemble_matrix as assembly, into PETSc's
AIJ, for vectors also BAIJ, and into dolfinx's own MatrixCSR. Forms are compiled beforehand, with -O3 -march=native."""
from peer import DOFS, HEXES, ms, points, serve, table
from mpi4py import MPI
import dolfinx
import numpy as np
import ufl
from dolfinx import fem
from dolfinx.fem import petsc as fem_petsc
from dolfinx.fem.assemble import create_matrix

comm = MPI.COMM_WORLD
x, t = points(), table()
count = len(x)
if HEXES:
    # VTK to the order of tensor products.
    t = t[:, [0, 1, 3, 2, 4, 5, 7, 6]]
if comm.rank > 0:
    x, t = np.empty((0, 3)), np.empty((0, t.shape[1]), dtype=np.int64)
cell = "hexahedron" if HEXES else "tetrahedron"
mesh = dolfinx.mesh.create_mesh(comm, t, x, ufl.Mesh(ufl.VectorElement("Lagrange", cell, 1)))
V = fem.FunctionSpace(mesh, ("Lagrange", 1)) if DOFS == 1 else fem.VectorFunctionSpace(mesh, ("Lagrange", 1))
u, v = ufl.TrialFunction(V), ufl.TestFunction(V)
dx = ufl.dx(metadata={"quadrature_degree": 3 if HEXES else 0})
if DOFS == 1:
    a = ufl.inner(ufl.grad(u), ufl.grad(v)) * dx
else:
    a = ufl.div(u) * ufl.div(v) * dx + 2.0 * ufl.inner(ufl.sym(ufl.grad(u)), ufl.sym(ufl.grad(v))) * dx
form = fem.form(a, jit_params={"cffi_extra_compile_args": ["-O3", "-march=native"], "cffi_libraries": ["m"]})
KINDS = ["aij"] if DOFS == 1 else ["aij", "baij"]


def petsc(kind):
    def create():
        return fem_petsc.create_matrix(form, kind)

    def assemble(made):
        made.zeroEntries()
        fem_petsc.assemble_matrix(made, form)
        made.assemble()
        return made

    return f"dolfinx, PETSc {kind}", create, assemble


def native():
    def assemble(made):
        made.set(0.0)
        fem.assemble_matrix(made, form)
        made.finalize()
        return made

    return "dolfinx, MatrixCSR", lambda: create_matrix(form), assemble


def ways():
    yield from (petsc(kind) for kind in KINDS)
    # dolfinx's own matrix has no blocks in this version. On 2 ranks its first values, read back, differ from PETSc's.
    if DOFS == 1 and comm.size == 1:
        yield native()


def round():
    rows = []
    for name, create, assemble in ways():
        pattern, made = ms(create, comm)
        first = ms(lambda: assemble(made), comm)[0]
        again = ms(lambda: assemble(made), comm)[0]
        if hasattr(made, "destroy"):
            made.destroy()
        rows.append((name, pattern, first, again))
    return rows


def own():
    """Node of the problem of each local node of the space, ghosts included, and of each of all ranks' nodes in PETSc's order."""
    geometry, layout = mesh.geometry, V.dofmap
    cells = mesh.topology.index_map(3).size_local + mesh.topology.index_map(3).num_ghosts
    places = layout.list.array.reshape(cells, -1)
    local = np.empty(layout.index_map.size_local + layout.index_map.num_ghosts, dtype=np.int64)
    local[places] = np.asarray(geometry.input_global_indices)[geometry.dofmap.array.reshape(cells, -1)]
    return local, np.concatenate(comm.allgather(local[: layout.index_map.size_local]))


def dofs(nodes, numbers):
    return DOFS * nodes[numbers // DOFS] + numbers % DOFS


def matrix():
    local, everywhere = own()
    owned = V.dofmap.index_map.size_local * DOFS
    for name, create, assemble in ways():
        made = assemble(create())
        if hasattr(made, "getValuesCSR"):
            made = made.convert("aij")
            offsets, columns, data = made.getValuesCSR()
            columns = dofs(everywhere, columns)
        else:
            offsets = np.array(made.indptr)[: owned + 1]
            columns, data = dofs(local, np.array(made.indices)[: offsets[-1]]), np.array(made.data)[: offsets[-1]]
        rows = np.repeat(dofs(local, np.arange(owned)), np.diff(offsets))
        yield name, rows, columns, data


serve(f"dolfinx {dolfinx.__version__}", round, matrix, comm)
