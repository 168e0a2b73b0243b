// Element matrices and residuals of a scalar equation on trilinear hexahedra, by contractions on tensor cores: from nodes to
// stored matrices in one pass, with every number between them in registers. Launched by src/fill/cuda/equation.rs; equals
// src/fill/host/kernel/equation.rs up to rounding. The text in front of this file states the equation and
//     Statement       the equation's struct, whose numbers are `parameters`
//     HAS_SLOPES      whether it states its derivatives
//     nonzero(0)      bits 4 i + j of the derivatives that are not zero; they are symmetric
//     ISOTROPIC       d flux / d gradient is a multiple of the unit matrix
//     LINEAR          flux = d flux / d gradient . gradient
//
//     R_m  = sum_p w det J (grad phi_m . flux + phi_m source)
//     A_mn = sum_p w det J (grad phi_m, phi_m) . d (flux, source) / d (gradient, value) (grad phi_n, phi_n)
//
// The basis has the same reference gradients in all elements. Let B_d[m, p] be the derivative of phi_m along axis d at point p,
// and phi_m(p) for d = 3. Then all three stages are products of a table, which is the same for all elements, with 8 elements
// at a time (Kirby and Logg, ACM Transactions on Mathematical Software 32, 2006, point by point):
//
//     dx/dxi, dT/dxi, x, T [p, e]  = sum_n B_d[n, p] x[n, e]                               coordinates and unknowns
//     A[(m, n), e]                 = sum_(k, p) (B_d[m, p] B_d'[n, p] + B_d'[m, p] B_d[n, p]) S_k[p, e]    36 pairs m <= n
//     R[m, e]                      = sum_(d, p) B_d[m, p] f_d[p, e]
//
// S = w det J J^-1 (d flux / d gradient) J^-T has six entries k = (d, d') per point; k = (3, 3) is w det J d source / d value, and
// k = (d, 3) w det J J^-1 d flux / d value. f = w det J J^-1 flux, with LINEAR S dT/dxi, and w det J source. An equation enters
// only by `integrands`.
//
// Lane (g, t) = (lane / 4, lane % 4) of a warp receives from the first product what element g has at two points, which it needs to
// compute S and f there, and which are the operands that it supplies to the other two. Both points lie on a line along x, and B_x
// does not depend on x: one product computes the derivatives along x and along y, and lanes exchange the latter. For the same reason
// S_xx and f_x are summed over x first, and alike for y and z: for the heat equation, 44 and 20 terms instead of 56 and 32. Each lane
// then holds two neighbouring elements of an output, which are adjacent in memory.
//
// Cost per element of the heat equation on an H200, in cycles of a quarter of a multiprocessor: 18 for J and T, 33 for S and f,
// 55 for A, 5 for R. Bytes: 32 read per element and 32 per node, 352 written.

constexpr int AXES = 3, VALUE = 3;
constexpr double WEIGHT = 0.125;
// Elements per product, and products side by side in a warp, which share what they read of the tables.
constexpr int ELEMS = 8, GROUPS = 2;

// Whether a derivative may differ from zero.
__device__ constexpr bool has(int i, int j) { return nonzero(0) >> (4 * i + j) & 1; }
constexpr bool COUPLED = has(0, VALUE) || has(1, VALUE) || has(2, VALUE), MASS = has(VALUE, VALUE);

// Twelve warps of 168 registers; with 16 warps of 128 the compiler spills (measured on an H200: 0.189 ns per node, not 0.172).
// Three more steps take more registers.
constexpr int THREADS = COUPLED ? 256 : 384, BLOCKS = 1;

