// Tables of one rank's part of a box of hexahedra, and checks of any hexahedral mesh; twins of src/mesh/host.rs and
// src/mesh/box_part.rs.
//
// `part`, as src/mesh/cuda.rs writes it: grid index of the lowest used node [3], nodes of the whole box [3], used nodes along
// each axis [3], number of index boxes [1], then per index box: its lowest index relative to the lowest used node [3], its
// indices along each axis [3], local id of its first node [1]. Index boxes: interior, owned, then the ghosts of each
// neighbour. Used nodes and elements are traversed in lexicographic order, x fastest.

constexpr int THREADS = 256;
constexpr u32 USED = 6, BOXES = 9, FIRST_BOX = 10, BOX = 7;

// A box of grid indices relative to the lowest used node; `first` is the local id of its first node.
struct IndexBox {
    u32 low[3], count[3], first;
    __device__ __forceinline__ IndexBox(const u64* part, u32 which) {
        const u64* words = part + FIRST_BOX + which * BOX;
#pragma unroll
        for (int d = 0; d < 3; d++) low[d] = u32(__ldg(words + d)), count[d] = u32(__ldg(words + 3 + d));
        first = u32(__ldg(words + 6));
    }
    // Unsigned differences: an index below the lowest one wraps around and is too large.
    __device__ __forceinline__ bool holds(const u32 (&at)[3]) const {
        return at[0] - low[0] < count[0] && at[1] - low[1] < count[1] && at[2] - low[2] < count[2];
    }
    __device__ __forceinline__ u32 position(const u32 (&at)[3]) const {
        return ((at[2] - low[2]) * count[1] + at[1] - low[1]) * count[0] + at[0] - low[0];
    }
    // Number of indices of this box that precede `at` in lexicographic order.
    __device__ __forceinline__ u32 before(const u32 (&at)[3]) const {
        u32 sum = 0, slice = count[0] * count[1];
#pragma unroll
        for (int d = 2; d >= 0; d--) {
            sum += slice * (at[d] > low[d] ? least(at[d] - low[d], count[d]) : 0);
            if (at[d] - low[d] >= count[d]) break;
            if (d > 0) slice = d == 2 ? count[0] : 1;
        }
        return sum;
    }
};

// Local ids of used nodes: first the interior, then the other owned nodes, then the ghosts by owner.
struct Numbering {
    const u64* part;
    IndexBox interior, owned;
    __device__ __forceinline__ Numbering(const u64* part) : part(part), interior(part, 0), owned(part, 1) {}
    __device__ __forceinline__ u32 local(const u32 (&at)[3]) const {
        if (interior.holds(at)) return interior.position(at);
        // The first id of the other owned nodes is the number of interior nodes.
        if (owned.holds(at)) return owned.first + owned.position(at) - interior.before(at);
        u32 boxes = u32(__ldg(part + BOXES));
        for (u32 which = 2; which < boxes; which++) {
            IndexBox ghosts(part, which);
            if (ghosts.holds(at)) return ghosts.first + ghosts.position(at);
        }
        // Unreachable: every used node is owned or a ghost.
        return 0xffffffffu;
    }
};

// Nodes of each element, [elem, 8], in the order of nodes of VTK.
KERNEL __launch_bounds__(THREADS) elem_node(u64 elems, const u64* part, u32* nodes) {
    u64 elem = thread_index();
    if (elem >= elems) return;
    u32 ex = u32(__ldg(part + USED)) - 1, ey = u32(__ldg(part + USED + 1)) - 1, row = u32(elem) / ex;
    const u32 low[3] = {u32(elem) % ex, row % ey, row / ey}, high[3] = {low[0] + 1, low[1] + 1, low[2] + 1};
    Numbering numbering(part);
    const IndexBox& interior = numbering.interior;
    if (interior.holds(low) && interior.holds(high)) {
        // Two stores of 16 bytes per element.
        u32 nx = interior.count[0], first = interior.position(low), up = first + interior.count[1] * nx;
        uint4* out = (uint4*)nodes + 2 * elem;
        out[0] = make_uint4(first, first + 1, first + nx + 1, first + nx);
        out[1] = make_uint4(up, up + 1, up + nx + 1, up + nx);
        return;
    }
#pragma unroll 1
    for (u32 m = 0; m < 8; m++) {
        const u32 at[3] = {low[0] + ((m + 1) / 2 & 1), low[1] + (m / 2 & 1), low[2] + m / 4};
        nodes[8 * elem + m] = numbering.local(at);
    }
}

