// Element matrices and residuals of any equation on elements of any type; twin of src/fill/host/kernel/equation.rs. The text in
// front of this file states the equation and
//     Statement       the equation's struct, whose numbers are `parameters`
//     NODES, POINTS, DOFS, BLOCK (nodes along an edge of a tile), GROUP (elements per block at the points), HAS_SLOPES, SYMMETRIC,
//     FUSED and LAYERS (macros)
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

constexpr int TERMS = 4, DIM = 3, ROWS = NODES * DOFS, THREADS = 128;
// Blocks of nodes; nodes behind the last one have g = 0.
constexpr int BLOCKS = (NODES + BLOCK - 1) / BLOCK, PADDED = BLOCKS * BLOCK;
// Numbers of C and W at a point.
[[maybe_unused]] constexpr int ITEMS = DOFS * DOFS * TERMS * TERMS + DOFS * TERMS;
// Blocks that tiles consist of: of nodes, or layers.
constexpr int PARTS = LAYERS > 0 ? LAYERS : BLOCKS;
constexpr int BLOCK_PAIRS = SYMMETRIC ? PARTS * (PARTS + 1) / 2 : PARTS * PARTS;
[[maybe_unused]] constexpr int TILES = DOFS * DOFS * BLOCK_PAIRS;

using Point = Array<double, DIM>;
using Fields = Array<Field<double>, DOFS>;

// g_k(m) at the points, then the weights of the points; the same in memory.
struct Tables {
    double basis[POINTS][PADDED][TERMS];
    double weights[POINTS];
};

INLINE void load_tables(Tables& tables, const double* from) {
    for (u32 i = threadIdx.x; i < sizeof(Tables) / sizeof(double); i += blockDim.x) ((double*)&tables)[i] = __ldg(from + i);
    __syncthreads();
}

// Whether the derivative may differ from zero.
__device__ constexpr bool has(int c, int d, int i, int j) { return nonzero(DOFS * c + d) >> (TERMS * i + j) & 1; }
// Whether C[k, j] may differ from zero for a pair of components; the map mixes the axes.
__device__ constexpr bool has_any(int k, int j) { return MAPPED >> (TERMS * k + j) & 1; }

INLINE u64 packed(u64 i, u64 j) { return SYMMETRIC ? i * (2 * ROWS + 1 - i) / 2 + j - i : i * ROWS + j; }