// Steps of eight terms: (xx, yy), (zz, none), xy, xz, yz, then mass and (x, value), (y, value), (z, value) if the equation has them,
// for matrices; (x, y), (z, none), value for residuals. A step with `none` is a product over four terms.
constexpr int MIXED = 2, WITH_VALUE = 5, COUPLING = WITH_VALUE + MASS, STEPS = COUPLING + (COUPLED ? AXES : 0);
constexpr int LOADS = 3, HALF = 1;
// Whole blocks of eight entries, an even number, and all blocks.
constexpr int WHOLE = PAIRS / 8, BLOCKS_OF_ROWS = (PAIRS + 7) / 8;
struct alignas(16) Pair {
    double item[2];
};
// Tables of the first product: derivatives along x and y in turn, derivatives along z, values.
constexpr int ALONG_XY = 0, ALONG_Z = 1, VALUES = 2, TABLES = 3;
// A lane's operands of the table; `pairs` has term v of two blocks side by side, as the instruction takes them.
struct Table {
    Pair to_points[TABLES][WARP], pairs[WHOLE / 2][STEPS][2][WARP], last[STEPS][WARP], residuals[LOADS][WARP];
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

// Points v = 0, 1 of lane column t: both at y = t % 2 and z = t / 2, x by turns, so that neighbours along y or z have the same x at
// the other v.
INLINE int first_x(int t) { return (t ^ t >> 1) & 1; }
INLINE int point_of(int t, int v) { return 2 * t + (v ^ first_x(t)); }
// Returns the point of lane column t in the sums along axis d: any point on its line.
INLINE int on_line(int d, int t) { return d == 0 ? 2 * t : first_x(t) + (d == 1 ? t / 2 * 4 : t % 2 * 2); }

// Returns the table for term v of lane column t in a step of the matrices.
INLINE double pair_term(int step, int t, int v, int m, int n) {
    if (step == HALF && v == 1) return 0;
    int d, e = VALUE;
    if (step < MIXED) d = e = 2 * step + v;
    else if (step < WITH_VALUE) d = step < 4 ? 0 : 1, e = step == 2 ? 1 : 2;
    else d = step < COUPLING ? VALUE : step - COUPLING;
    int point = step < MIXED ? on_line(d, t) : point_of(t, v);
    double product = basis(d, m, point) * basis(e, n, point);
    return d == e ? product : product + basis(e, m, point) * basis(d, n, point);
}

INLINE void fill_table(Table& table) {
    for (int i = threadIdx.x; i < TABLES * WARP; i += blockDim.x) {
        int which = i / WARP, lane = i % WARP, t = lane / 8, v = lane / 4 % 2, node = lane % 4 * 2;
        int d = which == ALONG_Z ? 2 : which == VALUES ? VALUE : v;
        int point = which == ALONG_XY ? on_line(d, t) : point_of(t, v);
        table.to_points[which][lane] = {basis(d, node, point), basis(d, node + 1, point)};
    }
    for (int i = threadIdx.x; i < BLOCKS_OF_ROWS * STEPS * WARP; i += blockDim.x) {
        int block = i / (STEPS * WARP), step = i / WARP % STEPS, lane = i % WARP, t = lane % 4;
        int m = 0, n = 8 * block + lane / 4;
        bool exists = n < PAIRS;
        for (; m < NODES && n >= NODES - m; m++) n -= NODES - m;
        n += m;
#pragma unroll
        for (int v = 0; v < 2; v++) {
            double& term = block == WHOLE ? table.last[step][lane].item[v] : table.pairs[block / 2][step][v][lane].item[block % 2];
            term = exists ? pair_term(step, t, v, m, n) : 0;
        }
    }
    for (int i = threadIdx.x; i < LOADS * WARP; i += blockDim.x) {
        int step = i / WARP, lane = i % WARP, m = lane / 4, t = lane % 4;
        Pair& pair = table.residuals[step][lane];
        if (step == 0) pair = {basis(0, m, on_line(0, t)), basis(1, m, on_line(1, t))};
        else if (step == HALF) pair = {basis(2, m, on_line(2, t)), 0};
        else pair = {basis(VALUE, m, point_of(t, 0)), basis(VALUE, m, point_of(t, 1))};
    }
}

// Returns 1 / x to two roundings, without the branches of a division: an approximation r of 20 bits, times 1 + e + e^2.
INLINE double reciprocal(double x) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    double e = fma(-x, r, 1.0);
    return fma(r, fma(e, e, e), r);
}

