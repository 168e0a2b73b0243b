// Operands of the contractions of kernel `intrepid` over a workset of cells, for any equation on elements of any type. The text in
// front is that of equation.cu, and
//     LEFT         whether cells are the fastest index of every array (Layout::Left), else the slowest one
//     REACTIONS    whether a source depends on the unknowns
//
// At point p of cell c, with phi and grad phi of node n, the unknown's components i of the test and j of the solution, and measure
// w det J:
//     gradients[c, n, p, a]              = d phi_n / d x_a                                      HGRAD transform, J^-T grad phi
//     slopes[i][c, (n, j), p, a]         = measure (d flux_ia / d grad u_j . grad phi_n + d flux_ia / d u_j phi_n)
//     reactions[i][c, (n, j), p]         = measure (d source_i / d grad u_j . grad phi_n + d source_i / d u_j phi_n)
//     fluxes[i][c, p, a]                 = measure flux_ia
//     sources[i][c, p]                   = measure source_i
// so that field_field_vector(gradients, slopes[i]) + field_field_scalar(phi, reactions[i]) are rows i of the element matrix, and
// data_field_vector(fluxes[i], gradients) + data_field_scalar(sources[i], phi) those of the residual.
//
// One thread per point. Heat on hex8: 480 numbers per cell, 3840 bytes; about 5 000 operations.

constexpr int COLUMNS = NODES * DOFS;

// Place of [cell, field, point, axis] in an array of FIELDS fields and AXES axes.
template <int FIELDS, int AXES> INLINE u64 place(u64 cells, u64 cell, int field, int point, int axis) {
    return LEFT ? cell + cells * (field + FIELDS * (point + POINTS * axis)) : ((cell * FIELDS + field) * POINTS + point) * AXES + axis;
}

KERNEL __launch_bounds__(THREADS)
    workset_operands(u64 count, u64 cells, const u32* elem_node, const double* node_coord, const double* solution,
                     const double* parameters, const double* from, double* gradients, double* slopes, double* reactions,
                     double* fluxes, double* sources) {
    const Statement equation = *(const Statement*)parameters;
    const Given none = {};
    each_point(count, elem_node, node_coord, solution, from, [&](const Tables& tables, u64 cell, int p, ElementNodes nodal) {
        const State at = state_at(tables, p, nodal, ElementGiven{none, elem_node, cell});
        Array<Weak<double>, DOFS> weak = equation.weak(at.where, at.u);
#pragma unroll
        for (int i = 0; i < DOFS; i++) {
#pragma unroll
            for (int a = 0; a < DIM; a++) {
                fluxes[i * cells * POINTS * DIM + place<1, DIM>(cells, cell, 0, p, a)] = at.measure * weak[i].flux[a];
            }
            sources[i * cells * POINTS + place<1, 1>(cells, cell, 0, p, 0)] = at.measure * weak[i].source;
        }
        each_slope<DOFS, HAS_SLOPES>(equation, at.where, at.u, [&](int i, int j, const Slope<double>& slope) {
#pragma unroll(COLUMNS <= 10 ? NODES : 3)
            for (int n = 0; n < NODES; n++) {
                // The gradient of phi and its value.
                double basis[TERMS] = {0, 0, 0, tables.basis[p][n][DIM]};
#pragma unroll
                for (int b = 0; b < DIM; b++)
#pragma unroll
                    for (int a = 0; a < DIM; a++) basis[a] += at.inverse[b][a] * tables.basis[p][n][b];
                const int column = DOFS * n + j;
#pragma unroll
                for (int a = 0; a < TERMS; a++) {
                    double sum = 0;
#pragma unroll
                    for (int k = 0; k < TERMS; k++) {
                        if (has(i, j, a, k)) sum += slope[a][k] * basis[k];
                    }
                    sum *= at.measure;
                    if (a < DIM) {
                        slopes[i * cells * COLUMNS * POINTS * DIM + place<COLUMNS, DIM>(cells, cell, column, p, a)] = sum;
                    } else if (REACTIONS) {
                        reactions[i * cells * COLUMNS * POINTS + place<COLUMNS, 1>(cells, cell, column, p, 0)] = sum;
                    }
                    if (a < DIM && i == 0 && j == 0) gradients[place<NODES, DIM>(cells, cell, n, p, a)] = basis[a];
                }
            }
        });
    });
}
