// Element matrices and residuals of any equation on elements of any type; twin of src/fill/host/kernel/equation.rs. The text in
// front of equation_point.cuh states the equation and
//     Statement       the equation's struct, whose numbers are `parameters`
//     NODES, POINTS, DOFS, BLOCK (nodes along an edge of a tile), GROUP (elements per block at the points), AXES (dimensions of the
//     element), HAS_SLOPES, SYMMETRIC, FUSED and LAYERS (macros)
//     AT_POINT and GIVEN (macros)    whether it is an EquationAt, and its number of given fields
//     BOUNDARY        whether elements are faces of cells, or lines around a mesh in the plane
//     nonzero(pair)   bits 4 i + j of the derivatives that are not zero, pair = DOFS c + d
//     MAPPED          bits 4 k + j of C that are not zero for a pair
//
//     C_cd[k, j] = w det J sum inverse slope_cd inverse^T      in reference coordinates, k and j over three axes and the value
//     A[(m,c), (n,d)] = sum_p sum_k g_k(m) sum_j C_cd[k, j] g_j(n)      g = (reference gradient of phi, phi) at point p
//     R[(m,c)]        = sum_p sum_k g_k(m) W_c[k]
//
// Small matrices: one thread per element, all in registers. Others: one thread per point writes C and W; then one thread per
// element and tile of BLOCK x BLOCK nodes sums over the points. Stored as [entry, elem], as fill.cu reads them.
//
// With LAYERS, nodes and points lie in as many layers along the third axis, and phi = face phi times line phi. A tile is then a pair
// of layers, and the third axis is summed first (sum factorisation along one axis):
//     C'[K, J] at face point q = sum over layers of points, k in K, j in J of (factor of k)(factor of j) C[k, j]
//     A[m, n]                  = sum_q sum_K face_K(m) sum_J C'[K, J] face_J(n)            K, J: two axes, and the value with axis 3
// hex27, one unknown, symmetric: 20 000 products per element instead of 72 000, and 9 KB instead of 22 KB of C read.

#if FUSED

// One thread per element. Element i goes to column `column` + i of `capacity` columns.
KERNEL __launch_bounds__(THREADS)
    store_equation(u64 count, u64 column, u64 capacity, const u32* elem_node, const double* node_coord, const double* solution,
                   const double* parameters, const Given given, const double* from, double* matrices, double* residuals) {
    __shared__ Tables tables;
    load_tables(tables, from);
    u64 item = thread_index();
    if (item >= count) return;
    const Statement equation = *(const Statement*)parameters;
    double coords[NODES][DIM], unknowns[NODES][DOFS];
#pragma unroll
    for (int m = 0; m < NODES; m++) {
        u64 node = __ldg(elem_node + item * NODES + m);
#pragma unroll
        for (int a = 0; a < DIM; a++) coords[m][a] = __ldg(node_coord + DIM * node + a);
#pragma unroll
        for (int c = 0; c < DOFS; c++) unknowns[m][c] = __ldg(solution + DOFS * node + c);
    }
    auto nodal = [&](int m, double(&x)[DIM], double(&u)[DOFS]) {
#pragma unroll
        for (int a = 0; a < DIM; a++) x[a] = coords[m][a];
#pragma unroll
        for (int c = 0; c < DOFS; c++) u[c] = unknowns[m][c];
    };
    // [row][column]; with SYMMETRIC those with row <= column only.
    double matrix[ROWS][ROWS] = {}, residual[ROWS] = {};
#pragma unroll 1
    for (int p = 0; p < POINTS; p++) {
        double weak[DOFS][TERMS], slopes[DOFS][DOFS][TERMS][TERMS];
        auto put_weak = [&](int c, const double(&of)[TERMS]) {
#pragma unroll
            for (int k = 0; k < TERMS; k++) weak[c][k] = of[k];
        };
        auto put_slope = [&](int c, int d, const double(&of)[TERMS][TERMS]) {
#pragma unroll
            for (int k = 0; k < TERMS * TERMS; k++) slopes[c][d][k / TERMS][k % TERMS] = of[k / TERMS][k % TERMS];
        };
        at_point(equation, tables, p, nodal, ElementGiven{given, elem_node + item * NODES, item}, put_weak, put_slope);
        const auto& basis = tables.basis[read_again(p)];
#pragma unroll
        for (int n = 0; n < NODES; n++) {
#pragma unroll
            for (int c = 0; c < DOFS; c++) {
                residual[DOFS * n + c] = dot(basis[n], weak[c], residual[DOFS * n + c]);
#pragma unroll
                for (int d = 0; d < DOFS; d++) {
                    double t[TERMS];
                    apply(slopes[c][d], basis[n], t);
#pragma unroll
                    for (int m = 0; m < NODES; m++) {
                        int i = DOFS * m + c, j = DOFS * n + d;
                        if (!SYMMETRIC || i <= j) matrix[i][j] = dot(basis[m], t, matrix[i][j]);
                    }
                }
            }
        }
    }
    column += item;
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        __stcs(residuals + i * capacity + column, residual[i]);
#pragma unroll
        for (int j = SYMMETRIC ? i : 0; j < ROWS; j++) __stcs(matrices + packed(i, j) * capacity + column, matrix[i][j]);
    }
}

#else

// C and W at the points of `count` elements: work[(ITEMS p + item) cells + element].
KERNEL __launch_bounds__(THREADS)
    equation_points(u64 count, u64 cells, const u32* elem_node, const double* node_coord, const double* solution,
                    const double* parameters, const Given given, const double* from, double* work) {
    const Statement equation = *(const Statement*)parameters;
    each_point(count, elem_node, node_coord, solution, from, [&](const Tables& tables, u64 elem, int p, ElementNodes nodal) {
        double* own = work + (u64(p) * ITEMS * cells + elem);
        auto put_weak = [&](int c, const double(&of)[TERMS]) {
#pragma unroll
            for (int k = 0; k < TERMS; k++) own[(DOFS * DOFS * TERMS * TERMS + TERMS * c + k) * cells] = of[k];
        };
        auto put_slope = [&](int c, int d, const double(&of)[TERMS][TERMS]) {
#pragma unroll
            for (int k = 0; k < TERMS * TERMS; k++) {
                if (has_any(k / TERMS, k % TERMS)) own[((DOFS * c + d) * TERMS * TERMS + k) * cells] = of[k / TERMS][k % TERMS];
            }
        };
        at_point(equation, tables, p, nodal, ElementGiven{given, elem_node + elem * NODES, elem}, put_weak, put_slope);
    });
}

// One thread per element and tile; tiles [TILES, TILES + DOFS) are the residuals. A block has one tile.
KERNEL __launch_bounds__(THREADS)
    equation_tiles(u64 count, u64 cells, u64 column, u64 capacity, const double* from, const double* work, double* matrices,
                   double* residuals) {
    u64 item = u64(blockIdx.x / (TILES + DOFS)) * THREADS + threadIdx.x;
    int tile = blockIdx.x % (TILES + DOFS);
    bool exists = item < count;
    column += item;
    __shared__ Tables tables;
    if (LAYERS == 0 || tile >= TILES) load_tables(tables, from);
    if (tile >= TILES) {
        if (exists) sum_residuals(tables, tile - TILES, cells, work + item, capacity, residuals + column);
        return;
    }
    int pair = tile / BLOCK_PAIRS;
    const double* own = exists ? work + (u64(pair) * TERMS * TERMS * cells + item) : nullptr;
    sum_tile(tables, from, pair / DOFS, pair % DOFS, tile % BLOCK_PAIRS, cells, own, capacity, matrices + column);
}

#endif
