// Element matrices and residuals of a scalar equation on trilinear hexahedra, by contractions on tensor cores: from nodes to
// stored matrices in one pass, with every number between them in registers. Launched by src/fill/cuda/element_matrices.rs;
// equals src/fill/host/kernel/contraction.rs up to rounding.
//
//     R_m  = sum_p w det J (grad phi_m . flux + phi_m source)
//     A_mn = sum_p w det J (grad phi_m . k grad phi_n + phi_m r phi_n)
//
// The basis has the same reference gradients in all elements. Let B_d[m, p] be the derivative of phi_m along axis d at point p,
// and phi_m(p) for d = 3. Then all three stages are products of a table, which is the same for all elements, with 8 elements
// at a time (Kirby and Logg, ACM Transactions on Mathematical Software 32, 2006, point by point):
//
//     dx/dxi, dT/dxi, T [p, e]  = sum_n B_d[n, p] x[n, e]                                  coordinates and temperatures
//     A[(m, n), e]              = sum_(k, p) (B_d[m, p] B_d'[n, p] + B_d'[m, p] B_d[n, p]) S_k[p, e]    36 pairs m <= n
//     R[m, e]                   = sum_(d, p) B_d[m, p] f_d[p, e]
//
// S = w det J J^-1 k J^-T has six entries k = (d, d') per point, and w det J r; f = S dT/dxi, and w det J source. An equation
// enters only by `coefficients`.
//
// Lane (g, t) = (lane / 4, lane % 4) of a warp receives from the first product what element g has at the points 2 t and 2 t +
// 1, which it needs to compute S and f there, and which are the operands that it supplies to the other two: no exchange.
// B_x does not depend on x, so S_xx and f_x are summed over x first, and alike for y and z: 44 and 20 terms instead of 56
// and 32. Each lane then holds two neighbouring elements of an output, which are adjacent in memory.
//
// Cost per element on an H200, in cycles of a quarter of a multiprocessor: 26 for J and T, 33 for S and f, 55 for A, 5 for R.
// Bytes: 32 read per element and 32 per node, 352 written.

constexpr int AXES = 3, VALUE = 3;
constexpr double WEIGHT = 0.125;
// Elements per product, and products side by side in a warp, which share what they read of the tables.
constexpr int ELEMS = 8, GROUPS = 2;
// Twelve warps of 168 registers; with 16 warps of 128 the compiler spills (measured on an H200: 0.189 ns per node, not 0.172).
constexpr int THREADS = 384, BLOCKS = 1;

// What an equation -div(k grad T) + source(T) = 0 has at a point: k, d source / dT, and source.
struct Coefficients { double diffusion, reaction, source; };
INLINE Coefficients coefficients(double conductivity, double value) { return {conductivity, 2 * value, value * value}; }

// Steps of eight terms: (xx, yy), (zz, none), xy, xz, yz, mass for matrices; (x, y), (z, none), value for residuals. A step
// with `none` is a product over four terms.
constexpr int STEPS = 6, LOADS = 3, HALF = 1;
// Whole blocks of eight entries, an even number, and all blocks.
constexpr int WHOLE = PAIRS / 8, BLOCKS_OF_ROWS = (PAIRS + 7) / 8;
struct alignas(16) Pair {
    double item[2];
};
// A lane's operands of the table.
struct Table {
    Pair to_points[AXES + 1][WARP], matrices[BLOCKS_OF_ROWS][STEPS][WARP], residuals[LOADS][WARP];
};

// Returns B_d[node, point].
INLINE double basis(int d, int node, int point) {
    const int corner[AXES] = {corner_x(node), corner_y(node), corner_z(node)};
    double product = 1;
#pragma unroll
    for (int axis = 0; axis < AXES; axis++) {
        bool upper = corner[axis] == 1;
        product *= axis == d ? (upper ? 1.0 : -1.0) : upper == (point >> axis & 1) ? NEAR : FAR;
    }
    return product;
}

// Returns the point of term (t, v) of the sums along axis d: any point on its line.
INLINE int on_line(int d, int t) { return d == 0 ? 2 * t : d == 1 ? t % 2 + t / 2 * 4 : t / 2 + t % 2 * 2; }

