// Products of CRS matrices; twins of src/sparse/spmv/host.rs.
//
// LANES threads share a row (Hoemmen and Edwards, figure 24; 32 is one warp per row). Loads go out in batches, so that
// latencies overlap: first the columns and values of LANES * BATCH entries, then the items of x at these columns. ptxas
// keeps a batch together only if the launch bounds leave it enough registers; too few blocks, on the other hand, leave too
// few loads in flight. Chosen on an H200 for 27 entries per row: 8 lanes x 4 at full occupancy; 4 x 7 and fewer lanes with
// 64 registers and more. Longer rows loop.
//
// The order in which a row is summed depends on its length and LANES alone, so the bits are the same in every run.

constexpr int THREADS = 256;

typedef double f64;
typedef float f32;

// Returns the sum of `left` entries from `columns` and `values` on, in each of the row's LANES threads.
template <int LANES, int BATCH, class V, class X>
INLINE double row_sum(u32 left, const u32* columns, const V* values, X x) {
    constexpr u32 STEP = LANES * BATCH;
    u32 lane = threadIdx.x % LANES;
    columns += lane, values += lane;
    double sum = 0;
    while (true) {
        u32 column[BATCH];
        V value[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            bool inside = lane + k * LANES < left;
            column[k] = inside ? __ldg(columns + k * LANES) : 0;
            value[k] = inside ? __ldg(values + k * LANES) : V(0);
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            sum += double(value[k]) * (lane + k * LANES < left ? x[column[k]] : 0.0);
        }
        if (left <= STEP) break;
        left -= STEP, columns += STEP, values += STEP;
    }
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, step);
    return sum;
}

// Calls each(row, sum) in the first thread of each row up to `rows`. The tiles of a block, of THREADS / LANES rows, are gridDim.x tiles
// apart.
template <int LANES, int BATCH, class V, class X, class Each>
INLINE void tiles_of(u64 rows, const u64* row_map, const u32* entries, const V* values, X x, Each each) {
    constexpr int ROWS = THREADS / LANES;
    for (u64 tile = u64(blockIdx.x) * ROWS; tile < rows; tile += u64(gridDim.x) * ROWS) {
        u64 row = tile + threadIdx.x / LANES, start = 0;
        u32 length = 0;
        if (row < rows) start = __ldg(row_map + row), length = u32(__ldg(row_map + row + 1) - start);
        double sum = row_sum<LANES, BATCH>(length, entries + start, values + start, x);
        if (row < rows && threadIdx.x % LANES == 0) each(row, sum);
    }
}

// The same from this thread's `row` on, which ends at or after `end`, a whole number of tiles further on. Each thread counts its own
// rows: with a counter per block, ptxas moves the load of x for the dot before the shuffles, and the product takes 10 % longer on an
// H200.
template <int LANES, int BATCH, class V, class X, class Each>
INLINE void rows_of(u64& row, u64 end, u64 last, const u64* row_map, const u32* entries, const V* values, X x, Each each) {
    constexpr int ROWS = THREADS / LANES;
    for (const u64 step = u64(gridDim.x) * ROWS; row < end; row += step) {
        u64 start = 0;
        u32 length = 0;
        if (row < last) start = __ldg(row_map + row), length = u32(__ldg(row_map + row + 1) - start);
        double sum = row_sum<LANES, BATCH>(length, entries + start, values + start, x);
        if (row < last && threadIdx.x % LANES == 0) each(row, sum);
    }
}
// This thread's first row, and the end of the tiles of `rows` rows.
template <int LANES> INLINE u64 first_row() { return u64(blockIdx.x) * (THREADS / LANES) + threadIdx.x / LANES; }
template <int LANES> INLINE u64 end_of_tiles(u64 rows) {
    constexpr int ROWS = THREADS / LANES;
    return (rows + ROWS - 1) / ROWS * ROWS;
}

// y = A x
#define SPMV_OF(NAME, V, LANES, BATCH, BLOCKS)                                                                       \
    KERNEL __launch_bounds__(THREADS, BLOCKS) NAME(                                                                          \
        u64 rows, const u64* row_map, const u32* entries, const V* values, const double* x, double* y) {                     \
        tiles_of<LANES, BATCH>(rows, row_map, entries, values, Whole{x}, [&](u64 row, double sum) { y[row] = sum; });        \
    }

// y = A x over rows first..last; scalars[slot] = x.y, added to the value of the preceding rows, or summed over all ranks if
// `ranks` is not null. Does nothing once *stop is not 0.
#define SPMV_DOT_OF(NAME, V, LANES, BATCH, BLOCKS)                                                                           \
    KERNEL __launch_bounds__(THREADS, BLOCKS) NAME(                                                                          \
        u64 first, u64 last, const u64* row_map, const u32* entries, const V* values, const double* x, double* y,            \
        const double* stop, const u64* ranks, double* partials, u32 slot, double* scalars, u32* ticket) {                    \
        if (is_stopped(stop)) return;                                                                                        \
        double dot = 0, total;                                                                                               \
        u64 from = first + first_row<LANES>(), end = first + end_of_tiles<LANES>(last - first);                              \
        rows_of<LANES, BATCH>(from, end, last, row_map, entries, values, Whole{x},                                           \
                              [&](u64 row, double sum) { y[row] = sum, dot += sum * __ldg(x + row); });                      \
        if (grid_sum_of_ranks<THREADS>(dot, partials, ticket, ranks, total)) {                                               \
            scalars[slot] = first == 0 ? total : scalars[slot] + total;                                                      \
        }                                                                                                                    \
    }

