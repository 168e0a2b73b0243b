// The Jacobian of any equation times a vector, and its residual, by elements; twin of src/fill/host/operator.rs and
// src/element/product.rs. The text in front of this file states the equation and
//     Statement       the equation's struct, whose numbers are `parameters`
//     NODES, POINTS, DOFS, HAS_SLOPES, HAS_DERIVATIVE, TANGENT (the derivative depends on u)
//     EDGE            nodes along an edge of an element that is done axis by axis, else 0
//     GROUP           elements per block; 0: one thread per element
//
//     y_i += sum_p w det J sum_k g_k(m) (inverse^T flux, source)_k      g = (reference gradient of phi, phi) at point p
//
// One thread per element where its numbers fit registers. Otherwise a block takes GROUP elements: threads take places of an element,
// a point or a node, and pass numbers through shared memory. With EDGE, three passes along the axes lead to the points and three back
// (sum factorisation): 27 products per field and point of hex27 instead of 108.

constexpr int TERMS = 4, DIM = 3, THREADS = 128, ROWS = NODES * DOFS;
// Fields that elements read: coordinates, v, and u where it is needed.
template <bool RESIDUAL> constexpr int FIELDS = DIM + DOFS + (TANGENT && !RESIDUAL ? DOFS : 0);
// How element vectors are summed.
constexpr u32 SCATTER = 0, COLOUR = 1;

using Point = Array<double, DIM>;
using Fields = Array<Field<double>, DOFS>;
using Result = Array<Weak<double>, DOFS>;

