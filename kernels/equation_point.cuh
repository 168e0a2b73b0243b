// Shared by the kernels of equation.cu: tables of the basis, and the equation at a point.

// Blocks of nodes; nodes behind the last one have g = 0.
constexpr int BLOCKS = (NODES + BLOCK - 1) / BLOCK, PADDED = BLOCKS * BLOCK;
// Numbers of C and W at a point.
[[maybe_unused]] constexpr int ITEMS = DOFS * DOFS * TERMS * TERMS + DOFS * TERMS;
// Blocks that tiles consist of: of nodes, or layers.
constexpr int PARTS = LAYERS > 0 ? LAYERS : BLOCKS;
constexpr int BLOCK_PAIRS = SYMMETRIC ? PARTS * (PARTS + 1) / 2 : PARTS * PARTS;
[[maybe_unused]] constexpr int TILES = DOFS * DOFS * BLOCK_PAIRS;

using Tables = Basis<PADDED>;

// Whether the derivative may differ from zero.
__device__ constexpr bool has(int c, int d, int i, int j) { return nonzero(DOFS * c + d) >> (TERMS * i + j) & 1; }
// Whether C[k, j] may differ from zero for a pair of components; the map mixes the axes.
__device__ constexpr bool has_any(int k, int j) { return MAPPED >> (TERMS * k + j) & 1; }

INLINE u64 packed(u64 i, u64 j) { return SYMMETRIC ? i * (2 * ROWS + 1 - i) / 2 + j - i : i * ROWS + j; }

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

// What the equation is evaluated at: coordinates, or a point with its normal and given fields.
#if AT_POINT
using Where = QuadraturePoint<double, GIVEN>;
INLINE Point& coords_of(Where& at) { return at.x; }
#else
using Where = Point;
INLINE Point& coords_of(Where& at) { return at; }
#endif

// A given field; twin of src/fill/cuda/given.rs. Its values are those of nodes, [stride node + first], of elements, or of points
// [element][point].
enum : u32 { OF_NODES, OF_ELEMENTS, OF_POINTS };
struct GivenField {
    const double* values;
    u32 place, stride;
    u64 first;
};
struct Given {
    GivenField field[GIVEN > 0 ? GIVEN : 1];
};
// The same of an element with its nodes.
struct ElementGiven {
    const Given& fields;
    const u32* nodes;
    u64 elem;
};

// Returns gradient and value of a given field at point p of an element.
INLINE Field<double> given_at(const Tables& tables, int p, const double (&inverse)[DIM][DIM], const GivenField& field, const u32* nodes,
                              u64 elem) {
    Field<double> at = {};
    if (field.place != OF_NODES) {
        at.value = __ldg(field.values + (field.place == OF_POINTS ? POINTS * elem + p : elem));
        return at;
    }
    double slope[DIM] = {};
#pragma unroll(NODES <= 10 ? NODES : 3)
    for (int m = 0; m < NODES; m++) {
        double value = __ldg(field.values + (field.stride * u64(__ldg(nodes + m)) + field.first));
        const double(&g)[TERMS] = tables.basis[p][m];
        at.value += value * g[DIM];
#pragma unroll
        for (int b = 0; b < DIM; b++) slope[b] += value * g[b];
    }
#pragma unroll
    for (int a = 0; a < DIM; a++) at.grad[a] = inverse[0][a] * slope[0] + inverse[1][a] * slope[1] + inverse[2][a] * slope[2];
    return at;
}

// A point of an element: the unknowns there, inverse[b][a] = d xi_b / d x_a, and measure = w det J.
struct State {
    Where where;
    Fields u;
    double inverse[DIM][DIM], measure;
};

