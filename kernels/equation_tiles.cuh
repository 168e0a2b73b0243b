// Sums over the points of a tile of an element matrix, from coefficients that equation_points of equation.cu wrote.

#if !FUSED

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
    load_tables(tables, from + sizeof(Tables) / sizeof(double));
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

#endif