INLINE void cross(const double (&a)[DIM], const double (&b)[DIM], double (&out)[DIM]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

// Twin of `Equation::derivative`.
template <class E> INLINE Result derivative_of(const E& equation, const Point& x, const Fields& u, const Fields& v) {
    if constexpr (HAS_DERIVATIVE) {
        return equation.derivative(x, u, v);
    } else {
        Result sums = {};
        each_slope<DOFS, HAS_SLOPES>(equation, x, u, [&](int c, int d, const Slope<double>& slope) {
#pragma unroll
            for (int i = 0; i < TERMS; i++) {
                double sum = slope[i][DIM] * v[d].value;
#pragma unroll
                for (int j = 0; j < DIM; j++) sum += slope[i][j] * v[d].grad[j];
                if (i < DIM) sums[c].flux[i] += sum;
                else sums[c].source += sum;
            }
        });
        return sums;
    }
}

// From reference gradients and values `at[field][4]` to what is tested with (reference gradient of phi, phi), `out[c][4]`.
template <bool RESIDUAL>
INLINE void at_point(const Statement& equation, double weight, const double (&at)[FIELDS<RESIDUAL>][TERMS], double (&out)[DOFS][TERMS]) {
    // columns[b][a] = d x_a / d xi_b
    double columns[DIM][DIM], inverse[DIM][DIM];
#pragma unroll
    for (int a = 0; a < DIM; a++)
#pragma unroll
        for (int b = 0; b < DIM; b++) columns[b][a] = at[a][b];
    cross(columns[1], columns[2], inverse[0]);
    cross(columns[2], columns[0], inverse[1]);
    cross(columns[0], columns[1], inverse[2]);
    double determinant = columns[0][0] * inverse[0][0] + columns[0][1] * inverse[0][1] + columns[0][2] * inverse[0][2];
    // The inverse times the determinant is at hand, so both of its uses share one division.
    double reciprocal = 1 / determinant;
    Point x = {{at[0][DIM], at[1][DIM], at[2][DIM]}};
    auto fields = [&](int first) {
        Fields of;
#pragma unroll
        for (int c = 0; c < DOFS; c++) {
            const double(&g)[TERMS] = at[first + c];
#pragma unroll
            for (int a = 0; a < DIM; a++) {
                of[c].grad[a] = reciprocal * (inverse[0][a] * g[0] + inverse[1][a] * g[1] + inverse[2][a] * g[2]);
            }
            of[c].value = g[DIM];
        }
        return of;
    };
    Fields v = fields(DIM);
    Result weak;
    if constexpr (RESIDUAL) weak = equation.weak(x, v);
    else if constexpr (TANGENT) weak = derivative_of(equation, x, fields(DIM + DOFS), v);
    else weak = derivative_of(equation, x, v, v);
    double measure = determinant * weight;
#pragma unroll
    for (int c = 0; c < DOFS; c++) {
        const auto& flux = weak[c].flux;
#pragma unroll
        for (int b = 0; b < DIM; b++) {
            out[c][b] = weight * (inverse[b][0] * flux[0] + inverse[b][1] * flux[1] + inverse[b][2] * flux[2]);
        }
        out[c][DIM] = measure * weak[c].source;
    }
}

// What all threads read.
struct Input {
    const u32* elem_node;
    const double* node_coord;
    const u8* fixed;
    const double *v, *u;
};

// Item `field` of a node; the Jacobian's v is masked by the conditions.
template <bool RESIDUAL> INLINE double item_of(const Input& in, u64 node, int field) {
    if (field < DIM) return __ldg(in.node_coord + DIM * node + field);
    if (field >= DIM + DOFS) return __ldg(in.u + DOFS * node + field - DIM - DOFS);
    u64 row = DOFS * node + field - DIM;
    return !RESIDUAL && __ldg(in.fixed + row) != 0 ? 0 : __ldg(in.v + row);
}

// Where element vectors go.
struct Output {
    u32 how;
    u64 elems, owned;
    double *y, *vectors;
};

// Component c of an element's vector at its node m.
INLINE void put(const Input& in, const Output& out, u64 elem, int m, int c, double term) {
    if (out.how > COLOUR) {
        __stcs(out.vectors + u64(DOFS * m + c) * out.elems + elem, term);
        return;
    }
    u64 node = __ldg(in.elem_node + elem * NODES + m), row = DOFS * node + c;
    if (node >= out.owned || __ldg(in.fixed + row) != 0) return;
    if (out.how == SCATTER) atomicAdd(out.y + row, term);
    else out.y[row] += term;
}

#if GROUP == 0 && EDGE == 2

// Trilinear hexahedra of one unknown, in registers. Along a line of two nodes, a function has the values NEAR n0 + FAR n1 and
// FAR n0 + NEAR n1 at the two points and one slope, so that each derivative depends on the two other axes only: 84 operations per field.
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
    double z[2][2][2], slope[2][2];
#pragma unroll
    for (int xy = 0; xy < 4; xy++) {
        double values[2];
        at_line(n[xy], n[xy + 4], values);
        z[0][xy / 2][xy % 2] = values[0], z[1][xy / 2][xy % 2] = values[1];
        slope[xy / 2][xy % 2] = 0.5 * (n[xy + 4] - n[xy]);
    }
    double dz[2][2];
#pragma unroll
    for (int x = 0; x < 2; x++) {
        double values[2];
        at_line(slope[0][x], slope[1][x], values);
        dz[0][x] = values[0], dz[1][x] = values[1];
    }
#pragma unroll
    for (int r = 0; r < 2; r++) at_line(dz[r][0], dz[r][1], out.dz[r]);
#pragma unroll
    for (int s = 0; s < 2; s++) {
        double y[2][2], dy[2];
#pragma unroll
        for (int x = 0; x < 2; x++) {
            double values[2];
            at_line(z[s][0][x], z[s][1][x], values);
            y[0][x] = values[0], y[1][x] = values[1];
            dy[x] = 0.5 * (z[s][1][x] - z[s][0][x]);
        }
        at_line(dy[0], dy[1], out.dy[s]);
#pragma unroll
        for (int r = 0; r < 2; r++) {
            out.dx[s][r] = 0.5 * (y[r][1] - y[r][0]);
            at_line(y[r][0], y[r][1], out.value[s][r]);
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
            double values[2];
            at_line(y[0][x], y[1][x], values);
            along_z[s][0][x] = values[0] - 0.5 * dy[x], along_z[s][1][x] = values[1] + 0.5 * dy[x];
        }
    }
#pragma unroll
    for (int x = 0; x < 2; x++) {
        double slope[2];
        at_line(dz[0][x], dz[1][x], slope);
#pragma unroll
        for (int y = 0; y < 2; y++) {
            double values[2];
            at_line(along_z[0][y][x], along_z[1][y][x], values);
            n[2 * y + x] = values[0] - 0.5 * slope[y], n[4 + 2 * y + x] = values[1] + 0.5 * slope[y];
        }
    }
}

