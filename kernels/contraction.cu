// The nine contractions: out[c, l, r] = or += sum_k left[c, l, k] right[c, r, k]; launched by src/contraction/cuda/.
//
// k runs over three nested extents in the order (p, i, j). Each output adds its products in this order, so the result does
// not depend on the grid. Any strides. A variant is a template over the structs of contraction.cuh and its `VARIANT` lines
// at the end. Bytes: each output is written once; each input is read once from memory if the caches hold the active cells.

// One thread per output.
template <class T> INLINE void flat(Sizes n, bool by_cells, Operand<T> a, Operand<T> b, Output<T> out) {
    Place at = by_cells ? cells_in_lanes(thread_index(), n.left, n.right) : outputs_in_lanes(thread_index(), n.left, n.right);
    if (at.cell >= n.cells) return;
    finish(out, at.cell, at.left, at.right, dot(n, a, row(a, at.cell, at.left), b, row(b, at.cell, at.right)));
}

// One thread per tile of BL x BR outputs of a cell, with the sums in registers and cells in lanes. A tile that crosses the
// edge computes with zeros there. BL + BR loads are in flight while BL BR products are added.
template <int BL, int BR, class T> INLINE void tiled(Sizes n, Operand<T> a, Operand<T> b, Output<T> out) {
    Place at = cells_in_lanes(thread_index(), (n.left + BL - 1) / BL, (n.right + BR - 1) / BR);
    if (at.cell >= n.cells) return;
    u64 l = at.left * BL, r = at.right * BR;
    int rows = int(least(u64(BL), n.left - l)), columns = int(least(u64(BR), n.right - r));
    const T *a0 = a.data + at.cell * a.cell + l * a.field, *b0 = b.data + at.cell * b.cell + r * b.field;
    T sums[BL][BR] = {};
    for (u64 p = 0; p < n.outer; ++p, a0 += a.outer, b0 += b.outer) {
        const T *a1 = a0, *b1 = b0;
        for (u64 i = 0; i < n.middle; ++i, a1 += a.middle, b1 += b.middle) {
            const T *a2 = a1, *b2 = b1;
#pragma unroll 1
            for (u64 j = 0; j < n.inner; ++j, a2 += a.inner, b2 += b.inner) {
                T x[BL], y[BR];
                const T *ax = a2, *by = b2;
#pragma unroll
                for (int i = 0; i < BL; ++i, ax += a.field) x[i] = i < rows ? *ax : T(0);
#pragma unroll
                for (int i = 0; i < BR; ++i, by += b.field) y[i] = i < columns ? *by : T(0);
#pragma unroll
                for (int i = 0; i < BL; ++i) {
#pragma unroll
                    for (int j = 0; j < BR; ++j) sums[i][j] += x[i] * y[j];
                }
            }
        }
    }
    put_tile(out, at.cell, l, r, rows, columns, sums);
}

// A nonzero `option` of flat puts cells in lanes. flat: 6 blocks of 256 (40 registers) hide the latency of the two to eight
// loads of each thread. Tiles: as many blocks of 128 as leave room in registers for the sums and the operands of a step (an
// f64 takes two), so that nothing spills and the loads are in flight together.
VARIANTS(flat_f32, flat_f64, 256, 6, 6, (flat(n, option != 0, x, y, z)))
VARIANTS(tiled_1x8_f32, tiled_1x8_f64, 128, 8, 8, (tiled<1, 8>(n, x, y, z)))
VARIANTS(tiled_4x4_f32, tiled_4x4_f64, 128, 8, 5, (tiled<4, 4>(n, x, y, z)))
VARIANTS(tiled_8x8_f32, tiled_8x8_f64, 128, 3, 2, (tiled<8, 8>(n, x, y, z)))
