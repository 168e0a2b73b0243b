// Products of CRS matrices; twins of src/sparse/spmv/host.rs.
//
// LANES threads share a row (Hoemmen and Edwards, figure 24; 32 is one warp per row). Loads go out in batches, so that
// latencies overlap: first the columns and values of LANES * BATCH entries, then the items of x at these columns. ptxas
// keeps a batch together only if the launch bounds leave it enough registers; too few blocks, on the other hand, leave too
// few loads in flight. Chosen on an H200 for 27 entries per row: 8 lanes x 4 at full occupancy; 4 x 7 and fewer lanes with
// 64 registers and more. Longer rows loop.
//
// The order in which a row is summed depends on its length and LANES alone, so the bits are the same in every run.

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

// A matrix in CRS. A tile is THREADS / LANES rows; the tiles of a block are gridDim.x tiles apart.
template <class V, int LANES, int BATCH> struct Crs {
    static constexpr u64 ROWS = THREADS / LANES;
    const u64* row_map;
    const u32* entries;
    const V* values;

    __device__ __forceinline__ u64 first(u64 row) const { return row + (blockIdx.x * ROWS + threadIdx.x / LANES); }
    __device__ __forceinline__ u64 end(u64 first, u64 last) const { return first + (last - first + ROWS - 1) / ROWS * ROWS; }
    __device__ __forceinline__ u64 inside(u64 interior) const { return interior / ROWS * ROWS; }
    __device__ __forceinline__ bool is_before(u64 row, u64 end) const { return row < end; }
    template <class X, class Each> __device__ __forceinline__ void one_row(u64 row, u64 last, X x, Each each) const {
        u64 start = 0;
        u32 length = 0;
        if (row < last) start = __ldg(row_map + row), length = u32(__ldg(row_map + row + 1) - start);
        double sum = row_sum<LANES, BATCH>(length, entries + start, values + start, x);
        if (row < last && threadIdx.x % LANES == 0) each(row, sum);
    }
    // Each thread counts its own rows: with a counter per block, ptxas moves the load of x for the dot before the shuffles, and the
    // product takes 10 % longer on an H200.
    template <class X, class Each>
    __device__ __forceinline__ void rows_of(u64& row, u64 end, u64, u64 last, X x, Each each) const {
        for (const u64 step = gridDim.x * ROWS; row < end; row += step) one_row(row, last, x, each);
    }
};

// Without a dot, with a counter per block.
template <class V, int LANES, int BATCH>
INLINE void multiply(const Crs<V, LANES, BATCH>& a, u64 rows, const double* x, double* y) {
    for (u64 tile = blockIdx.x * a.ROWS; tile < rows; tile += gridDim.x * a.ROWS) {
        a.one_row(tile + threadIdx.x / LANES, rows, Whole{x}, [&](u64 row, double sum) { y[row] = sum; });
    }
}

#define PRODUCTS_OF(PLAIN, DOT, EXCHANGING, V, LANES, BATCH, BLOCKS)                                                         \
    PRODUCTS(PLAIN, DOT, EXCHANGING, BLOCKS, (Crs<V, LANES, BATCH>{row_map, entries, values}), const u64* row_map,           \
             const u32* entries, const V* values)

// Names, then the type of values, threads per row, entries per batch and blocks per multiprocessor.
PRODUCTS_OF(spmv_f64_1, spmv_dot_f64_1, spmv_dot_exchanging_f64_1, f64, 1, 8, 4)
PRODUCTS_OF(spmv_f64_2, spmv_dot_f64_2, spmv_dot_exchanging_f64_2, f64, 2, 14, 3)
PRODUCTS_OF(spmv_f64_4, spmv_dot_f64_4, spmv_dot_exchanging_f64_4, f64, 4, 7, 4)
PRODUCTS_OF(spmv_f64_8, spmv_dot_f64_8, spmv_dot_exchanging_f64_8, f64, 8, 4, 6)
PRODUCTS_OF(spmv_f64_16, spmv_dot_f64_16, spmv_dot_exchanging_f64_16, f64, 16, 4, 6)
PRODUCTS_OF(spmv_f64_32, spmv_dot_f64_32, spmv_dot_exchanging_f64_32, f64, 32, 4, 8)
PRODUCTS_OF(spmv_f32_1, spmv_dot_f32_1, spmv_dot_exchanging_f32_1, f32, 1, 8, 4)
PRODUCTS_OF(spmv_f32_2, spmv_dot_f32_2, spmv_dot_exchanging_f32_2, f32, 2, 14, 3)
PRODUCTS_OF(spmv_f32_4, spmv_dot_f32_4, spmv_dot_exchanging_f32_4, f32, 4, 7, 4)
PRODUCTS_OF(spmv_f32_8, spmv_dot_f32_8, spmv_dot_exchanging_f32_8, f32, 8, 4, 6)
PRODUCTS_OF(spmv_f32_16, spmv_dot_f32_16, spmv_dot_exchanging_f32_16, f32, 16, 4, 6)
PRODUCTS_OF(spmv_f32_32, spmv_dot_f32_32, spmv_dot_exchanging_f32_32, f32, 32, 4, 8)