template <bool RESIDUAL>
INLINE void apply(u64 count, const u32* list, const Input& in, const double* parameters, const double*, const Output& out) {
    constexpr int ALL = FIELDS<RESIDUAL>;
    u64 item = thread_index();
    if (item >= count) return;
    u64 elem = list == nullptr ? item : __ldg(list + item);
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

#elif GROUP == 0

// The basis at the points, then weights; the same in memory.
struct Tables {
    double basis[POINTS][NODES][TERMS];
    double weights[POINTS];
};

INLINE int read_again(int p) {
    asm volatile("" : "+r"(p));
    return p;
}

template <bool RESIDUAL>
INLINE void apply(u64 count, const u32* list, const Input& in, const double* parameters, const double* from, const Output& out) {
    constexpr int ALL = FIELDS<RESIDUAL>;
    __shared__ Tables tables;
    for (u32 i = threadIdx.x; i < sizeof(Tables) / sizeof(double); i += blockDim.x) ((double*)&tables)[i] = __ldg(from + i);
    __syncthreads();
    u64 item = thread_index();
    if (item >= count) return;
    u64 elem = list == nullptr ? item : __ldg(list + item);
    const Statement equation = *(const Statement*)parameters;
    double nodal[NODES][ALL], sums[NODES][DOFS] = {};
#pragma unroll
    for (int m = 0; m < NODES; m++) {
        u64 node = __ldg(in.elem_node + elem * NODES + m);
#pragma unroll
        for (int f = 0; f < ALL; f++) nodal[m][f] = item_of<RESIDUAL>(in, node, f);
    }
#pragma unroll 1
    for (int p = 0; p < POINTS; p++) {
        double at[ALL][TERMS] = {}, flux[DOFS][TERMS];
#pragma unroll
        for (int m = 0; m < NODES; m++) {
            const double(&g)[TERMS] = tables.basis[p][m];
#pragma unroll
            for (int f = 0; f < ALL; f++)
#pragma unroll
                for (int k = 0; k < TERMS; k++) at[f][k] += nodal[m][f] * g[k];
        }
        at_point<RESIDUAL>(equation, tables.weights[p], at, flux);
        const auto& basis = tables.basis[read_again(p)];
#pragma unroll
        for (int m = 0; m < NODES; m++)
#pragma unroll
            for (int c = 0; c < DOFS; c++)
#pragma unroll
                for (int k = 0; k < TERMS; k++) sums[m][c] += basis[m][k] * flux[c][k];
    }
#pragma unroll
    for (int m = 0; m < NODES; m++)
#pragma unroll
        for (int c = 0; c < DOFS; c++) put(in, out, elem, m, c, sums[m][c]);
}

#else

// Threads take `places` places of each of `elems` elements of the block: work(element of the block, place).
template <class Work> INLINE void for_places(int elems, int places, Work work) {
#pragma unroll 1
    for (int i = threadIdx.x; i < GROUP * places; i += THREADS) {
        if (i % GROUP < elems) work(i % GROUP, i / GROUP);
    }
    __syncthreads();
}

// The block's elements and their number.
struct Mine {
    u64 first;
    const u32* list;
    int elems;
    __device__ __forceinline__ u64 at(int e) const { return list == nullptr ? first + e : u64(__ldg(list + first + e)); }
};

#if EDGE > 0

constexpr int CUBE = EDGE * EDGE * EDGE;
// Values and derivatives of the functions of an edge, weights, order; the same in memory.
struct Tables {
    double values[EDGE][EDGE], slopes[EDGE][EDGE], weights[CUBE], order[CUBE];
};

// Number `which` of a place of an element of the block.
INLINE double& of(double* part, int which, int place, int e) { return part[(which * CUBE + place) * GROUP + e]; }

// sum_i line[q][i] item(i), or with TRANSPOSED sum_q line[q][i] item(q).
template <bool TRANSPOSED, class Item> INLINE double along(const double (&line)[EDGE][EDGE], int at, Item item) {
    double sum = 0;
#pragma unroll
    for (int i = 0; i < EDGE; i++) sum += (TRANSPOSED ? line[i][at] : line[at][i]) * item(i);
    return sum;
}

template <bool RESIDUAL>
INLINE void compute(const Mine& mine, const Input& in, const Statement& equation, const Tables& tables, double* a, const Output& out) {
    constexpr int ALL = FIELDS<RESIDUAL>;
    // Passes read one part of the memory and write the other: a has 2 numbers per field and place, b has 3.
    double* b = a + 2 * ALL * CUBE * GROUP;
    for_places(mine.elems, CUBE, [&](int e, int place) {
        u64 node = __ldg(in.elem_node + mine.at(e) * NODES + int(tables.order[place]));
#pragma unroll
        for (int f = 0; f < ALL; f++) of(b, f, place, e) = item_of<RESIDUAL>(in, node, f);
    });
    // Along x; then y; then z at the points, whose fluxes go to a.
    for_places(mine.elems, CUBE, [&](int e, int place) {
        int q = place % EDGE, line = place - q;
#pragma unroll
        for (int f = 0; f < ALL; f++) {
            auto item = [&](int i) { return of(b, f, line + i, e); };
            of(a, 2 * f, place, e) = along<false>(tables.values, q, item);
            of(a, 2 * f + 1, place, e) = along<false>(tables.slopes, q, item);
        }
    });
    for_places(mine.elems, CUBE, [&](int e, int place) {
        int r = place / EDGE % EDGE, line = place - EDGE * r;
#pragma unroll
        for (int f = 0; f < ALL; f++) {
            auto value = [&](int j) { return of(a, 2 * f, line + EDGE * j, e); };
            auto slope = [&](int j) { return of(a, 2 * f + 1, line + EDGE * j, e); };
            of(b, 3 * f, place, e) = along<false>(tables.values, r, slope);
            of(b, 3 * f + 1, place, e) = along<false>(tables.slopes, r, value);
            of(b, 3 * f + 2, place, e) = along<false>(tables.values, r, value);
        }
    });
    for_places(mine.elems, CUBE, [&](int e, int place) {
        int s = place / (EDGE * EDGE), line = place % (EDGE * EDGE);
        double at[ALL][TERMS], flux[DOFS][TERMS];
#pragma unroll
        for (int f = 0; f < ALL; f++) {
            auto item = [&](int which) { return [&, which](int k) { return of(b, 3 * f + which, line + EDGE * EDGE * k, e); }; };
            at[f][0] = along<false>(tables.values, s, item(0));
            at[f][1] = along<false>(tables.values, s, item(1));
            at[f][2] = along<false>(tables.slopes, s, item(2));
            at[f][3] = along<false>(tables.values, s, item(2));
        }
        at_point<RESIDUAL>(equation, tables.weights[place], at, flux);
#pragma unroll
        for (int c = 0; c < DOFS; c++)
#pragma unroll
            for (int k = 0; k < TERMS; k++) of(a, TERMS * c + k, place, e) = flux[c][k];
    });
    // Back along z, y and x.
    for_places(mine.elems, CUBE, [&](int e, int place) {
        int k = place / (EDGE * EDGE), line = place % (EDGE * EDGE);
#pragma unroll
        for (int c = 0; c < DOFS; c++) {
            auto item = [&](int which) { return [&, which](int s) { return of(a, TERMS * c + which, line + EDGE * EDGE * s, e); }; };
            of(b, 3 * c, place, e) = along<true>(tables.values, k, item(0));
            of(b, 3 * c + 1, place, e) = along<true>(tables.values, k, item(1));
            of(b, 3 * c + 2, place, e) = along<true>(tables.slopes, k, item(2)) + along<true>(tables.values, k, item(3));
        }
    });
    for_places(mine.elems, CUBE, [&](int e, int place) {
        int j = place / EDGE % EDGE, line = place - EDGE * j;
#pragma unroll
        for (int c = 0; c < DOFS; c++) {
            auto item = [&](int which) { return [&, which](int r) { return of(b, 3 * c + which, line + EDGE * r, e); }; };
            of(a, 2 * c, place, e) = along<true>(tables.slopes, j, item(1)) + along<true>(tables.values, j, item(2));
            of(a, 2 * c + 1, place, e) = along<true>(tables.values, j, item(0));
        }
    });
    for_places(mine.elems, CUBE, [&](int e, int place) {
        int i = place % EDGE, line = place - i;
#pragma unroll
        for (int c = 0; c < DOFS; c++) {
            auto value = [&](int q) { return of(a, 2 * c, line + q, e); };
            auto slope = [&](int q) { return of(a, 2 * c + 1, line + q, e); };
            double sum = along<true>(tables.values, i, value) + along<true>(tables.slopes, i, slope);
            put(in, out, mine.at(e), int(tables.order[place]), c, sum);
        }
    });
}

template <bool RESIDUAL> constexpr int SHARED = 5 * FIELDS<RESIDUAL> * CUBE * GROUP;

#else

// The basis at the points, then weights; the same in memory.
struct Tables {
    double basis[POINTS][NODES][TERMS];
    double weights[POINTS];
};

// Nodal numbers, then those of the points.
template <bool RESIDUAL> constexpr int NODAL = FIELDS<RESIDUAL> * NODES * GROUP;
template <bool RESIDUAL> constexpr int SHARED = NODAL<RESIDUAL> + DOFS * TERMS * POINTS * GROUP;

template <bool RESIDUAL>
INLINE void compute(const Mine& mine, const Input& in, const Statement& equation, const Tables& tables, double* nodal, const Output& out) {
    constexpr int ALL = FIELDS<RESIDUAL>;
    double* fluxes = nodal + NODAL<RESIDUAL>;
    for_places(mine.elems, NODES, [&](int e, int m) {
        u64 node = __ldg(in.elem_node + mine.at(e) * NODES + m);
#pragma unroll
        for (int f = 0; f < ALL; f++) nodal[(f * NODES + m) * GROUP + e] = item_of<RESIDUAL>(in, node, f);
    });
    for_places(mine.elems, POINTS, [&](int e, int p) {
        double at[ALL][TERMS] = {}, flux[DOFS][TERMS];
#pragma unroll 2
        for (int m = 0; m < NODES; m++) {
            const double(&g)[TERMS] = tables.basis[p][m];
#pragma unroll
            for (int f = 0; f < ALL; f++) {
                double item = nodal[(f * NODES + m) * GROUP + e];
#pragma unroll
                for (int k = 0; k < TERMS; k++) at[f][k] += item * g[k];
            }
        }
        at_point<RESIDUAL>(equation, tables.weights[p], at, flux);
#pragma unroll
        for (int c = 0; c < DOFS; c++)
#pragma unroll
            for (int k = 0; k < TERMS; k++) fluxes[((TERMS * c + k) * POINTS + p) * GROUP + e] = flux[c][k];
    });
    for_places(mine.elems, NODES, [&](int e, int m) {
        double sums[DOFS] = {};
#pragma unroll 2
        for (int p = 0; p < POINTS; p++) {
            const double(&g)[TERMS] = tables.basis[p][m];
#pragma unroll
            for (int c = 0; c < DOFS; c++)
#pragma unroll
                for (int k = 0; k < TERMS; k++) sums[c] += g[k] * fluxes[((TERMS * c + k) * POINTS + p) * GROUP + e];
        }
#pragma unroll
        for (int c = 0; c < DOFS; c++) put(in, out, mine.at(e), m, c, sums[c]);
    });
}

#endif

template <bool RESIDUAL>
INLINE void apply(u64 count, const u32* list, const Input& in, const double* parameters, const double* from, const Output& out) {
    __shared__ Tables tables;
    __shared__ double numbers[SHARED<RESIDUAL>];
    for (u32 i = threadIdx.x; i < sizeof(Tables) / sizeof(double); i += blockDim.x) ((double*)&tables)[i] = __ldg(from + i);
    __syncthreads();
    u64 first = u64(blockIdx.x) * GROUP;
    Mine mine = {first, list, first < count ? int(least(count - first, u64(GROUP))) : 0};
    const Statement equation = *(const Statement*)parameters;
    compute<RESIDUAL>(mine, in, equation, tables, numbers, out);
}

#endif

// Adds J(u) v of `count` elements, or those in the list, to y, or stores their vectors. Nothing once *stop is not 0.
KERNEL __launch_bounds__(THREADS)
    apply_jacobian(u64 count, u64 elems, u64 owned, u32 how, const u32* list, const u32* elem_node, const double* node_coord,
                   const u8* fixed, const double* v, const double* u, const double* parameters, const double* from,
                   const double* stop, double* y, double* vectors) {
    if (is_stopped(stop)) return;
    apply<false>(count, list, {elem_node, node_coord, fixed, v, u}, parameters, from, {how, elems, owned, y, vectors});
}

// The same for the residual at v.
KERNEL __launch_bounds__(THREADS)
    apply_residual(u64 count, u64 elems, u64 owned, u32 how, const u32* list, const u32* elem_node, const double* node_coord,
                   const u8* fixed, const double* v, const double* u, const double* parameters, const double* from,
                   const double* stop, double* y, double* vectors) {
    if (is_stopped(stop)) return;
    apply<true>(count, list, {elem_node, node_coord, fixed, v, u}, parameters, from, {how, elems, owned, y, vectors});
}

// y = x at fixed rows, 0 at the others; 0 at all without x.
KERNEL __launch_bounds__(THREADS) apply_begin(u64 rows, const u8* fixed, const double* x, const double* stop, double* y) {
    if (is_stopped(stop)) return;
    u64 row = thread_index();
    if (row < rows) y[row] = x != nullptr && __ldg(fixed + row) != 0 ? x[row] : 0;
}

// Each row sums its stored terms, elements ascending; fixed rows as in apply_begin.
KERNEL __launch_bounds__(THREADS)
    apply_gather(u64 rows, u64 elems, const u64* row_map, const u32* slots, const u8* fixed, const double* x,
                 const double* vectors, const double* stop, double* y) {
    if (is_stopped(stop)) return;
    u64 row = thread_index(), node = row / DOFS;
    if (row >= rows) return;
    double sum = 0;
    if (__ldg(fixed + row) != 0) {
        sum = x != nullptr ? x[row] : 0;
    } else {
        for (u64 i = __ldg(row_map + node), end = __ldg(row_map + node + 1); i < end; i++) {
            u32 slot = __ldg(slots + i);
            sum += __ldcs(vectors + u64(DOFS * (slot % NODES) + row % DOFS) * elems + slot / NODES);
        }
    }
    y[row] = sum;
}