constexpr u32 BUBBLE = 1, TWIST = 2;

// Coordinates [node][3], and faces of the box that contain a node, as bits: x low, x high, y low, ... `map`: 0 none, 1
// bubble, 2 twist. Products and sums are not fused, as on the host: without the sine of the twist, the bits equal the host's.
KERNEL __launch_bounds__(THREADS) node_tables(u64 count, const u64* part, double size_x, double size_y, double size_z, u32 map,
                                              double amplitude, double* coord, u8* faces) {
    u64 position = thread_index();
    if (position >= count) return;
    u32 nx = u32(__ldg(part + USED)), ny = u32(__ldg(part + USED + 1)), row = u32(position) / nx;
    const u32 at[3] = {u32(position) % nx, row % ny, row / ny};
    const u64 node = Numbering(part).local(at);
    const double size[3] = {size_x, size_y, size_z};
    double unit[3], bump = 1;
    u32 bits = 0;
#pragma unroll
    for (int d = 0; d < 3; d++) {
        u64 index = __ldg(part + d) + at[d], last = __ldg(part + 3 + d) - 1;
        bits |= u32(index == 0) << 2 * d | u32(index == last) << (2 * d + 1);
        double x = unit[d] = double(index) / double(last);
        bump = __dmul_rn(bump, __dmul_rn(x, 1 - x));
        if (map == BUBBLE) {
            double square = __dmul_rn(x, x - 1);
            unit[d] = __dadd_rn(x, __dmul_rn(amplitude, __dmul_rn(square, square)));
        }
    }
    if (map == TWIST) {
        bump = __dmul_rn(__dmul_rn(amplitude, 64.0), bump);
        double sine, cosine, u = unit[0] - 0.5, v = unit[1] - 0.5;
        sincos(bump, &sine, &cosine);
        double turned_x = __dadd_rn(unit[0], __dmul_rn(cosine - 1, u)), turned_y = __dadd_rn(unit[1], __dmul_rn(sine, u));
        unit[0] = __dadd_rn(turned_x, -__dmul_rn(sine, v));
        unit[1] = __dadd_rn(turned_y, __dmul_rn(cosine - 1, v));
        unit[2] = unit[2] + bump / 8.0;
    }
#pragma unroll
    for (int d = 0; d < 3; d++) coord[3 * node + d] = __dmul_rn(size[d], unit[d]);
    faces[node] = u8(bits);
}

// vector = value at the nodes on a face in `mask`.
KERNEL __launch_bounds__(THREADS) set_on_face(u64 count, const u8* faces, u32 mask, double value, double* vector) {
    u64 node = thread_index();
    if (node < count && (faces[node] & mask)) vector[node] = value;
}

// vector[node][field] = values[i][field] for the listed nodes i.
KERNEL __launch_bounds__(THREADS)
    set_nodes(u64 count, u32 fields, const u32* nodes, const double* values, double* vector) {
    u64 item = thread_index();
    if (item < count) vector[u64(fields) * nodes[item / fields] + item % fields] = values[item];
}

// on = 1 at the nodes on a face in `mask`, else 0.
KERNEL __launch_bounds__(THREADS) on_faces(u64 count, const u8* faces, u32 mask, u8* on) {
    u64 node = thread_index();
    if (node < count) on[node] = (faces[node] & mask) != 0;
}

// Local indices of the points of a range of the used nodes, [position]; or with `inverse` the position of each node, [node].
KERNEL __launch_bounds__(THREADS) grid_numbers(u64 count, const u64* part, u32 low_x, u32 low_y, u32 low_z, u32 nx, u32 ny, u32 inverse,
                                               u32* numbers) {
    u64 position = thread_index();
    if (position >= count) return;
    u32 line = u32(position) / nx;
    const u32 at[3] = {low_x + u32(position) % nx, low_y + line % ny, low_z + line / ny};
    u32 local = Numbering(part).local(at);
    if (inverse) numbers[local] = u32(position);
    else numbers[position] = local;
}