// Returns the state at point p of an element, whose coordinates and unknowns nodal(m, x, u) gives. An element of fewer than three
// dimensions lies along the first axes, and a line of a boundary in the plane of the first two; NaN if its nodes differ along the others.
template <class Nodal> INLINE State state_at(const Tables& tables, int p, Nodal nodal, const ElementGiven& given) {
    // Axes of the mesh.
    constexpr int FLAT = AXES + (BOUNDARY ? 1 : 0);
    State at = {};
    Point& x = coords_of(at.where);
    // columns[b][a] = d x_a / d xi_b
    double columns[DIM][DIM] = {}, slope[DOFS][DIM] = {}, first[DIM] = {};
    bool flat = true;
#pragma unroll(NODES <= 10 ? NODES : 3)
    for (int m = 0; m < NODES; m++) {
        double coords[DIM], unknowns[DOFS];
        nodal(m, coords, unknowns);
#pragma unroll
        for (int a = FLAT; a < DIM; a++) {
            if (m == 0) first[a] = coords[a];
            flat = flat && coords[a] == first[a];
        }
        const double(&g)[TERMS] = tables.basis[p][m];
#pragma unroll
        for (int a = 0; a < DIM; a++) {
            x[a] += coords[a] * g[DIM];
#pragma unroll
            for (int b = 0; b < DIM; b++) columns[b][a] += coords[a] * g[b];
        }
#pragma unroll
        for (int c = 0; c < DOFS; c++) {
            at.u[c].value += unknowns[c] * g[DIM];
#pragma unroll
            for (int b = 0; b < DIM; b++) slope[c][b] += unknowns[c] * g[b];
        }
    }
    // 1, or NaN.
    const double one = double(flat) / double(flat);
    // The unit normal t1 x t2 of faces, t1 x e_z of lines, completes the Jacobian: det J is the ratio of areas or lengths.
    if constexpr (BOUNDARY) {
        if (AXES == 1) columns[1][2] = one;
        double(&normal)[DIM] = columns[2];
        cross(columns[0], columns[1], normal);
        double scale = 1 / sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
#pragma unroll
        for (int a = 0; a < DIM; a++) normal[a] *= scale;
#if AT_POINT
#pragma unroll
        for (int a = 0; a < DIM; a++) at.where.normal[a] = normal[a];
#endif
    }
#pragma unroll
    for (int a = BOUNDARY ? DIM : AXES; a < DIM; a++) columns[a][a] = one;
    double(&inverse)[DIM][DIM] = at.inverse;
    double determinant = determinant_inverse(columns, inverse);
    double reciprocal = 1 / determinant;
    at.measure = determinant * tables.weights[p];
#pragma unroll
    for (int b = 0; b < DIM; b++)
#pragma unroll
        for (int a = 0; a < DIM; a++) inverse[b][a] *= reciprocal;
#pragma unroll
    for (int c = 0; c < DOFS; c++)
#pragma unroll
        for (int a = 0; a < DIM; a++) {
            at.u[c].grad[a] = inverse[0][a] * slope[c][0] + inverse[1][a] * slope[c][1] + inverse[2][a] * slope[c][2];
        }
#if GIVEN > 0
#pragma unroll
    for (int k = 0; k < GIVEN; k++) at.where.given[k] = given_at(tables, p, inverse, given.fields.field[k], given.nodes, given.elem);
#endif
    return at;
}

// Evaluates the equation at point p of an element as `state_at`. Calls put_weak(c, W_c) and put_slope(c, d, C_cd).
template <class Nodal, class PutWeak, class PutSlope>
INLINE void at_point(const Statement& equation, const Tables& tables, int p, Nodal nodal, const ElementGiven& given, PutWeak put_weak,
                     PutSlope put_slope) {
    const State at = state_at(tables, p, nodal, given);
    const double(&inverse)[DIM][DIM] = at.inverse;
    const double measure = at.measure;
    Array<Weak<double>, DOFS> weak = equation.weak(at.where, at.u);
#pragma unroll
    for (int c = 0; c < DOFS; c++) {
        double out[TERMS];
        integrand(weak[c], inverse, measure, measure, out);
        put_weak(c, out);
    }
    each_slope<DOFS, HAS_SLOPES>(equation, at.where, at.u, [&](int c, int d, const Slope<double>& slope) {
        double out[TERMS][TERMS];
        transform(c, d, slope, inverse, measure, out);
        put_slope(c, d, out);
    });
}

// Coordinates and unknowns of the nodes of GROUP elements. Padded, so that neither nodes nor elements of a warp share banks.
typedef double Nodes[DIM + DOFS][NODES][GROUP + 1];

// The nodes of one of them.
struct ElementNodes {
    const Nodes& nodes;
    int e;
    __device__ __forceinline__ void operator()(int m, double (&x)[DIM], double (&u)[DOFS]) const {
#pragma unroll
        for (int a = 0; a < DIM; a++) x[a] = nodes[a][m][e];
#pragma unroll
        for (int c = 0; c < DOFS; c++) u[c] = nodes[DIM + c][m][e];
    }
};

// Calls each(tables, elem, p, nodal) for the points of `count` elements; one thread per point. A block takes GROUP elements, whose nodes
// it keeps in shared memory.
template <class Each>
INLINE void each_point(u64 count, const u32* elem_node, const double* node_coord, const double* solution, const double* from,
                       Each each) {
    __shared__ Tables tables;
    __shared__ Nodes nodes;
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
#pragma unroll 1
    for (int i = threadIdx.x; i < GROUP * POINTS; i += blockDim.x) {
        int e = i % GROUP, p = i / GROUP;
        if (e >= elems) continue;
        each(tables, first + e, p, ElementNodes{nodes, e});
    }
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