// A lane's operands of the last two products.
struct Integrands {
    double matrices[STEPS][2], residuals[LOADS][2];
};

// Returns the sum along y (across = 1) or z (2) of a number at points: the line of a lane's first point.
INLINE double along(int across, const double (&item)[2]) { return item[0] + __shfl_xor_sync(ALL_LANES, item[1], across); }

// Derivatives at a lane's two points from the one along x of both, and the one along y of the first.
INLINE void spread(const double (&along_xy)[2], double (&field)[AXES][2]) {
    field[0][0] = field[0][1] = along_xy[0];
    field[1][0] = along_xy[1], field[1][1] = __shfl_xor_sync(ALL_LANES, along_xy[1], 1);
}

// Evaluates the equation at one point of an element: columns[d] = d x / d xi_d, slope[d] = d u / d xi_d. Returns xx, yy, zz, xy, xz,
// yz, mass, the coupling of each axis in s, and x, y, z, source in f.
INLINE void evaluate(const Statement& equation, const Point (&columns)[AXES], const double (&slope)[AXES], const Array<double, 3>& x,
                     double value, double (&s)[10], double (&f)[AXES + 1]) {
    // J^-1 has these rows, over det J.
    const Point rows[AXES] = {cross(columns[1], columns[2]), cross(columns[2], columns[0]), cross(columns[0], columns[1])};
    double determinant = dot(columns[0], rows[0]), volume = WEIGHT * determinant, inverse = reciprocal(determinant);
    Array<Field<double>, 1> u;
    u[0].value = value;
    u[0].grad[0] = inverse * (rows[0].x * slope[0] + rows[1].x * slope[1] + rows[2].x * slope[2]);
    u[0].grad[1] = inverse * (rows[0].y * slope[0] + rows[1].y * slope[1] + rows[2].y * slope[2]);
    u[0].grad[2] = inverse * (rows[0].z * slope[0] + rows[1].z * slope[1] + rows[2].z * slope[2]);
    Slope<double> by;
    each_slope<1, HAS_SLOPES>(equation, x, u, [&](int, int, const Slope<double>& of) { by = of; });
    Point left[AXES];
    double scale = WEIGHT;
    if constexpr (ISOTROPIC) scale *= by[0][0];
    scale *= inverse;
#pragma unroll
    for (int d = 0; d < AXES; d++) {
        // (d flux / d gradient) times a row
        auto times = [&](int i) {
            double sum = 0;
            if (has(i, 0)) sum += by[i][0] * rows[d].x;
            if (has(i, 1)) sum += by[i][1] * rows[d].y;
            if (has(i, 2)) sum += by[i][2] * rows[d].z;
            return sum;
        };
        if constexpr (ISOTROPIC) left[d] = rows[d];
        else left[d] = {times(0), times(1), times(2)};
        if constexpr (COUPLED) s[7 + d] = WEIGHT * (rows[d].x * by[0][VALUE] + rows[d].y * by[1][VALUE] + rows[d].z * by[2][VALUE]);
    }
    s[0] = scale * dot(left[0], rows[0]), s[1] = scale * dot(left[1], rows[1]), s[2] = scale * dot(left[2], rows[2]);
    s[3] = scale * dot(left[0], rows[1]), s[4] = scale * dot(left[0], rows[2]), s[5] = scale * dot(left[1], rows[2]);
    if constexpr (MASS) s[6] = volume * by[VALUE][VALUE];
    const Weak<double> weak = equation.weak(x, u)[0];
    if constexpr (LINEAR) {
        f[0] = s[0] * slope[0] + s[3] * slope[1] + s[4] * slope[2];
        f[1] = s[3] * slope[0] + s[1] * slope[1] + s[5] * slope[2];
        f[2] = s[4] * slope[0] + s[5] * slope[1] + s[2] * slope[2];
    } else {
        const Point flux = {WEIGHT * weak.flux[0], WEIGHT * weak.flux[1], WEIGHT * weak.flux[2]};
        f[0] = dot(rows[0], flux), f[1] = dot(rows[1], flux), f[2] = dot(rows[2], flux);
    }
    f[VALUE] = volume * weak.source;
}