// y = A x: row i of A is the product of row i of stencils along the axes, whose entries are entries[offsets[i]..offsets[i + 1]]. The
// unknowns of a node are interleaved. Without numbers, positions are the local indices.
KERNEL __launch_bounds__(THREADS)
    grid_product(u64 count, u32 dofs, u32 rows_x, u32 rows_y, const u32* positions, u32 columns_x, u32 columns_y, const u32* numbers,
                 const u32* offsets_x, const u32* offsets_y, const u32* offsets_z, const u32* along_x, const u32* along_y, const u32* along_z,
                 const double* weights_x, const double* weights_y, const double* weights_z, const double* x, double* y) {
    u64 row = thread_index();
    if (row >= count) return;
    u32 node = u32(row / dofs), dof = u32(row) - node * dofs, position = positions ? __ldg(positions + node) : node;
    u32 line = position / rows_x, i = position % rows_x, j = line % rows_y, k = line / rows_y;
    const u32 ends[3] = {__ldg(offsets_x + i + 1), __ldg(offsets_y + j + 1), __ldg(offsets_z + k + 1)};
    double sum = 0;
    for (u32 a = __ldg(offsets_x + i); a < ends[0]; a++) {
        double of_column = 0;
        for (u32 c = __ldg(offsets_z + k); c < ends[2]; c++) {
            for (u32 b = __ldg(offsets_y + j); b < ends[1]; b++) {
                u32 at = (__ldg(along_z + c) * columns_y + __ldg(along_y + b)) * columns_x + __ldg(along_x + a);
                u32 column = numbers ? __ldg(numbers + at) : at;
                double weight = __ldg(weights_y + b) * __ldg(weights_z + c);
                if (column != 0xffffffffu) of_column += weight * __ldg(x + u64(column) * dofs + dof);
            }
        }
        sum += __ldg(weights_x + a) * of_column;
    }
    y[row] = sum;
}

INLINE void corners(u64 elem, const u32* nodes, const double* coord, double (&x)[8][3]) {
#pragma unroll
    for (int m = 0; m < 8; m++) {
        const double* from = coord + 3 * u64(nodes[8 * elem + m]);
#pragma unroll
        for (int d = 0; d < 3; d++) x[m][d] = from[d];
    }
}

// first = lowest node outside the box [0, size]; all ones on entry.
KERNEL __launch_bounds__(THREADS) check_inside(u64 count, double size_x, double size_y, double size_z, const double* coord,
                                               u64* first) {
    u64 node = thread_index();
    if (node >= count) return;
    double x = coord[3 * node], y = coord[3 * node + 1], z = coord[3 * node + 2];
    // Negated, so that NaN counts as outside.
    if (!(x >= 0 && x <= size_x && y >= 0 && y <= size_y && z >= 0 && z <= size_z)) atomicMin(first, node);
}

