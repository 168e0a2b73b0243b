// Elements of apply.cu, one thread per trilinear hexahedron of one unknown.

#if GROUP == 0 && EDGE == 2


// Trilinear hexahedra of one unknown, in registers. Along a line of two nodes, a function has the values NEAR n0 + FAR n1 and
// FAR n0 + NEAR n1 at the two points and one slope, so that each derivative depends on the two other axes only.
constexpr double NEAR = 0.78867513459481288, FAR = 0.21132486540518712;
// The node at place x + 2 y + 4 z.
__device__ constexpr int node_at(int place) { return place ^ (place >> 1 & 1); }

// Values at the points and derivatives, `[z][y]`, `[z][x]`, `[y][x]`, `[z][y][x]` without the axis of the derivative.
struct Trilinear {
    double dx[2][2], dy[2][2], dz[2][2], value[2][2][2];
};

INLINE void at_line(double n0, double n1, double (&values)[2]) {
    values[0] = NEAR * n0 + FAR * n1;
    values[1] = FAR * n0 + NEAR * n1;
}

INLINE void interpolate(const double (&n)[8], Trilinear& out) {
    // Along z at each place x + 2 y, then along y, then along x.
    double z[4][2], slope[4], dz[2][2];
#pragma unroll
    for (int xy = 0; xy < 4; xy++) {
        at_line(n[xy], n[xy + 4], z[xy]);
        slope[xy] = 0.5 * (n[xy + 4] - n[xy]);
    }
#pragma unroll
    for (int x = 0; x < 2; x++) at_line(slope[x], slope[x + 2], dz[x]);
#pragma unroll
    for (int r = 0; r < 2; r++) at_line(dz[0][r], dz[1][r], out.dz[r]);
#pragma unroll
    for (int s = 0; s < 2; s++) {
        double y[2][2], dy[2];
#pragma unroll
        for (int x = 0; x < 2; x++) {
            at_line(z[x][s], z[x + 2][s], y[x]);
            dy[x] = 0.5 * (z[x + 2][s] - z[x][s]);
        }
        at_line(dy[0], dy[1], out.dy[s]);
#pragma unroll
        for (int r = 0; r < 2; r++) {
            out.dx[s][r] = 0.5 * (y[1][r] - y[0][r]);
            at_line(y[0][r], y[1][r], out.value[s][r]);
        }
    }
}

// The transpose; `of` has the sums over the points of a line.
INLINE void collect(const Trilinear& of, double (&n)[8]) {
    double dz[2][2], along_z[2][2][2];
#pragma unroll
    for (int r = 0; r < 2; r++) at_line(of.dz[r][0], of.dz[r][1], dz[r]);
#pragma unroll
    for (int s = 0; s < 2; s++) {
        double y[2][2], dy[2];
        at_line(of.dy[s][0], of.dy[s][1], dy);
#pragma unroll
        for (int r = 0; r < 2; r++) {
            at_line(of.value[s][r][0], of.value[s][r][1], y[r]);
            y[r][0] -= 0.5 * of.dx[s][r], y[r][1] += 0.5 * of.dx[s][r];
        }
#pragma unroll
        for (int x = 0; x < 2; x++) {
            at_line(y[0][x], y[1][x], along_z[s][x]);
            along_z[s][x][0] -= 0.5 * dy[x], along_z[s][x][1] += 0.5 * dy[x];
        }
    }
#pragma unroll
    for (int x = 0; x < 2; x++) {
        double slope[2];
        at_line(dz[0][x], dz[1][x], slope);
#pragma unroll
        for (int y = 0; y < 2; y++) {
            double values[2];
            at_line(along_z[0][x][y], along_z[1][x][y], values);
            n[2 * y + x] = values[0] - 0.5 * slope[y], n[4 + 2 * y + x] = values[1] + 0.5 * slope[y];
        }
    }
}

template <bool RESIDUAL>
INLINE void apply(const Input& in, const double* parameters, const double*, const Output& out) {
    constexpr int ALL = FIELDS<RESIDUAL>;
    u64 elem = thread_index();
    if (elem >= out.elems) return;
    const Statement equation = *(const Statement*)parameters;
    Trilinear fields[ALL], sums = {};
    u32 nodes[NODES];
#pragma unroll
    for (int place = 0; place < NODES; place++) nodes[place] = __ldg(in.elem_node + elem * NODES + node_at(place));
#pragma unroll
    for (int f = 0; f < ALL; f++) {
        double nodal[NODES];
#pragma unroll
        for (int place = 0; place < NODES; place++) nodal[place] = item_of<RESIDUAL>(in, nodes[place], f);
        interpolate(nodal, fields[f]);
    }
#pragma unroll
    for (int p = 0; p < POINTS; p++) {
        const int q = p % 2, r = p / 2 % 2, s = p / 4;
        double at[ALL][TERMS], flux[DOFS][TERMS];
#pragma unroll
        for (int f = 0; f < ALL; f++) {
            at[f][0] = fields[f].dx[s][r], at[f][1] = fields[f].dy[s][q], at[f][2] = fields[f].dz[r][q];
            at[f][3] = fields[f].value[s][r][q];
        }
        // All weights of the rule are 1.
        at_point<RESIDUAL>(equation, 1.0, at, flux);
        sums.dx[s][r] += flux[0][0], sums.dy[s][q] += flux[0][1], sums.dz[r][q] += flux[0][2];
        sums.value[s][r][q] = flux[0][3];
    }
    double nodal[NODES];
    collect(sums, nodal);
#pragma unroll
    for (int place = 0; place < NODES; place++) put(in, out, elem, node_at(place), 0, nodal[place]);
}

#endif