// Computes S and f of an element at two points: field[i][d] = derivative of x, y, z or the unknown along axis d, and its value.
INLINE void integrands(const Statement& equation, const double (&field)[AXES + 1][AXES][2], const double (&value)[AXES + 1][2],
                       Integrands& out) {
    double s[10][2], f[AXES + 1][2];
#pragma unroll
    for (int v = 0; v < 2; v++) {
        Point columns[AXES];
        double slope[AXES], of_s[10] = {}, of_f[AXES + 1];
#pragma unroll
        for (int d = 0; d < AXES; d++) {
            columns[d] = {field[0][d][v], field[1][d][v], field[2][d][v]};
            slope[d] = field[AXES][d][v];
        }
        evaluate(equation, columns, slope, {{value[0][v], value[1][v], value[2][v]}}, value[AXES][v], of_s, of_f);
#pragma unroll
        for (int k = 0; k < 10; k++) s[k][v] = of_s[k];
#pragma unroll
        for (int d = 0; d <= AXES; d++) f[d][v] = of_f[d];
    }
    out.matrices[0][0] = s[0][0] + s[0][1], out.matrices[0][1] = along(1, s[1]), out.matrices[HALF][0] = along(2, s[2]);
    out.residuals[0][0] = f[0][0] + f[0][1], out.residuals[0][1] = along(1, f[1]), out.residuals[HALF][0] = along(2, f[2]);
#pragma unroll
    for (int v = 0; v < 2; v++) {
        out.residuals[2][v] = f[VALUE][v];
#pragma unroll
        for (int step = MIXED; step < STEPS; step++) out.matrices[step][v] = s[(step < COUPLING ? step : step - COUPLING + 6) + 1][v];
    }
}

// One step of a product: the term that a step of four lacks is not read.
INLINE void multiply_step(int step, double (&c)[2], double (&d)[2], const double (&a)[2], const double (&e)[2], const double (&b)[2]) {
    if (step == HALF) multiply_half(c, d, a[0], e[0], b[0]);
    else multiply(c, d, a, e, b);
}

