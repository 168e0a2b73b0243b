// Elements of apply.cu, several per block of threads, axis by axis or by tables of their basis.

#if GROUP > 0

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
    int elems;
    __device__ __forceinline__ u64 at(int e) const { return first + e; }
};

#if EDGE > 0

constexpr int CUBE = EDGE * EDGE * EDGE;
// Values and derivatives of the functions of an edge, weights, order; the same in memory.
struct Tables {
    double values[EDGE][EDGE], slopes[EDGE][EDGE], weights[CUBE], order[CUBE];
};

// Number `which` of a place of an element of the block.
INLINE double& of(double* part, int which, int place, int e) { return part[(which * CUBE + place) * GROUP + e]; }

// Adds number `which` along an axis whose places are STRIDE apart: sum_i line[q][i] item(i) at the index q of a place, or with BACK
// sum_i line[i][q] item(i).
template <int STRIDE, bool BACK = false>
INLINE double along(const double (&line)[EDGE][EDGE], double* part, int which, int place, int e) {
    const int q = place / STRIDE % EDGE, first = place - STRIDE * q;
    double sum = 0;
#pragma unroll
    for (int i = 0; i < EDGE; i++) sum += (BACK ? line[i][q] : line[q][i]) * of(part, which, first + STRIDE * i, e);
    return sum;
}

template <bool RESIDUAL>
INLINE void compute(const Mine& mine, const Input& in, const Statement& equation, const Tables& tables, double* a, const Output& out) {
    constexpr int ALL = FIELDS<RESIDUAL>, X = 1, Y = EDGE, Z = EDGE * EDGE;
    const auto &values = tables.values, &slopes = tables.slopes;
    // Passes read one part of the memory and write the other: a has 2 numbers per field and place, b has 3.
    double* b = a + 2 * ALL * CUBE * GROUP;
    for_places(mine.elems, CUBE, [&](int e, int place) {
        u64 node = __ldg(in.elem_node + mine.at(e) * NODES + int(tables.order[place]));
#pragma unroll
        for (int f = 0; f < ALL; f++) of(b, f, place, e) = item_of<RESIDUAL>(in, node, f);
    });
    // Along x; then y; then z at the points, whose fluxes go to a.
    for_places(mine.elems, CUBE, [&](int e, int place) {
#pragma unroll
        for (int f = 0; f < ALL; f++) {
            of(a, 2 * f, place, e) = along<X>(values, b, f, place, e);
            of(a, 2 * f + 1, place, e) = along<X>(slopes, b, f, place, e);
        }
    });
    for_places(mine.elems, CUBE, [&](int e, int place) {
#pragma unroll
        for (int f = 0; f < ALL; f++) {
            of(b, 3 * f, place, e) = along<Y>(values, a, 2 * f + 1, place, e);
            of(b, 3 * f + 1, place, e) = along<Y>(slopes, a, 2 * f, place, e);
            of(b, 3 * f + 2, place, e) = along<Y>(values, a, 2 * f, place, e);
        }
    });
    for_places(mine.elems, CUBE, [&](int e, int place) {
        double at[ALL][TERMS], flux[DOFS][TERMS];
#pragma unroll
        for (int f = 0; f < ALL; f++) {
            at[f][0] = along<Z>(values, b, 3 * f, place, e);
            at[f][1] = along<Z>(values, b, 3 * f + 1, place, e);
            at[f][2] = along<Z>(slopes, b, 3 * f + 2, place, e);
            at[f][3] = along<Z>(values, b, 3 * f + 2, place, e);
        }
        at_point<RESIDUAL>(equation, tables.weights[place], at, flux);
#pragma unroll
        for (int c = 0; c < DOFS; c++)
#pragma unroll
            for (int k = 0; k < TERMS; k++) of(a, TERMS * c + k, place, e) = flux[c][k];
    });
    // Back along z, y and x.
    for_places(mine.elems, CUBE, [&](int e, int place) {
#pragma unroll
        for (int c = 0; c < DOFS; c++) {
            const int first = TERMS * c;
            of(b, 3 * c, place, e) = along<Z, true>(values, a, first, place, e);
            of(b, 3 * c + 1, place, e) = along<Z, true>(values, a, first + 1, place, e);
            of(b, 3 * c + 2, place, e) = along<Z, true>(slopes, a, first + 2, place, e) + along<Z, true>(values, a, first + 3, place, e);
        }
    });
    for_places(mine.elems, CUBE, [&](int e, int place) {
#pragma unroll
        for (int c = 0; c < DOFS; c++) {
            const int first = 3 * c;
            of(a, 2 * c, place, e) = along<Y, true>(slopes, b, first + 1, place, e) + along<Y, true>(values, b, first + 2, place, e);
            of(a, 2 * c + 1, place, e) = along<Y, true>(values, b, first, place, e);
        }
    });
    for_places(mine.elems, CUBE, [&](int e, int place) {
#pragma unroll
        for (int c = 0; c < DOFS; c++) {
            double sum = along<X, true>(values, a, 2 * c, place, e) + along<X, true>(slopes, a, 2 * c + 1, place, e);
            put(in, out, mine.at(e), int(tables.order[place]), c, sum);
        }
    });
}

template <bool RESIDUAL> constexpr int SHARED = 5 * FIELDS<RESIDUAL> * CUBE * GROUP;

#else

using Tables = Basis<NODES>;

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
INLINE void apply(const Input& in, const double* parameters, const double* from, const Output& out) {
    __shared__ Tables tables;
    __shared__ double numbers[SHARED<RESIDUAL>];
    load_tables(tables, from);
    u64 first = u64(blockIdx.x) * GROUP;
    Mine mine = {first, first < out.elems ? int(least(out.elems - first, u64(GROUP))) : 0};
    const Statement equation = *(const Statement*)parameters;
    compute<RESIDUAL>(mine, in, equation, tables, numbers, out);
}

#endif
