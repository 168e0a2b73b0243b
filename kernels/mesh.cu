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

// Returns det J at one point. gradients [node][axis] are those of the basis at the point.
INLINE double determinant_at(const double (&x)[8][3], const double* gradients) {
    double j[3][3] = {};
#pragma unroll
    for (int m = 0; m < 8; m++)
#pragma unroll
        for (int a = 0; a < 3; a++)
#pragma unroll
            for (int d = 0; d < 3; d++) j[a][d] += x[m][a] * gradients[3 * m + d];
    return j[0][0] * (j[1][1] * j[2][2] - j[1][2] * j[2][1]) + j[0][1] * (j[1][2] * j[2][0] - j[1][0] * j[2][2]) +
           j[0][2] * (j[1][0] * j[2][1] - j[1][1] * j[2][0]);
}

// first = lowest elem * 8 + point with a determinant that is not positive; all ones on entry. gradients
// [point][node][axis].
KERNEL __launch_bounds__(THREADS) check_folding(u64 elems, const u32* nodes, const double* coord, const double* gradients,
                                                u64* first) {
    u64 elem = thread_index();
    if (elem >= elems) return;
    double x[8][3];
    corners(elem, nodes, coord, x);
    for (int point = 0; point < 8; point++) {
        // Negated, so that NaN counts as folded.
        if (!(determinant_at(x, gradients + 24 * point) > 0)) {
            atomicMin(first, 8 * elem + point);
            return;
        }
    }
}

// Computes the determinant that check_folding found.
KERNEL folded(const u64* first, const u32* nodes, const double* coord, const double* gradients, double* determinant) {
    double x[8][3];
    corners(*first / 8, nodes, coord, x);
    *determinant = determinant_at(x, gradients + 24 * (*first % 8));
}

// longest = square of the longest edge; zero on entry. Non-negative doubles order like their bits, so an integer maximum
// suffices.
KERNEL __launch_bounds__(THREADS) longest_edge(u64 elems, const u32* nodes, const double* coord, double* longest) {
    const int ends[12][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {5, 6}, {6, 7}, {7, 4}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};
    u64 largest = 0;
    for (u64 elem = thread_index(); elem < elems; elem += thread_count()) {
        double x[8][3];
        corners(elem, nodes, coord, x);
#pragma unroll
        for (int e = 0; e < 12; e++) {
            double square = 0;
#pragma unroll
            for (int d = 0; d < 3; d++) {
                double along = x[ends[e][0]][d] - x[ends[e][1]][d];
                square = __dadd_rn(square, __dmul_rn(along, along));
            }
            largest = most(largest, u64(__double_as_longlong(square)));
        }
    }
#pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) largest = most(largest, __shfl_down_sync(ALL_LANES, largest, step));
    if (lane_index() == 0) atomicMax((u64*)longest, largest);
}
