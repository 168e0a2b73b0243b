// Geometry of trilinear hexahedra at their 2x2x2 points: the input arrays of the contractions that make element matrices;
// launched by src/fill/cuda/contraction.rs.
//
//     fluxes = k m g [c, f, p, d]   gradients = g [c, f, p, d]   slope = grad T [c, p, d]       m = det J (weights are 1)
//     masses = 2 T m phi [c, f, p]  phi [c, f, p]                load = T^2 m [c, p]
//
// The cell is the first index in memory (left) or the last (right). One thread per point of a cell. Bytes per cell: 4352
// written, 288 read.

constexpr int NODES = 8, POINTS = 8, DIM = 3, THREADS = 256;
// 1/sqrt(3), and the 1-D basis at a Gauss point for the nearer and the farther end.
constexpr double GAUSS = 0.5773502691896258, NEAR = 0.5 * (1 + GAUSS), FAR = 0.5 * (1 - GAUSS);

// Returns true if node m is at +1 on axis d. Point p is the one nearest to node p, so it serves points too.
INLINE bool is_upper(int m, int d) { return d == 0 ? (m + 1) / 2 % 2 == 1 : d == 1 ? m / 2 % 2 == 1 : m / 4 == 1; }

// A point of a cell in the arrays of `cells` cells.
template <bool LEFT> struct Place {
    u64 cells, c;
    int p;
};
template <bool LEFT> INLINE u64 field_vector(Place<LEFT> at, int f, int d) {
    return LEFT ? at.c + at.cells * u64(f + NODES * (at.p + POINTS * d)) : (at.c * NODES + f) * (POINTS * DIM) + at.p * DIM + d;
}
template <bool LEFT> INLINE u64 field_scalar(Place<LEFT> at, int f) {
    return LEFT ? at.c + at.cells * u64(f + NODES * at.p) : (at.c * NODES + f) * POINTS + at.p;
}
template <bool LEFT> INLINE u64 data_vector(Place<LEFT> at, int d) {
    return LEFT ? at.c + at.cells * u64(at.p + POINTS * d) : at.c * (POINTS * DIM) + at.p * DIM + d;
}
template <bool LEFT> INLINE u64 data_scalar(Place<LEFT> at) {
    return LEFT ? at.c + at.cells * u64(at.p) : at.c * POINTS + at.p;
}

// out = a x b, as in src/element/geometry.rs.
INLINE void cross(const double (&a)[3], const double (&b)[3], double (&out)[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

// g = derivatives of phi_m with respect to the reference coordinates. ends[d][1] is the 1-D basis of the upper end.
INLINE void reference_gradient(const double (&ends)[3][2], int m, double (&g)[3]) {
#pragma unroll
    for (int d = 0; d < DIM; ++d) {
        int e = (d + 1) % DIM, f = (d + 2) % DIM;
        g[d] = (is_upper(m, d) ? 0.5 : -0.5) * ends[e][is_upper(m, e)] * ends[f][is_upper(m, f)];
    }
}

INLINE double basis(const double (&ends)[3][2], int m) {
    return ends[0][is_upper(m, 0)] * ends[1][is_upper(m, 1)] * ends[2][is_upper(m, 2)];
}

// Returns component a of the transposed rows times g.
INLINE double transformed(const double (&rows)[3][3], const double (&g)[3], int a) {
    return rows[0][a] * g[0] + rows[1][a] * g[1] + rows[2][a] * g[2];
}

template <bool LEFT>
INLINE void workset(u64 cells, double k, const u32* elem_node, const double* node_coord,
                            const double* temperature, double* fluxes, double* gradients, double* masses, double* phi,
                            double* slope, double* load) {
    // Left layout: the 8 warps of a block take one point each of 32 cells, so that a warp writes 32 neighbouring cells.
    // Right layout: neighbouring threads take the points of a cell, which are adjacent.
    u64 thread = thread_index();
    Place<LEFT> at = {cells, LEFT ? thread / (WARP * POINTS) * WARP + thread % WARP : thread / POINTS,
                      int(LEFT ? thread / WARP % POINTS : thread % POINTS)};
    if (at.c >= cells) return;
    double ends[3][2];
#pragma unroll
    for (int d = 0; d < DIM; ++d) {
        bool upper = is_upper(at.p, d);
        ends[d][0] = upper ? FAR : NEAR, ends[d][1] = upper ? NEAR : FAR;
    }
    // columns[b][a] = J_ab = dx_a / dxi_b
    double columns[3][3] = {}, at_point = 0, reference_slope[3] = {};
#pragma unroll
    for (int m = 0; m < NODES; ++m) {
        u64 node = elem_node[at.c * NODES + m];
        double g[3];
        reference_gradient(ends, m, g);
#pragma unroll
        for (int a = 0; a < DIM; ++a) {
            double x = node_coord[node * DIM + a];
#pragma unroll
            for (int b = 0; b < DIM; ++b) columns[b][a] += x * g[b];
        }
        double t = temperature[node];
        at_point += t * basis(ends, m);
#pragma unroll
        for (int b = 0; b < DIM; ++b) reference_slope[b] += t * g[b];
    }
    // The rows of the inverse are the cross products of the columns, divided by the determinant.
    double rows[3][3];
    cross(columns[1], columns[2], rows[0]);
    cross(columns[2], columns[0], rows[1]);
    cross(columns[0], columns[1], rows[2]);
    double determinant = columns[0][0] * rows[0][0] + columns[0][1] * rows[0][1] + columns[0][2] * rows[0][2];
    // One division per point; the weights of the rule are 1.
    double reciprocal = 1 / determinant, weight = k * determinant, half = at_point * determinant;
#pragma unroll
    for (int m = 0; m < NODES; ++m) {
        double g[3], value = basis(ends, m);
        reference_gradient(ends, m, g);
#pragma unroll
        for (int a = 0; a < DIM; ++a) {
            double gradient = transformed(rows, g, a) * reciprocal;
            gradients[field_vector(at, m, a)] = gradient;
            fluxes[field_vector(at, m, a)] = weight * gradient;
        }
        phi[field_scalar(at, m)] = value;
        masses[field_scalar(at, m)] = 2 * half * value;
    }
#pragma unroll
    for (int a = 0; a < DIM; ++a) slope[data_vector(at, a)] = transformed(rows, reference_slope, a) * reciprocal;
    load[data_scalar(at)] = at_point * half;
}

// 2 blocks per multiprocessor leave 128 registers: nothing spills, and the 32 loads of a thread are in flight at once.
#define WORKSET(name, LEFT)                                                                                                 \
    KERNEL __launch_bounds__(THREADS, 2)                                                                                    \
        name(u64 cells, double k, const u32* elem_node, const double* node_coord, const double* temperature,     \
             double* fluxes, double* gradients, double* masses, double* phi, double* slope, double* load) {                 \
        workset<LEFT>(cells, k, elem_node, node_coord, temperature, fluxes, gradients, masses, phi, slope, \
                              load);                                                                                        \
    }
WORKSET(workset_left, true)
WORKSET(workset_right, false)