INLINE void cross(const double (&a)[DIM], const double (&b)[DIM], double (&out)[DIM]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

// C_cd from the derivative; inverse[b][a] = d xi_b / d x_a.
INLINE void transform(int c, int d, const Slope<double>& slope, const double (&inverse)[DIM][DIM], double measure,
                      double (&out)[TERMS][TERMS]) {
#pragma unroll
    for (int b = 0; b < DIM; b++) {
        double row[TERMS] = {}, column = 0;
#pragma unroll
        for (int a = 0; a < DIM; a++) {
#pragma unroll
            for (int j = 0; j < TERMS; j++) {
                if (has(c, d, a, j)) row[j] += inverse[b][a] * slope[a][j];
            }
            if (has(c, d, DIM, a)) column += inverse[b][a] * slope[DIM][a];
        }
#pragma unroll
        for (int e = SYMMETRIC && c == d ? b : 0; e < DIM; e++) {
            double sum = 0;
#pragma unroll
            for (int a = 0; a < DIM; a++) {
                if (has(c, d, 0, a) || has(c, d, 1, a) || has(c, d, 2, a)) sum += row[a] * inverse[e][a];
            }
            out[b][e] = measure * sum;
            if (SYMMETRIC && c == d) out[e][b] = out[b][e];
        }
        out[b][DIM] = measure * row[DIM];
        out[DIM][b] = measure * column;
    }
    out[DIM][DIM] = has(c, d, DIM, DIM) ? measure * slope[DIM][DIM] : 0;
}

// Evaluates the equation at point p of an element, whose coordinates and unknowns nodal(m, x, u) gives. Calls
// put_weak(c, W_c) and put_slope(c, d, C_cd).
template <class Nodal, class PutWeak, class PutSlope>
INLINE void at_point(const Statement& equation, const Tables& tables, int p, Nodal nodal, PutWeak put_weak, PutSlope put_slope) {
    // columns[b][a] = d x_a / d xi_b
    double columns[DIM][DIM] = {}, slope[DOFS][DIM] = {};
    Point x = {};
    Fields u = {};
#pragma unroll(NODES <= 10 ? NODES : 3)
    for (int m = 0; m < NODES; m++) {
        double coords[DIM], unknowns[DOFS];
        nodal(m, coords, unknowns);
        const double(&g)[TERMS] = tables.basis[p][m];
#pragma unroll
        for (int a = 0; a < DIM; a++) {
            x[a] += coords[a] * g[DIM];
#pragma unroll
            for (int b = 0; b < DIM; b++) columns[b][a] += coords[a] * g[b];
        }
#pragma unroll
        for (int c = 0; c < DOFS; c++) {
            u[c].value += unknowns[c] * g[DIM];
#pragma unroll
            for (int b = 0; b < DIM; b++) slope[c][b] += unknowns[c] * g[b];
        }
    }
    double inverse[DIM][DIM];
    cross(columns[1], columns[2], inverse[0]);
    cross(columns[2], columns[0], inverse[1]);
    cross(columns[0], columns[1], inverse[2]);
    double determinant = columns[0][0] * inverse[0][0] + columns[0][1] * inverse[0][1] + columns[0][2] * inverse[0][2];
    double reciprocal = 1 / determinant, measure = determinant * tables.weights[p];
#pragma unroll
    for (int b = 0; b < DIM; b++)
#pragma unroll
        for (int a = 0; a < DIM; a++) inverse[b][a] *= reciprocal;
#pragma unroll
    for (int c = 0; c < DOFS; c++)
#pragma unroll
        for (int a = 0; a < DIM; a++) {
            u[c].grad[a] = inverse[0][a] * slope[c][0] + inverse[1][a] * slope[c][1] + inverse[2][a] * slope[c][2];
        }
    Array<Weak<double>, DOFS> weak = equation.weak(x, u);
#pragma unroll
    for (int c = 0; c < DOFS; c++) {
        double out[TERMS];
        const auto& flux = weak[c].flux;
#pragma unroll
        for (int b = 0; b < DIM; b++) {
            out[b] = measure * (inverse[b][0] * flux[0] + inverse[b][1] * flux[1] + inverse[b][2] * flux[2]);
        }
        out[DIM] = measure * weak[c].source;
        put_weak(c, out);
    }
    each_slope<DOFS, HAS_SLOPES>(equation, x, u, [&](int c, int d, const Slope<double>& slope) {
        double out[TERMS][TERMS];
        transform(c, d, slope, inverse, measure, out);
        put_slope(c, d, out);
    });
}

// t_k = sum_j C[k, j] g_j
INLINE void apply(const double (&slope)[TERMS][TERMS], const double (&g)[TERMS], double (&out)[TERMS]) {
#pragma unroll
    for (int k = 0; k < TERMS; k++) {
        out[k] = 0;
#pragma unroll
        for (int j = 0; j < TERMS; j++) {
            if (has_any(k, j)) out[k] += slope[k][j] * g[j];
        }
    }
}

INLINE double dot(const double (&g)[TERMS], const double (&t)[TERMS], double sum) {
#pragma unroll
    for (int k = 0; k < TERMS; k++) sum += g[k] * t[k];
    return sum;
}

// The value of p, which the compiler cannot know: what is read again from shared memory takes no registers meanwhile.
INLINE int read_again(int p) {
    asm volatile("" : "+r"(p));
    return p;
}

#if FUSED

// One thread per element. Element i goes to column `column` + i of `capacity` columns.
KERNEL __launch_bounds__(THREADS)
    store_equation(u64 count, u64 column, u64 capacity, const u32* elem_node, const double* node_coord, const double* solution,
                   const double* parameters, const double* from, double* matrices, double* residuals) {
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
        at_point(equation, tables, p, nodal, put_weak, put_slope);
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

// C and W at the points of `count` elements: work[(ITEMS p + item) cells + element]. A block takes GROUP elements, whose nodes it
// keeps in shared memory; one thread per point.
KERNEL __launch_bounds__(THREADS)
    equation_points(u64 count, u64 cells, const u32* elem_node, const double* node_coord, const double* solution,
                    const double* parameters, const double* from, double* work) {
    __shared__ Tables tables;
    // Padded, so that neither nodes nor elements of a warp share banks.
    __shared__ double nodes[DIM + DOFS][NODES][GROUP + 1];
    const u64 first = u64(blockIdx.x) * GROUP;
    const int elems = first < count ? int(least(count - first, u64(GROUP))) : 0;
    for (int i = threadIdx.x; i < elems * NODES; i += blockDim.x) {
        int m = i % NODES, e = i / NODES;
        u64 node = __ldg(elem_node + first * NODES + i);
#pragma unroll
        for (int a = 0; a < DIM; a++) nodes[a][m][e] = __ldg(node_coord + DIM * node + a);
#pragma unroll
        for (int c = 0; c < DOFS; c++) nodes[DIM + c][m][e] = __ldg(solution + DOFS * node + c);
    }
    load_tables(tables, from);
    const Statement equation = *(const Statement*)parameters;
#pragma unroll 1
    for (int i = threadIdx.x; i < GROUP * POINTS; i += blockDim.x) {
        int e = i % GROUP, p = i / GROUP;
        if (e >= elems) continue;
        auto nodal = [&](int m, double(&x)[DIM], double(&u)[DOFS]) {
#pragma unroll
            for (int a = 0; a < DIM; a++) x[a] = nodes[a][m][e];
#pragma unroll
            for (int c = 0; c < DOFS; c++) u[c] = nodes[DIM + c][m][e];
        };
        double* own = work + (u64(p) * ITEMS * cells + first + e);
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
        at_point(equation, tables, p, nodal, put_weak, put_slope);
    }
}

// Residuals of component c, one thread per element.
INLINE void sum_residuals(const Tables& tables, int c, u64 cells, const double* own, u64 capacity, double* residuals) {
    double residual[NODES] = {};
#pragma unroll 1
    for (int p = 0; p < POINTS; p++) {
        double weak[TERMS];
        const double* at = own + (u64(p) * ITEMS + DOFS * DOFS * TERMS * TERMS + TERMS * c) * cells;
#pragma unroll
        for (int k = 0; k < TERMS; k++) weak[k] = __ldg(at + k * cells);
#pragma unroll
        for (int m = 0; m < NODES; m++) residual[m] = dot(tables.basis[p][m], weak, residual[m]);
    }
#pragma unroll
    for (int m = 0; m < NODES; m++) __stcs(residuals + (DOFS * m + c) * capacity, residual[m]);
}

// The blocks of a tile among those of a pair of components.
INLINE void blocks_of(int tile, int& first, int& second) {
    first = 0, second = tile;
    if (SYMMETRIC) {
        for (; second >= PARTS - first; first++) second -= PARTS - first;
        second += first;
    } else {
        first = second / PARTS, second %= PARTS;
    }
}

#if LAYERS

constexpr int FACE = NODES / LAYERS, FACE_POINTS = POINTS / LAYERS;

// Behind `Tables` in memory: derivatives of the face's functions and their values; derivatives and values of the line's functions, by
// layer of points; nodes by layer.
struct Layered {
    double face[FACE_POINTS][FACE][DIM], line[LAYERS][LAYERS][2], node[NODES];
};

// Whether C'[K, J] may differ from zero.
__device__ constexpr bool has_face(int k, int j) {
    return has_any(k, j) || (k == 2 && has_any(3, j)) || (j == 2 && has_any(k, 3)) || (k == 2 && j == 2 && has_any(3, 3));
}

// C' at face point q for layers `first` and `second` of nodes.
INLINE void sum_layers(const Layered& tables, int q, int first, int second, u64 cells, const double* own, double (&out)[DIM][DIM]) {
#pragma unroll
    for (int z = 0; z < LAYERS; z++) {
        const double* at = own + u64(z * FACE_POINTS + q) * ITEMS * cells;
        const double(&m)[2] = tables.line[z][first], (&n)[2] = tables.line[z][second];
        auto add = [&](int k, int j, double value) {
            double& sum = out[k < 2 ? k : 2][j < 2 ? j : 2];
            sum += m[k == 2 ? 0 : 1] * n[j == 2 ? 0 : 1] * value;
        };
#pragma unroll
        for (int k = 0; k < TERMS * TERMS; k++) {
            int i = k / TERMS, j = k % TERMS;
            // C of one unknown is symmetric if the matrix is.
            bool is_same = SYMMETRIC && DOFS == 1;
            if (!has_any(i, j) || (is_same && i > j)) continue;
            double value = __ldg(at + k * cells);
            add(i, j, value);
            if (is_same && i < j) add(j, i, value);
        }
    }
}

INLINE void sum_tile(const Tables&, const double* from, int c, int d, int tile, u64 cells, const double* own, u64 capacity, double* matrices) {
    __shared__ Layered tables;
    for (u32 i = threadIdx.x; i < sizeof(Layered) / sizeof(double); i += blockDim.x) {
        ((double*)&tables)[i] = __ldg(from + sizeof(Tables) / sizeof(double) + i);
    }
    __syncthreads();
    if (own == nullptr) return;
    int first, second;
    blocks_of(tile, first, second);
    double sums[FACE][FACE] = {};
#pragma unroll 1
    for (int q = 0; q < FACE_POINTS; q++) {
        double slope[DIM][DIM] = {};
        sum_layers(tables, q, first, second, cells, own, slope);
#pragma unroll
        for (int k = 0; k < DIM; k++) {
            const auto& face = tables.face[read_again(q)];
            double t[FACE];
#pragma unroll
            for (int n = 0; n < FACE; n++) {
                t[n] = 0;
#pragma unroll
                for (int j = 0; j < DIM; j++) {
                    if (has_face(k, j)) t[n] += slope[k][j] * face[n][j];
                }
            }
#pragma unroll
            for (int m = 0; m < FACE; m++)
#pragma unroll
                for (int n = 0; n < FACE; n++) sums[m][n] += face[m][k] * t[n];
        }
    }
#pragma unroll
    for (int m = 0; m < FACE; m++)
#pragma unroll
        for (int n = 0; n < FACE; n++) {
            int i = DOFS * int(tables.node[first * FACE + m]) + c, j = DOFS * int(tables.node[second * FACE + n]) + d;
            // Each entry of different layers is computed once, in one order or the other.
            bool is_stored = !SYMMETRIC || first != second || i <= j;
            if (SYMMETRIC && i > j) { int other = i; i = j, j = other; }
            if (is_stored) __stcs(matrices + packed(i, j) * capacity, sums[m][n]);
        }
}

#else

INLINE void sum_tile(const Tables& tables, const double*, int c, int d, int tile, u64 cells, const double* own, u64 capacity, double* matrices) {
    if (own == nullptr) return;
    int first, second;
    blocks_of(tile, first, second);
    first *= BLOCK, second *= BLOCK;
    double sums[BLOCK][BLOCK] = {};
#pragma unroll 1
    for (int p = 0; p < POINTS; p++) {
        double slope[TERMS][TERMS];
        const double* at = own + u64(p) * ITEMS * cells;
#pragma unroll
        for (int k = 0; k < TERMS * TERMS; k++) {
            slope[k / TERMS][k % TERMS] = has_any(k / TERMS, k % TERMS) ? __ldg(at + k * cells) : 0;
        }
#pragma unroll
        for (int n = 0; n < BLOCK; n++) {
            double t[TERMS];
            apply(slope, tables.basis[p][second + n], t);
#pragma unroll
            for (int m = 0; m < BLOCK; m++) sums[m][n] = dot(tables.basis[p][first + m], t, sums[m][n]);
        }
    }
#pragma unroll
    for (int m = 0; m < BLOCK; m++)
#pragma unroll
        for (int n = 0; n < BLOCK; n++) {
            int i = DOFS * (first + m) + c, j = DOFS * (second + n) + d;
            bool is_stored = first + m < NODES && second + n < NODES && (!SYMMETRIC || i <= j);
            if (is_stored) __stcs(matrices + packed(i, j) * capacity, sums[m][n]);
        }
}

#endif

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

// Flux and source [sample][c][4] and their derivatives [sample][c][d][4][4] where gradients and values are `u` [sample][c][4].
KERNEL __launch_bounds__(THREADS)
    equation_at(u64 count, const double* x, const double* u, const double* parameters, double* weak, double* slopes) {
    u64 item = thread_index();
    if (item >= count) return;
    const Statement equation = *(const Statement*)parameters;
    Point point = {{x[DIM * item], x[DIM * item + 1], x[DIM * item + 2]}};
    Fields fields;
    for (int c = 0; c < DOFS; c++) {
        const double* from = u + (DOFS * item + c) * TERMS;
        fields[c] = Field<double>{{{from[0], from[1], from[2]}}, from[DIM]};
    }
    Array<Weak<double>, DOFS> found = equation.weak(point, fields);
    for (int c = 0; c < DOFS; c++) {
        for (int k = 0; k < TERMS; k++) weak[(DOFS * item + c) * TERMS + k] = k < DIM ? found[c].flux[k] : found[c].source;
    }
    each_slope<DOFS, HAS_SLOPES>(equation, point, fields, [&](int c, int d, const Slope<double>& slope) {
        double* to = slopes + ((DOFS * item + c) * DOFS + d) * TERMS * TERMS;
        for (int k = 0; k < TERMS * TERMS; k++) to[k] = slope[k / TERMS][k % TERMS];
    });
}
