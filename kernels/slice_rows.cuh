// Sums of the rows of a slice, one lane per row. `columns` and `values` point to the first entry of the lane's row.

// Returns the sum of a row with listed columns. `columns` and `values` point to its first entry. All loads of a batch
// precede their use, so that latencies overlap.
template <int BATCH, class V, class X> INLINE double listed_sum(u32 width, const u32* columns, const V* values, X x) {
    double sum = 0;
    for (u32 k = 0; k < width; k += BATCH, columns += BATCH * SLICE, values += BATCH * SLICE) {
        u32 column[BATCH];
        V value[BATCH];
#pragma unroll
        for (int b = 0; b < BATCH; b++) {
            bool inside = k + b < width;
            column[b] = inside ? __ldcs(columns + b * SLICE) : NO_COLUMN;
            value[b] = inside ? __ldcs(values + b * SLICE) : V(0);
        }
#pragma unroll
        for (int b = 0; b < BATCH; b++) sum += double(value[b]) * (column[b] != NO_COLUMN ? x[column[b]] : 0.0);
    }
    return sum;
}

// Returns `sum` and the entries of a row by its slice's table. Padded entries have the value zero and a column clamped into the
// matrix. ONCE: no other row reads the values.
template <int BATCH, bool ONCE, class V, class X>
INLINE double table_sum(double sum, u32 width, u32 row, int last, const int* table, const V* values, X x) {
    for (u32 k = 0; k < width; k += BATCH, table += BATCH, values += BATCH * SLICE) {
        V value[BATCH];
        int column[BATCH];
#pragma unroll
        for (int b = 0; b < BATCH; b++) {
            bool inside = k + b < width;
            value[b] = inside ? ONCE ? __ldcs(values + b * SLICE) : __ldg(values + b * SLICE) : V(0);
            column[b] = inside ? most(least(int(row + u32(__ldg(table + b))), last), 0) : 0;
        }
#pragma unroll
        for (int b = 0; b < BATCH; b++) sum += double(value[b]) * (k + b < width ? x[u32(column[b])] : 0.0);
    }
    return sum;
}

// The parameters of a matrix. `walk` and the usual table are those of symmetric ones.
#define SLICES(V)                                                                                                            \
    u64 columns, u64 walk, const u64 *slice_offsets, const u64 *words, const int *offsets, const u32 *listed, const V *values,\
        const __grid_constant__ CommonTable usual