// The columns of the two elements of an output that a lane holds.
struct Columns {
    u32 first, second;
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

// Coordinates and unknowns of a lane's two nodes of an element.
struct Nodes {
    double item[AXES + 1][2];
    __device__ __forceinline__ void load(uint2 node, const double* node_coord, const double* solution) {
#pragma unroll
        for (int v = 0; v < 2; v++) {
            u32 id = v == 0 ? node.x : node.y;
#pragma unroll
            for (int d = 0; d < AXES; d++) item[d][v] = __ldg(node_coord + (3 * u64(id) + d));
            item[AXES][v] = __ldg(solution + id);
        }
    }
};

// Stores the matrices of `count` elements, [packed(i, j), column], and residuals, [i, column]. There are `capacity` columns, used in
// turn; that of the first element is `column`. Warps take 8 GROUPS elements in turn.
KERNEL __launch_bounds__(THREADS, BLOCKS)
    contract_equation(u64 count, u64 column, u64 capacity, const u32* elem_node, const double* node_coord, const double* solution,
                      const double* parameters, double* matrices, double* residuals) {
    __shared__ Table table;
    fill_table(table);
    __syncthreads();
    const u32 lane = lane_index(), g = lane / 4, t = lane % 4;
    // Ids of elements and columns have 32 bits.
    const u32 stride = u32(thread_count()) / WARP * (GROUPS * ELEMS), behind = u32(count), columns = u32(capacity);
    const bool is_even = (column | capacity) % 2 == 0;
    // A lane's nodes of its element in group `group` from element `item` on; past the end those of the last element.
    auto nodes_of = [&](u32 item, int group) {
        u32 elem = least(item + group * ELEMS + g, behind - 1);
        return __ldg(reinterpret_cast<const uint2*>(elem_node) + (u64(elem) * (NODES / 2) + t));
    };
    auto column_of = [&](u32 item) {
        u32 at = u32(column) + item;
        return at >= columns ? at - columns : at;
    };
    u32 item = u32(thread_index()) / WARP * (GROUPS * ELEMS);
    if (item >= behind) return;
    Nodes now[GROUPS];
    uint2 next[GROUPS];
#pragma unroll
    for (int group = 0; group < GROUPS; group++) {
        now[group].load(nodes_of(item, group), node_coord, solution);
        next[group] = nodes_of(item + stride, group);
    }
    for (; item < behind; item += stride) {
        Integrands of[GROUPS];
        {
            // Both groups side by side; what the equation does not read is not computed.
            double value[GROUPS][AXES + 1][2] = {};
            const Pair at = table.to_points[VALUES][lane];
#pragma unroll
            for (int i = 0; i <= AXES; i++) multiply(value[0][i], value[1][i], now[0].item[i], now[1].item[i], at.item);
#pragma unroll
            for (int group = 0; group < GROUPS; group++) {
                double field[AXES + 1][AXES][2] = {}, along_xy[AXES + 1][2] = {};
                auto& given = now[group].item;
                const Pair xy = table.to_points[ALONG_XY][lane], z = table.to_points[ALONG_Z][lane];
#pragma unroll
                for (int i = 0; i < AXES + 1; i += 2) {
                    multiply(along_xy[i], along_xy[i + 1], given[i], given[i + 1], xy.item);
                    multiply(field[i][2], field[i + 1][2], given[i], given[i + 1], z.item);
                }
#pragma unroll
                for (int i = 0; i < AXES + 1; i++) spread(along_xy[i], field[i]);
                // Loads for the next elements, while these are computed.
                now[group].load(next[group], node_coord, solution);
                next[group] = nodes_of(item + 2 * stride, group);
                // Read again from a cache, which takes no registers meanwhile.
                const Statement equation = *(const Statement*)parameters;
                integrands(equation, field, value[group], of[group]);
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
                const Pair b = table.last[step][lane];
                multiply_step(step, last[0], last[1], of[0].matrices[step], of[1].matrices[step], b.item);
            }
#pragma unroll
            for (int group = 0; group < GROUPS; group++) {
                u32 own = item + group * ELEMS + g, at = column_of(own);
#pragma unroll
                for (int v = 0; v < 2; v++) {
                    u32 row = 2 * t + v;
                    if (own < behind) __stcs(residuals + (row * capacity + at), sums[group][v]);
                    if (own < behind && row < PAIRS - 8 * WHOLE) __stcs(matrices + ((8 * WHOLE + row) * capacity + at), last[group][v]);
                }
            }
        }
        // The other entries, 16 at a time: entries are rows, elements are columns.
#pragma unroll
        for (int block = 0; block < WHOLE; block += 2) {
            double upper[GROUPS][2] = {}, lower[GROUPS][2] = {};
#pragma unroll
            for (int step = 0; step < STEPS; step++) {
                const Pair first = table.pairs[block / 2][step][0][lane], second = table.pairs[block / 2][step][1][lane];
                const double a[2] = {first.item[0], second.item[0]}, e[2] = {first.item[1], second.item[1]};
#pragma unroll
                for (int group = 0; group < GROUPS; group++) {
                    multiply_step(step, upper[group], lower[group], a, e, of[group].matrices[step]);
                }
            }
#pragma unroll
            for (int group = 0; group < GROUPS; group++) {
                u32 pair = item + group * ELEMS + 2 * t;
                double* row = matrices + (8 * block + g) * capacity;
                Columns to = {column_of(pair), column_of(pair + 1), pair + 1 < behind ? 2 : int(pair < behind), is_even};
                to.store(row, upper[group]);
                to.store(row + 8 * capacity, lower[group]);
            }
        }
    }
}