// Returns the table for term v of lane column t in a step of the matrices.
INLINE double pair_term(int step, int t, int v, int m, int n) {
    if (step == HALF && v == 1) return 0;
    int d = step < 2 ? 2 * step + v : step < 4 ? 0 : step == 4 ? 1 : VALUE, e = step < 2 ? d : step == 2 ? 1 : step < 5 ? 2 : VALUE;
    int point = step < 2 ? on_line(d, t) : 2 * t + v;
    double product = basis(d, m, point) * basis(e, n, point);
    return d == e ? product : product + basis(e, m, point) * basis(d, n, point);
}

INLINE void fill_table(Table& table) {
    for (int i = threadIdx.x; i < (AXES + 1) * WARP; i += THREADS) {
        int d = i / WARP, lane = i % WARP, point = lane / 4, node = lane % 4 * 2;
        table.to_points[d][lane] = {basis(d, node, point), basis(d, node + 1, point)};
    }
    for (int i = threadIdx.x; i < BLOCKS_OF_ROWS * STEPS * WARP; i += THREADS) {
        int block = i / (STEPS * WARP), step = i / WARP % STEPS, lane = i % WARP, t = lane % 4;
        int m = 0, n = 8 * block + lane / 4;
        bool exists = n < PAIRS;
        for (; m < NODES && n >= NODES - m; m++) n -= NODES - m;
        n += m;
        Pair& pair = table.matrices[block][step][lane];
        pair = {0, 0};
        if (exists) pair = {pair_term(step, t, 0, m, n), pair_term(step, t, 1, m, n)};
    }
    for (int i = threadIdx.x; i < LOADS * WARP; i += THREADS) {
        int step = i / WARP, lane = i % WARP, m = lane / 4, t = lane % 4;
        Pair& pair = table.residuals[step][lane];
        if (step == 0) pair = {basis(0, m, on_line(0, t)), basis(1, m, on_line(1, t))};
        else if (step == HALF) pair = {basis(2, m, on_line(2, t)), 0};
        else pair = {basis(VALUE, m, 2 * t), basis(VALUE, m, 2 * t + 1)};
    }
}

// Returns 1 / x to two roundings, without the branches of a division.
INLINE double reciprocal(double x) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    r = fma(r, fma(-x, r, 1.0), r);
    return fma(r, fma(-x, r, 1.0), r);
}

// A lane's operands of the last two products.
struct Integrands {
    double matrices[STEPS][2], residuals[LOADS][2];
};

// Returns the sums along y or z of a number at two points, which the lanes `across` and this one both have; one line each.
INLINE double along(int across, const double (&item)[2]) {
    bool upper = lane_index() & across;
    double other = __shfl_xor_sync(ALL_LANES, upper ? item[0] : item[1], across);
    return (upper ? item[1] : item[0]) + other;
}