INLINE double triple(const double (&a)[3], const double (&b)[3], const double (&c)[3]) {
    return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

// Node at corner (i, j, k) of the unit cube.
INLINE constexpr int node_of(int i, int j, int k) { return 4 * k + (j == 0 ? i : 3 - i); }

// Mean of four edge vectors; returns its length and the largest deviation from it (1-norms).
INLINE double2 mean_of(const double (&edges)[4][3], double (&mean)[3]) {
    double length = 0, deviation = 0;
#pragma unroll
    for (int d = 0; d < 3; d++) {
        mean[d] = 0.25 * (edges[0][d] + edges[1][d] + edges[2][d] + edges[3][d]);
        length += fabs(mean[d]);
    }
#pragma unroll
    for (int e = 0; e < 4; e++) {
        double sum = 0;
#pragma unroll
        for (int d = 0; d < 3; d++) sum += fabs(edges[e][d] - mean[d]);
        deviation = fmax(deviation, sum);
    }
    return make_double2(length, deviation);
}

// open = 1 if the determinant of some element is not shown to be positive: by the cheap test and the 27 coefficients of
// src/element/folding.rs. Zero on entry.
KERNEL __launch_bounds__(THREADS) check_folding(u64 elems, const u32* nodes, const double* coord, u32* open) {
    u64 elem = thread_index();
    if (elem >= elems) return;
    double x[8][3], edges[3][4][3], mean[3][3];
    corners(elem, nodes, coord, x);
#pragma unroll
    for (int at = 0; at < 4; at++) {
        int s = at % 2, t = at / 2;
#pragma unroll
        for (int d = 0; d < 3; d++) {
            edges[0][at][d] = x[node_of(1, s, t)][d] - x[node_of(0, s, t)][d];
            edges[1][at][d] = x[node_of(s, 1, t)][d] - x[node_of(s, 0, t)][d];
            edges[2][at][d] = x[node_of(s, t, 1)][d] - x[node_of(s, t, 0)][d];
        }
    }
    double2 a = mean_of(edges[0], mean[0]), b = mean_of(edges[1], mean[1]), c = mean_of(edges[2], mean[2]);
    double lost = a.y * (b.x + b.y) * (c.x + c.y) + a.x * b.y * (c.x + c.y) + a.x * b.x * c.y;
    // The margin covers rounding. LEAST is the smallest normal number.
    constexpr double LEAST = 2.2250738585072014e-308;
    double determinant = triple(mean[0], mean[1], mean[2]);
    if (determinant > LEAST && determinant > lost + 1e-13 * a.x * b.x * c.x) return;
    bool positive = true;
#pragma unroll
    for (int at = 0; at < 27; at++) {
        int p = at % 3, q = at / 3 % 3, r = at / 9;
        double sum = 0;
#pragma unroll
        for (int bits = 0; bits < 8; bits++) {
            int i = bits & 1, j = bits >> 1 & 1, k = bits >> 2, i2 = p - i, j2 = q - j, k2 = r - k;
            if (i2 < 0 || i2 > 1 || j2 < 0 || j2 > 1 || k2 < 0 || k2 > 1) continue;
            sum += triple(edges[0][j + 2 * k], edges[1][i + 2 * k2], edges[2][i2 + 2 * j2]);
        }
        // The coefficient is the sum times a factor of at least an eighth; NaN is not positive.
        positive = positive && sum > 8 * LEAST;
    }
    if (!positive) *open = 1;
}

// largest = square of the spacing along an axis, relative to the size of the box; zero on entry. Non-negative doubles order
// like their bits, so an integer maximum suffices.
KERNEL __launch_bounds__(THREADS) spacing(u64 elems, u32 axis, double size, const u32* nodes, const double* coord,
                                          double* largest) {
    u64 most_bits = 0;
    for (u64 elem = thread_index(); elem < elems; elem += thread_count()) {
        double z[8];
#pragma unroll
        for (int m = 0; m < 8; m++) z[m] = coord[3 * u64(nodes[8 * elem + m]) + axis] / size;
        double along[3] = {};
#pragma unroll
        for (int at = 0; at < 4; at++) {
            int s = at % 2, t = at / 2;
            along[0] = fmax(along[0], fabs(z[node_of(1, s, t)] - z[node_of(0, s, t)]));
            along[1] = fmax(along[1], fabs(z[node_of(s, 1, t)] - z[node_of(s, 0, t)]));
            along[2] = fmax(along[2], fabs(z[node_of(s, t, 1)] - z[node_of(s, t, 0)]));
        }
        double square = 0;
#pragma unroll
        for (int d = 0; d < 3; d++) square = __dadd_rn(square, __dmul_rn(along[d], along[d]));
        most_bits = most(most_bits, u64(__double_as_longlong(square)));
    }
    most_bits = warp_max(most_bits);
    if (lane_index() == 0) atomicMax((u64*)largest, most_bits);
}

// vector[node] = a pseudo-random number in (-1, 1) for each owned node, by the finaliser of SplitMix64 of its position in the
// whole box; the bits equal the host's.
KERNEL __launch_bounds__(THREADS) scatter_by_id(u64 count, const u64* part, u64 seed, double* vector) {
    u64 position = thread_index();
    if (position >= count) return;
    Numbering numbering(part);
    const IndexBox& owned = numbering.owned;
    u32 row = u32(position) / owned.count[0];
    const u32 at[3] = {owned.low[0] + u32(position) % owned.count[0], owned.low[1] + row % owned.count[1],
                       owned.low[2] + row / owned.count[1]};
    u64 nx = __ldg(part + 3), ny = __ldg(part + 4);
    u64 id = ((__ldg(part + 2) + at[2]) * ny + __ldg(part + 1) + at[1]) * nx + __ldg(part) + at[0];
    u64 bits = (id + seed) * 0x9e3779b97f4a7c15ull;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebull;
    bits ^= bits >> 31;
    vector[numbering.local(at)] =
        __dadd_rn(__dmul_rn(__dadd_rn(double(bits >> 12), 0.5), 4.440892098500626e-16), -1.0);
}
