// Tables of a box of hexahedra owned by one process, and checks of any hexahedral mesh; twins of src/mesh/host.rs.
// Nodes and elements are in lexicographic order, x fastest.

constexpr int THREADS = 256;

// Nodes of each element, [elem, 8]. nx, ny: nodes along x and y.
KERNEL __launch_bounds__(THREADS) elem_node(u64 elems, u32 nx, u32 ny, u32* nodes) {
    u64 elem = thread_index();
    if (elem >= elems) return;
    // Two stores of 16 bytes per element, in the order of nodes of VTK.
    u32 row = u32(elem / (nx - 1)), i = u32(elem % (nx - 1)), j = row % (ny - 1), k = row / (ny - 1);
    u32 low = (k * ny + j) * nx + i, up = ny * nx;
    uint4* out = (uint4*)nodes + 2 * elem;
    out[0] = make_uint4(low, low + 1, low + nx + 1, low + nx);
    out[1] = make_uint4(low + up, low + up + 1, low + up + nx + 1, low + up + nx);
}

constexpr u32 BUBBLE = 1, TWIST = 2;

// Coordinates [node][3]; map 0 none, 1 bubble, 2 twist. Products and sums are not fused, as on the host: without the sine
// of the twist, the bits equal the host's.
KERNEL __launch_bounds__(THREADS) node_coord(u64 count, u32 nx, u32 ny, u32 nz, double size_x, double size_y, double size_z,
                                             u32 map, double amplitude, double* coord) {
    u64 node = thread_index();
    if (node >= count) return;
    u64 row = node / nx;
    const double index[3] = {double(node % nx), double(row % ny), double(row / ny)};
    const double last[3] = {double(nx - 1), double(ny - 1), double(nz - 1)}, size[3] = {size_x, size_y, size_z};
    double unit[3], bump = 1;
    for (int d = 0; d < 3; d++) {
        double x = unit[d] = index[d] / last[d];
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
    for (int d = 0; d < 3; d++) coord[3 * node + d] = __dmul_rn(size[d], unit[d]);
}

// Faces of the box that contain a node, as bits: x low, x high, y low, ...
KERNEL __launch_bounds__(THREADS) node_faces(u64 count, u32 nx, u32 ny, u32 nz, u8* faces) {
    u64 node = thread_index();
    if (node >= count) return;
    u32 i = u32(node % nx), j = u32(node / nx % ny), k = u32(node / nx / ny);
    faces[node] = u8((i == 0) | (i + 1 == nx) << 1 | (j == 0) << 2 | (j + 1 == ny) << 3 | (k == 0) << 4 | (k + 1 == nz) << 5);
}

// vector = value at the nodes on a face in `mask`.
KERNEL __launch_bounds__(THREADS) set_on_face(u64 count, const u8* faces, u32 mask, double value, double* vector) {
    u64 node = thread_index();
    if (node < count && (faces[node] & mask)) vector[node] = value;
}

// on = 1 at the nodes on a face in `mask`, else 0.
KERNEL __launch_bounds__(THREADS) on_faces(u64 count, const u8* faces, u32 mask, u8* on) {
    u64 node = thread_index();
    if (node < count) on[node] = (faces[node] & mask) != 0;
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
    // The margin covers rounding.
    if (triple(mean[0], mean[1], mean[2]) > lost + 1e-13 * a.x * b.x * c.x) return;
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
        // The positive factor of the coefficient does not matter; NaN is not positive.
        positive = positive && sum > 0;
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

// vector[node] = a pseudo-random number in (-1, 1) by the finaliser of SplitMix64; the bits equal the host's.
KERNEL __launch_bounds__(THREADS) scatter_by_id(u64 count, u64 seed, double* vector) {
    u64 node = thread_index();
    if (node >= count) return;
    u64 bits = (node + seed) * 0x9e3779b97f4a7c15ull;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebull;
    bits ^= bits >> 31;
    vector[node] = __dadd_rn(__dmul_rn(__dadd_rn(double(bits >> 12), 0.5), 4.440892098500626e-16), -1.0);
}