// Computes S and f of an element at two points: field[i][d] = derivative of x, y, z or T along axis d, value = T.
INLINE void integrands(const double (&field)[AXES + 1][AXES][2], const double (&value)[2], double conductivity, Integrands& out) {
    // xx, yy, zz, xy, xz, yz, mass; x, y, z, source; at both points.
    double s[7][2], f[4][2];
#pragma unroll
    for (int v = 0; v < 2; v++) {
        Point columns[AXES], rows[AXES];
        double slope[AXES];
#pragma unroll
        for (int d = 0; d < AXES; d++) {
            columns[d] = {field[0][d][v], field[1][d][v], field[2][d][v]};
            slope[d] = field[AXES][d][v];
        }
        // J^-1 has these rows, over det J.
        rows[0] = cross(columns[1], columns[2]), rows[1] = cross(columns[2], columns[0]), rows[2] = cross(columns[0], columns[1]);
        double determinant = dot(columns[0], rows[0]), volume = WEIGHT * determinant;
        Coefficients at = coefficients(conductivity, value[v]);
        double scale = WEIGHT * at.diffusion * reciprocal(determinant);
        double xx = scale * dot(rows[0], rows[0]), yy = scale * dot(rows[1], rows[1]), zz = scale * dot(rows[2], rows[2]);
        double xy = scale * dot(rows[0], rows[1]), xz = scale * dot(rows[0], rows[2]), yz = scale * dot(rows[1], rows[2]);
        s[0][v] = xx, s[1][v] = yy, s[2][v] = zz, s[3][v] = xy, s[4][v] = xz, s[5][v] = yz, s[6][v] = volume * at.reaction;
        f[0][v] = xx * slope[0] + xy * slope[1] + xz * slope[2];
        f[1][v] = xy * slope[0] + yy * slope[1] + yz * slope[2];
        f[2][v] = xz * slope[0] + yz * slope[1] + zz * slope[2];
        f[3][v] = volume * at.source;
    }
    out.matrices[0][0] = s[0][0] + s[0][1], out.matrices[0][1] = along(1, s[1]), out.matrices[HALF][0] = along(2, s[2]);
    out.residuals[0][0] = f[0][0] + f[0][1], out.residuals[0][1] = along(1, f[1]), out.residuals[HALF][0] = along(2, f[2]);
#pragma unroll
    for (int v = 0; v < 2; v++) {
        out.residuals[2][v] = f[3][v];
#pragma unroll
        for (int step = 2; step < STEPS; step++) out.matrices[step][v] = s[step + 1][v];
    }
}

// Products over four terms, one per lane; `multiply` of dmma.cuh with half of the operands.
INLINE void multiply_half(double (&c)[2], double (&d)[2], double a, double e, double b) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(d[0]), "+d"(d[1])
        : "d"(a), "d"(e), "d"(b));
#else
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(c[0]), "+d"(c[1]) : "d"(a), "d"(b));
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(d[0]), "+d"(d[1]) : "d"(e), "d"(b));
#endif
}
// One step of a product: the term that a step of four lacks is not read.
INLINE void multiply_step(int step, double (&c)[2], double (&d)[2], const double (&a)[2], const double (&e)[2], const double (&b)[2]) {
    if (step == HALF) multiply_half(c, d, a[0], e[0], b[0]);
    else multiply(c, d, a, e, b);
}

// The columns of the two elements of an output that a lane holds.
struct Columns {
    u64 first, second;
    // 0, 1 or 2 of them are stored; both by one store of 16 bytes if the first column is even.
    int stored;
    bool is_even;
    __device__ __forceinline__ void store(double* row, const double (&item)[2]) const {
        if (is_even && stored == 2) {
            __stcs(reinterpret_cast<double2*>(row + first), double2{item[0], item[1]});
        } else {
            if (stored > 0) __stcs(row + first, item[0]);
            if (stored > 1) __stcs(row + second, item[1]);
        }
    }
};

// Coordinates and temperatures of a lane's two nodes of an element.
struct Nodes {
    double item[AXES + 1][2];
    __device__ __forceinline__ void load(uint2 node, const double* node_coord, const double* temperature) {
#pragma unroll
        for (int v = 0; v < 2; v++) {
            u32 id = v == 0 ? node.x : node.y;
#pragma unroll
            for (int d = 0; d < AXES; d++) item[d][v] = __ldg(node_coord + (3 * u64(id) + d));
            item[AXES][v] = __ldg(temperature + id);
        }
    }
};