// The same over all rows, with an exchange of the ghosts of x, which the rows from `interior` on read: sends, computes the other rows,
// waits. The sum has the same bits. All ranks stop at the same product, so a stopped one exchanges nothing.
#define SPMV_DOT_EXCHANGING_OF(NAME, V, LANES, BATCH, BLOCKS)                                                                \
    KERNEL __launch_bounds__(THREADS, BLOCKS) NAME(                                                                          \
        u64 interior, u64 rows, const u64* row_map, const u32* entries, const V* values, u64* exchange,                      \
        const double* x, double* y, const double* stop, const u64* ranks, double* partials, u32 slot, double* scalars,       \
        u32* ticket) {                                                                                                       \
        if (is_stopped(stop)) return;                                                                                        \
        Exchange& halo = *(Exchange*)exchange;                                                                               \
        halo.send(halo.last_turn() + 1, x);                                                                                  \
        constexpr u64 ROWS = THREADS / LANES;                                                                                \
        double dot = 0, total;                                                                                               \
        u64 from = first_row<LANES>(), end = end_of_tiles<LANES>(rows);                                                      \
        auto each = [&](u64 row, double sum) { y[row] = sum, dot += sum * __ldg(x + row); };                                 \
        rows_of<LANES, BATCH>(from, interior / ROWS * ROWS, rows, row_map, entries, values, Whole{x}, each);                 \
        if (from < end) {                                                                                                    \
            Split split{x, halo.wait(halo.last_turn() + 1), halo.owned};                                                     \
            rows_of<LANES, BATCH>(from, end, rows, row_map, entries, values, split, each);                                   \
        }                                                                                                                    \
        if (grid_sum_of_ranks<THREADS>(dot, partials, ticket, ranks, total)) {                                               \
            scalars[slot] = total;                                                                                           \
            halo.epoch += 1;                                                                                                 \
        }                                                                                                                    \
    }

// Names, then the type of values, threads per row, entries per batch and blocks per multiprocessor.
SPMV_OF(spmv_f64_1, f64, 1, 8, 4)
SPMV_OF(spmv_f64_2, f64, 2, 14, 3)
SPMV_OF(spmv_f64_4, f64, 4, 7, 4)
SPMV_OF(spmv_f64_8, f64, 8, 4, 6)
SPMV_OF(spmv_f64_16, f64, 16, 4, 6)
SPMV_OF(spmv_f64_32, f64, 32, 4, 8)
SPMV_DOT_OF(spmv_dot_f64_1, f64, 1, 8, 4)
SPMV_DOT_OF(spmv_dot_f64_2, f64, 2, 14, 3)
SPMV_DOT_OF(spmv_dot_f64_4, f64, 4, 7, 4)
SPMV_DOT_OF(spmv_dot_f64_8, f64, 8, 4, 6)
SPMV_DOT_OF(spmv_dot_f64_16, f64, 16, 4, 6)
SPMV_DOT_OF(spmv_dot_f64_32, f64, 32, 4, 8)
SPMV_DOT_EXCHANGING_OF(spmv_dot_exchanging_f64_1, f64, 1, 8, 4)
SPMV_DOT_EXCHANGING_OF(spmv_dot_exchanging_f64_2, f64, 2, 14, 3)
SPMV_DOT_EXCHANGING_OF(spmv_dot_exchanging_f64_4, f64, 4, 7, 4)
SPMV_DOT_EXCHANGING_OF(spmv_dot_exchanging_f64_8, f64, 8, 4, 6)
SPMV_DOT_EXCHANGING_OF(spmv_dot_exchanging_f64_16, f64, 16, 4, 6)
SPMV_DOT_EXCHANGING_OF(spmv_dot_exchanging_f64_32, f64, 32, 4, 8)
SPMV_OF(spmv_f32_1, f32, 1, 8, 4)
SPMV_OF(spmv_f32_2, f32, 2, 14, 3)
SPMV_OF(spmv_f32_4, f32, 4, 7, 4)
SPMV_OF(spmv_f32_8, f32, 8, 4, 6)
SPMV_OF(spmv_f32_16, f32, 16, 4, 6)
SPMV_OF(spmv_f32_32, f32, 32, 4, 8)
SPMV_DOT_OF(spmv_dot_f32_1, f32, 1, 8, 4)
SPMV_DOT_OF(spmv_dot_f32_2, f32, 2, 14, 3)
SPMV_DOT_OF(spmv_dot_f32_4, f32, 4, 7, 4)
SPMV_DOT_OF(spmv_dot_f32_8, f32, 8, 4, 6)
SPMV_DOT_OF(spmv_dot_f32_16, f32, 16, 4, 6)
SPMV_DOT_OF(spmv_dot_f32_32, f32, 32, 4, 8)
SPMV_DOT_EXCHANGING_OF(spmv_dot_exchanging_f32_1, f32, 1, 8, 4)
SPMV_DOT_EXCHANGING_OF(spmv_dot_exchanging_f32_2, f32, 2, 14, 3)
SPMV_DOT_EXCHANGING_OF(spmv_dot_exchanging_f32_4, f32, 4, 7, 4)
SPMV_DOT_EXCHANGING_OF(spmv_dot_exchanging_f32_8, f32, 8, 4, 6)
SPMV_DOT_EXCHANGING_OF(spmv_dot_exchanging_f32_16, f32, 16, 4, 6)
SPMV_DOT_EXCHANGING_OF(spmv_dot_exchanging_f32_32, f32, 32, 4, 8)
