// Elements of apply.cu, one thread per element by tables of its basis.

#if GROUP == 0 && EDGE != 2

template <bool RESIDUAL>
INLINE void apply(const Input& in, const double* parameters, const double* from, const Output& out) {
    constexpr int ALL = FIELDS<RESIDUAL>;
    __shared__ Basis<NODES> tables;
    load_tables(tables, from);
    u64 elem = thread_index();
    if (elem >= out.elems) return;
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

#endif
