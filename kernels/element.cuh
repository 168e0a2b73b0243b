// Residual and matrix of a trilinear hexahedron by sum-factorised moments; twin of src/element/moments.rs, which states the
// formula and the names. One thread per element, all in registers: every loop is unrolled and every index is constant.
// About 1500 double-precision instructions. Sums along an axis are accumulated point by point, so that 52 of their values
// live at once instead of 64.

constexpr int NODES = 8, PAIRS = 36;
constexpr double GAUSS = 0.5773502691896258;
constexpr double NEAR = 0.5 * (1 + GAUSS), FAR = 0.5 * (1 - GAUSS);
constexpr double SCALE = 6;

// Corner of node m along each axis.
constexpr __device__ int corner_x(int m) { return m % 4 == 1 || m % 4 == 2; }
constexpr __device__ int corner_y(int m) { return m % 4 >= 2; }
constexpr __device__ int corner_z(int m) { return m / 4; }
// Node at a corner.
constexpr __device__ int node_at(int i, int j, int k) { return 4 * k + (j ? 3 - i : i); }
// Index of entry (row, column) among the 36 with row <= column.
constexpr __device__ int packed(int row, int column) {
    return row <= column ? row * (2 * NODES + 1 - row) / 2 + column - row : packed(column, row);
}

// The parameters of src/element/equations/heat.rs.
struct Heat { double conductivity; };

struct Point { double x, y, z; };