// Stores the element matrices of elements first..first + count, [packed(i, j), column], and residuals, [i, column]. There are
// `capacity` columns, used in turn; that of the first element is `column`. Warps take 8 GROUPS elements in turn.
KERNEL __launch_bounds__(THREADS, BLOCKS)
    contract_heat(u64 first, u64 count, u64 column, u64 capacity, const u32* elem_node, const double* node_coord,
                  const double* temperature, double conductivity, double* matrices, double* residuals) {
    __shared__ Table table;
    fill_table(table);
    __syncthreads();
    const u32 lane = lane_index(), g = lane / 4, t = lane % 4;
    const u64 stride = thread_count() / WARP * (GROUPS * ELEMS);
    const bool is_even = (column | capacity) % 2 == 0;
    elem_node += first * NODES;
    // A lane's nodes of its element in group `group` from element `item` on; past the end those of the last element.
    auto nodes_of = [&](u64 item, int group) {
        u64 elem = least(item + group * ELEMS + g, count - 1);
        return __ldg(reinterpret_cast<const uint2*>(elem_node + elem * NODES) + t);
    };
    auto column_of = [&](u64 item) {
        u64 at = column + item;
        return at >= capacity ? at - capacity : at;
    };
    u64 item = thread_index() / WARP * (GROUPS * ELEMS);
    if (item >= count) return;
    Nodes now[GROUPS];
    uint2 next[GROUPS];
#pragma unroll
    for (int group = 0; group < GROUPS; group++) {
        now[group].load(nodes_of(item, group), node_coord, temperature);
        next[group] = nodes_of(item + stride, group);
    }
    for (; item < count; item += stride) {
        Integrands of[GROUPS];
        {
            double value[GROUPS][2] = {};
            multiply(value[0], value[1], now[0].item[AXES], now[1].item[AXES], table.to_points[VALUE][lane].item);
#pragma unroll
            for (int group = 0; group < GROUPS; group++) {
                double field[AXES + 1][AXES][2] = {};
                auto& given = now[group].item;
#pragma unroll
                for (int d = 0; d < AXES; d++) {
                    const Pair b = table.to_points[d][lane];
                    multiply(field[0][d], field[1][d], given[0], given[1], b.item);
                    multiply(field[2][d], field[3][d], given[2], given[3], b.item);
                }
                // Loads for the next elements, while these are computed.
                now[group].load(next[group], node_coord, temperature);
                next[group] = nodes_of(item + 2 * stride, group);
                integrands(field, value[group], conductivity, of[group]);
            }
        }
        // Residuals, and the entries of the last block of rows: elements are rows of the product, entries are columns.
        {
            double sums[GROUPS][2] = {}, last[GROUPS][2] = {};
#pragma unroll
            for (int step = 0; step < LOADS; step++) {
                const Pair b = table.residuals[step][lane];
                multiply_step(step, sums[0], sums[1], of[0].residuals[step], of[1].residuals[step], b.item);
            }
#pragma unroll
            for (int step = 0; step < STEPS; step++) {
                const Pair b = table.matrices[WHOLE][step][lane];
                multiply_step(step, last[0], last[1], of[0].matrices[step], of[1].matrices[step], b.item);
            }
#pragma unroll
            for (int group = 0; group < GROUPS; group++) {
                u64 own = item + group * ELEMS + g, at = column_of(own);
#pragma unroll
                for (int v = 0; v < 2; v++) {
                    u32 row = 2 * t + v;
                    if (own < count) __stcs(residuals + (row * capacity + at), sums[group][v]);
                    if (own < count && row < PAIRS - 8 * WHOLE) __stcs(matrices + ((8 * WHOLE + row) * capacity + at), last[group][v]);
                }
            }
        }
        // The other entries, 16 at a time: entries are rows, elements are columns.
#pragma unroll
        for (int block = 0; block < WHOLE; block += 2) {
            double upper[GROUPS][2] = {}, lower[GROUPS][2] = {};
#pragma unroll
            for (int step = 0; step < STEPS; step++) {
                const Pair a = table.matrices[block][step][lane], e = table.matrices[block + 1][step][lane];
#pragma unroll
                for (int group = 0; group < GROUPS; group++) {
                    multiply_step(step, upper[group], lower[group], a.item, e.item, of[group].matrices[step]);
                }
            }
#pragma unroll
            for (int group = 0; group < GROUPS; group++) {
                u64 pair = item + group * ELEMS + 2 * t;
                double* row = matrices + (8 * block + g) * capacity;
                Columns columns = {column_of(pair), column_of(pair + 1), pair + 1 < count ? 2 : int(pair < count), is_even};
                columns.store(row, upper[group]);
                columns.store(row + 8 * capacity, lower[group]);
            }
        }
    }
}
