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