INLINE Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
INLINE double dot(Point a, Point b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
INLINE Point cross(Point a, Point b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }

// a, b = sum_q n_i(q) v_q for i = 0, 1. Also interpolates nodal values to the points.
INLINE void linear(double v, double w, double& a, double& b) {
    double difference = v - w;
    a = difference * NEAR + w, b = difference * FAR + w;
}
// out = SCALE sum_q p_b(q) v_q for b = 0, 1, 2.
INLINE void products(double v, double w, double (&out)[3]) {
    double sum = v + w, common = sum * (SCALE * FAR * FAR);
    out[0] = v * (SCALE * GAUSS) + common, out[1] = sum, out[2] = w * (SCALE * GAUSS) + common;
}
// Applies `linear` along both axes of a 2 x 2 face.
INLINE void linear_face(const double (&v)[2][2], double (&out)[2][2]) {
    double left[2], right[2];
    linear(v[0][0], v[1][0], left[0], left[1]), linear(v[0][1], v[1][1], right[0], right[1]);
#pragma unroll
    for (int i = 0; i < 2; i++) linear(left[i], right[i], out[i][0], out[i][1]);
}
INLINE void linear_cube(double (&v)[2][2][2]) {
#pragma unroll
    for (int i = 0; i < 2; i++) linear_face(v[i], v[i]);
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
        for (int k = 0; k < 2; k++) linear(v[0][j][k], v[1][j][k], v[0][j][k], v[1][j][k]);
}
// Computes a column of J at the points from the four edges along its axis, [first, second of the other axes].
INLINE void column(Point e00, Point e10, Point e01, Point e11, Point (&out)[2][2]) {
    double x[2][2] = {{e00.x, e01.x}, {e10.x, e11.x}}, y[2][2] = {{e00.y, e01.y}, {e10.y, e11.y}};
    double z[2][2] = {{e00.z, e01.z}, {e10.z, e11.z}};
    linear_face(x, x), linear_face(y, y), linear_face(z, z);
#pragma unroll
    for (int a = 0; a < 2; a++)
#pragma unroll
        for (int b = 0; b < 2; b++) out[a][b] = {x[a][b], y[a][b], z[a][b]};
}
// Returns value + s_i s_I term for i + I = index.
INLINE double add_sign_of(int index, double value, double term) { return index == 1 ? value - term : value + term; }

// Integrands of the moments at the points.
struct AtPoints {
    // G_xx summed over x [y, z], G_yy over y [x, z], G_zz over z [x, y]; over SCALE^2.
    double xx[2][2], yy[2][2], zz[2][2];
    // Over SCALE.
    double xy[2][2][2], xz[2][2][2], yz[2][2][2];
    // 2 w det J T over SCALE^3, and w det J T^2.
    double mass[2][2][2], load[2][2][2];
};

INLINE void at_points(const Point (&coord)[NODES], const double (&temperature)[NODES], Heat heat, AtPoints& at) {
    Point edge_x[2][2], edge_y[2][2], edge_z[2][2];
    column(coord[1] - coord[0], coord[2] - coord[3], coord[5] - coord[4], coord[6] - coord[7], edge_x);
    column(coord[3] - coord[0], coord[2] - coord[1], coord[7] - coord[4], coord[6] - coord[5], edge_y);
    column(coord[4] - coord[0], coord[5] - coord[1], coord[7] - coord[3], coord[6] - coord[2], edge_z);
    double t[2][2][2];
#pragma unroll
    for (int m = 0; m < NODES; m++) t[corner_x(m)][corner_y(m)][corner_z(m)] = temperature[m];
    linear_cube(t);
    // Each axis of the unit cube has weight 1/2 at both points.
    constexpr double WEIGHT = 0.125;
#pragma unroll
    for (int point = 0; point < NODES; point++) {
        const int i = point % 2, j = point / 2 % 2, k = point / 4;
        Point u = edge_x[j][k], v = edge_y[i][k], w = edge_z[i][j];
        Point p = cross(v, w), q = cross(w, u), r = cross(u, v);
        // One division per point: the scaled reciprocal of det J times K.
        double determinant = dot(u, p), scale = WEIGHT / SCALE * heat.conductivity / determinant, over = scale * (1 / SCALE);
        double xx = over * dot(p, p), yy = over * dot(q, q), zz = over * dot(r, r);
        at.xx[j][k] = i == 0 ? xx : at.xx[j][k] + xx;
        at.yy[i][k] = j == 0 ? yy : at.yy[i][k] + yy;
        at.zz[i][j] = k == 0 ? zz : at.zz[i][j] + zz;
        at.xy[i][j][k] = scale * dot(p, q);
        at.xz[i][j][k] = scale * dot(p, r);
        at.yz[i][j][k] = scale * dot(q, r);
        double product = determinant * t[i][j][k];
        at.mass[i][j][k] = product * (2 * WEIGHT / (SCALE * SCALE * SCALE));
        at.load[i][j][k] = product * t[i][j][k] * WEIGHT;
    }
}

// Computes D, [a, b, c].
INLINE void equal_axes(const AtPoints& at, double (&moments)[3][3][3]) {
    double along_x[3][2][2], along_y[3][3][2], sum[3][3];
#pragma unroll
    for (int q = 0; q < 2; q++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            double mass[3];
            products(at.mass[0][q][r], at.mass[1][q][r], mass);
#pragma unroll
            for (int a = 0; a < 3; a++) along_x[a][q][r] = add_sign_of(a, mass[a], at.xx[q][r]);
        }
#pragma unroll
    for (int r = 0; r < 2; r++) {
        double stiff[3], line[3];
        products(at.yy[0][r], at.yy[1][r], stiff);
#pragma unroll
        for (int a = 0; a < 3; a++) {
            products(along_x[a][0][r], along_x[a][1][r], line);
#pragma unroll
            for (int b = 0; b < 3; b++) along_y[a][b][r] = add_sign_of(b, line[b], stiff[a]);
        }
    }
    double left[3], right[3];
    products(at.zz[0][0], at.zz[1][0], left);
    products(at.zz[0][1], at.zz[1][1], right);
#pragma unroll
    for (int a = 0; a < 3; a++) {
        products(left[a], right[a], sum[a]);
#pragma unroll
        for (int b = 0; b < 3; b++) {
            double line[3];
            products(along_y[a][b][0], along_y[a][b][1], line);
#pragma unroll
            for (int c = 0; c < 3; c++) moments[a][b][c] = add_sign_of(c, line[c], sum[a][b]);
        }
    }
}

// Computes XY (or XZ, YZ), [third axis; first, second]. `point` returns the value at (first, second, third).
template <class F> INLINE void mixed(F point, double (&lines)[3][2][2]) {
    double faces[2][2][2];
#pragma unroll
    for (int r = 0; r < 2; r++) {
        double face[2][2] = {{point(0, 0, r), point(0, 1, r)}, {point(1, 0, r), point(1, 1, r)}};
        linear_face(face, faces[r]);
    }
#pragma unroll
    for (int p = 0; p < 2; p++)
#pragma unroll
        for (int q = 0; q < 2; q++) {
            double line[3];
            products(faces[0][p][q], faces[1][p][q], line);
#pragma unroll
            for (int c = 0; c < 3; c++) lines[c][p][q] = line[c];
        }
}

// Returns entry + s_i s_J V[I, j] + s_j s_I V[i, J]. The compiler finds the sums that entries share.
INLINE double add_mixed(const double (&v)[2][2], double entry, int i, int ii, int j, int jj) {
    if (i == ii && j == jj) return entry + (i == j ? 2.0 : -2.0) * v[i][j];
    if (i == ii) {
        double difference = v[i][0] - v[i][1];
        return i == 1 ? entry + difference : entry - difference;
    }
    if (j == jj) {
        double difference = v[0][j] - v[1][j];
        return j == 1 ? entry + difference : entry - difference;
    }
    return i == j ? entry - (v[0][1] + v[1][0]) : entry + (v[0][0] + v[1][1]);
}

// Computes the residual of one element and passes its matrix to put(row, column, entry), row <= column, in the order of
// `packed`.
template <class Put>
INLINE void moments(const Point (&coord)[NODES], const double (&temperature)[NODES], Heat heat, Put put,
                    double (&residual)[NODES]) {
    double equal[3][3][3], xy[3][2][2], xz[3][2][2], yz[3][2][2];
    {
        AtPoints at;
        at_points(coord, temperature, heat, at);
        mixed([&](int i, int j, int k) { return at.xy[i][j][k]; }, xy);
        mixed([&](int i, int k, int j) { return at.xz[i][j][k]; }, xz);
        mixed([&](int j, int k, int i) { return at.yz[i][j][k]; }, yz);
        equal_axes(at, equal);
        // The residual is A T minus the integral of T^2 phi, because A T contains it twice.
        linear_cube(at.load);
#pragma unroll
        for (int m = 0; m < NODES; m++) residual[m] = -at.load[corner_x(m)][corner_y(m)][corner_z(m)];
    }
#pragma unroll
    for (int m = 0; m < NODES; m++)
#pragma unroll
        for (int n = m; n < NODES; n++) {
            const int i = corner_x(m), j = corner_y(m), k = corner_z(m);
            const int ii = corner_x(n), jj = corner_y(n), kk = corner_z(n);
            double entry = add_mixed(xy[k + kk], equal[i + ii][j + jj][k + kk], i, ii, j, jj);
            entry = add_mixed(xz[j + jj], entry, i, ii, k, kk);
            entry = add_mixed(yz[i + ii], entry, j, jj, k, kk);
            put(m, n, entry);
            residual[m] += entry * temperature[n];
            if (m != n) residual[n] += entry * temperature[m];
        }
}
