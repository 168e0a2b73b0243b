// One contraction with its sizes known to the compiler, cells in lanes: for layouts that have cells side by side.
//
// LEFT, RIGHT fields, OUTER x MIDDLE x INNER terms, tiles of ROWS x COLUMNS outputs a thread, REAL. A thread keeps its sums
// in registers; all loops over a tile and, up to UNROLL terms, over k are unrolled, and the operands of the next term are on
// their way while the products of this one are added (AHEAD). Adds in the order of k: the bits of flat. Strides are as given.
// Bytes: left once for each column of tiles, right once for each row of tiles, out once.

template <int TILE, int FIELDS> INLINE void load(const Operand<REAL>& x, const REAL* row, int rows, REAL (&item)[TILE]) {
#pragma unroll
    for (int i = 0; i < TILE; ++i) item[i] = FIELDS % TILE == 0 || i < rows ? row[i * x.field] : REAL(0);
}

INLINE u64 offset(const Operand<REAL>& x, int k) {
    return k / (MIDDLE * INNER) * x.outer + k / INNER % MIDDLE * x.middle + k % INNER * x.inner;
}

INLINE void lanes(Sizes n, Operand<REAL> a, Operand<REAL> b, Output<REAL> out) {
    constexpr int TERMS = OUTER * MIDDLE * INNER;
    Place at = cells_in_lanes(thread_index(), (LEFT + ROWS - 1) / ROWS, (RIGHT + COLUMNS - 1) / COLUMNS);
    if (at.cell >= n.cells) return;
    int l = int(at.left) * ROWS, r = int(at.right) * COLUMNS, rows = LEFT - l, columns = RIGHT - r;
    const REAL *a0 = row(a, at.cell, l), *b0 = row(b, at.cell, r);
    REAL sums[ROWS][COLUMNS] = {}, x[ROWS], y[COLUMNS];
    if (AHEAD) load<ROWS, LEFT>(a, a0, rows, x), load<COLUMNS, RIGHT>(b, b0, columns, y);
#pragma unroll UNROLL
    for (int k = 0; k < TERMS; ++k) {
        REAL next_x[ROWS], next_y[COLUMNS];
        if (!AHEAD) {
            load<ROWS, LEFT>(a, a0 + offset(a, k), rows, x), load<COLUMNS, RIGHT>(b, b0 + offset(b, k), columns, y);
        } else if (k + 1 < TERMS) {
            load<ROWS, LEFT>(a, a0 + offset(a, k + 1), rows, next_x);
            load<COLUMNS, RIGHT>(b, b0 + offset(b, k + 1), columns, next_y);
        }
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) sums[i][j] += x[i] * y[j];
        }
        if (AHEAD && k + 1 < TERMS) {
#pragma unroll
            for (int i = 0; i < ROWS; ++i) x[i] = next_x[i];
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) y[j] = next_y[j];
        }
    }
    REAL* item = out.data + at.cell * out.cell + l * out.left + r * out.right;
#pragma unroll
    for (int i = 0; i < ROWS; ++i, item += out.left) {
        REAL old[COLUMNS];
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) old[j] = out.into && i < rows && j < columns ? item[j * out.right] : REAL(0);
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            if (i < rows && j < columns) put(out, item + j * out.right, old[j], sums[i][j]);
        }
    }
}

VARIANT(contract, REAL, THREADS, BLOCKS, (lanes(n, x, y, z)))
