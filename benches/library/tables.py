"""The tables of library_peers.py: what each row includes, and which rows are compared."""
import statistics

TITLES = {
    "poisson-hexes": ("Poisson", "hexahedra", 1, 1),
    "poisson-tets": ("Poisson", "tetrahedra", 6, 1),
    "elasticity-hexes": ("Elasticity", "hexahedra", 1, 3),
    "elasticity-tets": ("Elasticity", "tetrahedra", 6, 3),
}
COMPUTED = "element matrices computed in each assembly, 2x2x2 Gauss points on hexahedra, 1 point on tetrahedra"
INCLUDES = {
    "Fill, FusedKernel": "as Fill, with the library's kernel of the heat equation (T = 0): sum factorisation, residual computed too",
    "Fill, gather": "as Fill, strategy `gather`",
    "Fill, element_fn": "as Fill, kernel for one element at a time, in plain numbers",
    "Fill, given matrices": "pattern: as Fill; assembly: sum of the given element matrices, strategy `gather`",
    "Fill": "pattern: `graph::build`, with 3 dofs per node `Graph::with_dofs`, `Fill::new` (`colour`), zero matrix; assembly: kernel in "
            "vector lanes and sum, matrix alone",
    "Coo::from_elements": "pattern: plan from the elements' dofs, zero matrix; assembly: sum of the given element matrices",
    "Coo::new": "pattern: plan from arrays of pairs, zero matrix; assembly: sum of the given element matrices",
    "dolfinx, PETSc aij": "pattern: `create_matrix` (PETSc AIJ); assembly: compiled kernel, `MatSetValuesLocal`",
    "dolfinx, PETSc baij": "as above with PETSc BAIJ, blocks of 3 x 3",
    "dolfinx, MatrixCSR": "pattern: `create_matrix` (dolfinx's own CSR, on 1 core only); assembly: compiled kernel, binary search in the row",
    "scikit-fem": "pattern: `Basis` (gradients at all points); assembly: NumPy over all elements, `coo_matrix.tocsr`; first = again",
    "PETSc MatSetValuesCOO": "pattern: `MatSetPreallocationCOO` on arrays of pairs; assembly: `MatSetValuesCOO` of the given element matrices",
    "SciPy coo_matrix.tocsr": "pattern and sum together, on arrays of pairs and the given element matrices; 1 core; first = again",
}
GRAPH, PATTERN, FIRST, AGAIN = range(4)
WITH_PATTERN = "pattern and first"
STAGES = {GRAPH: "graph and positions", PATTERN: "pattern", FIRST: "first", AGAIN: "again"}

HEAD = f"""Medians of interleaved rounds [smallest to largest]. Times in ms; every candidate is pinned to the same cores. On 2 cores minifenl and
scikit-fem run 2 threads, dolfinx and PETSc 2 ranks, SciPy 1 thread. "dolfinx" and "scikit-fem" compute element matrices
({COMPUTED}), as do the rows of minifenl that do not say "given". Forms of dolfinx are compiled before the clock starts, with
-O3 -march=native; arrays of pairs, element matrices and meshes are made before the clock starts. "difference" is the largest difference
of all entries from the first row's matrix, relative to its largest entry; Frobenius norm, row sums and 20 random entries are compared,
too, and more than 1e-10 ends the run. minifenl's rows are compared with each other (1e-12).

| candidate | includes |
|---|---|
""" + "\n".join(f"| {name} | {words} |" for name, words in INCLUDES.items())


def total(times, stage):
    return times[PATTERN] + times[FIRST] if stage == WITH_PATTERN else times[stage]


def pairs(problem):
    """(what, our row, our stage, peer's row, peer's stage, whether both use the same algorithm, aim)."""
    vector = problem.startswith("elasticity")
    aim = 3 if vector else 5
    kernel = "quadrature yes; sums no (stored positions, search in the row)"
    factors = "no: sum factorisation against quadrature; stored positions against a search in the row"
    numpy = "quadrature yes; sums no (stored positions, COO to CSR)"
    build = "no: node -> element lists against insertion into rows"
    plans = "yes: a plan from pairs, then sums"
    if vector:
        for peer in ("dolfinx, PETSc aij", "dolfinx, PETSc baij"):
            yield "assembly", "Fill", AGAIN, peer, AGAIN, kernel, aim
            yield "pattern", "Fill", PATTERN, peer, PATTERN, build, None
    else:
        for peer in ("dolfinx, PETSc aij", "dolfinx, MatrixCSR"):
            yield "assembly", "Fill", AGAIN, peer, AGAIN, kernel, aim
            yield "assembly", "Fill, FusedKernel", AGAIN, peer, AGAIN, factors, aim
        yield "assembly, element by element", "Fill, element_fn", AGAIN, "dolfinx, PETSc aij", AGAIN, kernel, None
        yield "pattern", "Fill", PATTERN, "dolfinx, PETSc aij", PATTERN, build, None
        yield "pattern", "Fill", PATTERN, "dolfinx, MatrixCSR", PATTERN, build, None
    yield "assembly", "Fill", AGAIN, "scikit-fem", AGAIN, numpy, aim
    yield "all of a first matrix", "Fill", WITH_PATTERN, "dolfinx, PETSc aij", WITH_PATTERN, kernel, None
    yield "all of a first matrix", "Fill", WITH_PATTERN, "scikit-fem", WITH_PATTERN, numpy, None
    yield "pattern, from pairs", "Coo::new", PATTERN, "PETSc MatSetValuesCOO", PATTERN, plans, None
    yield "sum of given matrices", "Coo::new", AGAIN, "PETSc MatSetValuesCOO", AGAIN, plans, None
    yield "sum of given matrices", "Fill, given matrices", AGAIN, "PETSc MatSetValuesCOO", AGAIN, "no: elements against pairs", None
    # The aim is for nodes: graph and positions in half of SciPy's time.
    yield "pattern", "Fill", GRAPH, "SciPy coo_matrix.tocsr", FIRST, "no: pattern alone against pattern and sum", None if vector else 2
    yield "all of a first matrix", "Coo::new", WITH_PATTERN, "SciPy coo_matrix.tocsr", FIRST, "no: plan and sum against two sorts", None
    yield "sum of given matrices", "Coo::new", AGAIN, "SciPy coo_matrix.tocsr", AGAIN, "no: SciPy keeps no plan", None


def of(problem, cells, cores, found, differences, cell):
    """Both tables of a problem, as lines."""
    equation, shape, per_cell, dofs = TITLES[problem]
    nodes = (cells + 1) ** 3
    number = lambda n: f"{n:,}".replace(",", " ")
    size = f"{number(per_cell * cells ** 3)} {shape}, {number(dofs * nodes)} dofs"
    lines = [f"## {equation}, {size}, {cores} core{'s' if cores > 1 else ''}", "",
             "| candidate | graph and positions | pattern | first assembly | assembly again | rounds | difference |", "|---|" + "---|" * 6]
    for name, rounds in found.items():
        stages = " | ".join(cell([times[stage] for times in rounds]) for stage in STAGES)
        difference = f"{differences[name]:.1e}" if name in differences else ""
        lines.append(f"| {name} | {stages} | {len(rounds)} | {difference} |")
    lines += ["", "| compared | minifenl | peer | same algorithm | peer / minifenl | aim | met |", "|---|" + "---|" * 6]
    for what, mine, our_stage, peer, stage, same, aim in pairs(problem):
        if mine not in found or peer not in found:
            continue
        quotients = [total(theirs, stage) / total(ours, our_stage) for ours, theirs in zip(found[mine], found[peer])]
        median = statistics.median(quotients)
        met = "" if aim is None else "yes" if median >= aim else "**no**"
        words = [f"{name}: {STAGES.get(at, at)}" for name, at in ((mine, our_stage), (peer, stage))]
        lines.append(f"| {what} | {words[0]} | {words[1]} | {same} | {cell(quotients)} | {'' if aim is None else f'>= {aim}'} | {met} |")
    return lines
