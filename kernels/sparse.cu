// Products of CRS matrices; twins of src/sparse/spmv/host.rs.
//
// LANES threads share a row (Hoemmen and Edwards, figure 24; 32 is one warp per row). Loads go out in batches, so that
// latencies overlap: first the columns and values of LANES * BATCH entries, then the items of x at these columns. ptxas
// keeps a batch together only if the launch bounds leave it enough registers; too few blocks, on the other hand, leave too
// few loads in flight. Chosen on an H200 for 27 entries per row: 8 lanes x 4 at full occupancy; 4 x 7 and fewer lanes with
// 64 registers and more. Longer rows loop.
//
// A warp per row means here: each row is summed by a warp, and the warp has several rows in flight (CrsInFlight). A warp that finishes one
// row before it begins the next has too few loads in flight: at 256^3 on an H200 its product takes 3.41 to 3.66 ms; 8 lanes take 1.44.
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

// A matrix in CRS whose rows are walked FLIGHT at a time by LANES threads. A tile is THREADS / LANES * FLIGHT rows; the tiles of a block
// are gridDim.x tiles apart.
//
// Every row is still summed by all LANES threads, one entry each; longer rows loop. The offsets of the next rows but one, the columns
// and values of the next rows, and the items of x for these rows are on their way at the same time. Then the FLIGHT sums are merged: in
// each step half of the threads give away half of the rows, so FLIGHT = 4 takes 6 exchanges instead of 20. Each row's additions are
// those of row_sum.
template <class V, int LANES, int FLIGHT> struct CrsInFlight {
    static constexpr u64 ROWS = THREADS / LANES * FLIGHT;
    static constexpr u32 NONE = 0xffffffffu, SHARE = LANES / FLIGHT;
    const u64* row_map;
    const u32* entries;
    const V* values;

    // One entry of each row.
    struct Entries {
        u32 column[FLIGHT];
        V value[FLIGHT];
    };

    __device__ __forceinline__ u64 first(u64 row) const { return row + (blockIdx.x * ROWS + threadIdx.x / LANES * FLIGHT); }
    __device__ __forceinline__ u64 end(u64 first, u64 last) const { return first + (last - first + ROWS - 1) / ROWS * ROWS; }
    __device__ __forceinline__ u64 inside(u64 interior) const { return interior / ROWS * ROWS; }
    __device__ __forceinline__ bool is_before(u64 row, u64 end) const { return row < end; }

    // In lane k, where row + k begins; rows from `last` on are empty.
    __device__ __forceinline__ u64 offsets(u64 row, u64 last) const {
        return __ldg(row_map + least(row + least(threadIdx.x % LANES, u32(FLIGHT)), last));
    }
    // This thread's entry of each row that begins at `offsets`: the one with number `from` + lane in its row.
    __device__ __forceinline__ Entries load(u64 offsets, u32 from) const {
        const u64 base = __shfl_sync(ALL_LANES, offsets, 0, LANES);
        const u32 from_base = u32(offsets - base);
        u32 at = from + threadIdx.x % LANES, begin = 0;
        Entries loaded;
#pragma unroll
        for (int r = 0; r < FLIGHT; r++) {
            const u32 next = __shfl_sync(ALL_LANES, from_base, r + 1, LANES);
            const bool is_there = begin + at < next;
            loaded.column[r] = is_there ? __ldcs(entries + (base + (begin + at))) : NONE;
            loaded.value[r] = is_there ? __ldcs(values + (base + (begin + at))) : V(0);
            begin = next;
        }
        return loaded;
    }
    // Returns the sum of row lane / SHARE over the row's threads.
    static __device__ __forceinline__ double merged(double (&sum)[FLIGHT]) {
        int step = LANES / 2;
#pragma unroll
        for (int half = FLIGHT / 2; half > 0; half /= 2, step /= 2) {
            const bool upper = threadIdx.x & step;
#pragma unroll
            for (int r = 0; r < half; r++) {
                const double given = upper ? sum[r] : sum[r + half], kept = upper ? sum[r + half] : sum[r];
                sum[r] = kept + __shfl_xor_sync(ALL_LANES, given, step);
            }
        }
#pragma unroll
        for (; step > 0; step /= 2) sum[0] += __shfl_xor_sync(ALL_LANES, sum[0], step);
        return sum[0];
    }
    template <class X, class Each>
    __device__ __forceinline__ void rows_of(u64& row, u64 end, u64, u64 last, X x, Each each) const {
        const u64 step = gridDim.x * ROWS;
        const u32 lane = threadIdx.x % LANES;
        u64 next = offsets(row, last), after = offsets(row + step, last);
        Entries loaded = load(next, 0);
        for (; row < end; row += step) {
            double sum[FLIGHT];
            const Entries now = loaded;
            const u64 these = next;
#pragma unroll
            for (int r = 0; r < FLIGHT; r++) sum[r] = now.column[r] != NONE ? x[now.column[r]] : 0.0;
            next = after, after = offsets(row + 2 * step, last);
            loaded = load(next, 0);
#pragma unroll
            for (int r = 0; r < FLIGHT; r++) sum[r] *= double(now.value[r]);
            const u64 ends = __shfl_down_sync(ALL_LANES, these, 1), length = lane < FLIGHT ? ends - these : 0;
            for (u32 from = LANES; __any_sync(ALL_LANES, length > from); from += LANES) {
                const Entries more = load(these, from);
#pragma unroll
                for (int r = 0; r < FLIGHT; r++) {
                    if (more.column[r] != NONE) sum[r] += double(more.value[r]) * x[more.column[r]];
                }
            }
            const double total = merged(sum);
            if (lane % SHARE == 0 && row + lane / SHARE < last) each(row + lane / SHARE, total);
        }
    }
};

#define PRODUCTS_IN_CRS(STORAGE, PLAIN, DOT, EXCHANGING, V, LANES, COUNT, BLOCKS)                                            \
    PRODUCTS(PLAIN, DOT, EXCHANGING, BLOCKS, (STORAGE<V, LANES, COUNT>{row_map, entries, values}), const u64* row_map,       \
             const u32* entries, const V* values)
#define PRODUCTS_OF(...) PRODUCTS_IN_CRS(Crs, __VA_ARGS__)

// Names, then the type of values, threads per row, entries per batch and blocks per multiprocessor.
PRODUCTS_OF(spmv_f64_1, spmv_dot_f64_1, spmv_dot_exchanging_f64_1, f64, 1, 8, 4)
PRODUCTS_OF(spmv_f64_2, spmv_dot_f64_2, spmv_dot_exchanging_f64_2, f64, 2, 14, 3)
PRODUCTS_OF(spmv_f64_4, spmv_dot_f64_4, spmv_dot_exchanging_f64_4, f64, 4, 7, 4)
PRODUCTS_OF(spmv_f64_8, spmv_dot_f64_8, spmv_dot_exchanging_f64_8, f64, 8, 4, 6)
PRODUCTS_OF(spmv_f64_16, spmv_dot_f64_16, spmv_dot_exchanging_f64_16, f64, 16, 4, 6)
PRODUCTS_OF(spmv_f32_1, spmv_dot_f32_1, spmv_dot_exchanging_f32_1, f32, 1, 8, 4)
PRODUCTS_OF(spmv_f32_2, spmv_dot_f32_2, spmv_dot_exchanging_f32_2, f32, 2, 14, 3)
PRODUCTS_OF(spmv_f32_4, spmv_dot_f32_4, spmv_dot_exchanging_f32_4, f32, 4, 7, 4)
PRODUCTS_OF(spmv_f32_8, spmv_dot_f32_8, spmv_dot_exchanging_f32_8, f32, 8, 4, 6)
PRODUCTS_OF(spmv_f32_16, spmv_dot_f32_16, spmv_dot_exchanging_f32_16, f32, 16, 4, 6)

// The same with rows in flight instead of entries per batch; Lanes::tile has that number, too.
PRODUCTS_IN_CRS(CrsInFlight, spmv_f64_32, spmv_dot_f64_32, spmv_dot_exchanging_f64_32, f64, 32, 4, 4)
PRODUCTS_IN_CRS(CrsInFlight, spmv_f32_32, spmv_dot_f32_32, spmv_dot_exchanging_f32_32, f32, 32, 4, 4)

// The rows of a group in sweeps by the triangles of a matrix (src/sparse/sweep): `count` rows from place `first` on, SHARED threads each.
// Items of y that a sum reads belong to other groups, which no thread of the launch writes.
constexpr int SHARED = 4;

template <class Each>
INLINE void group(u64 first, u64 count, const u64* row_map, const u32* entries, const double* values, const double* y, Each each) {
    const u64 at = thread_index() / SHARED, place = first + at;
    u64 start = 0;
    u32 length = 0;
    if (at < count) start = __ldg(row_map + place), length = u32(__ldg(row_map + place + 1) - start);
    const double sum = row_sum<SHARED, 4>(length, entries + start, values + start, y);
    if (at < count && threadIdx.x % SHARED == 0) each(place, sum);
}

// y_p = (r_i - L_p y) / d_p at place p of row i.
KERNEL __launch_bounds__(THREADS)
    sweep_forward(u64 first, u64 count, const u64* row_map, const u32* entries, const double* values, const double* inverse,
                  const u32* rows, const double* r, double* y) {
    group(first, count, row_map, entries, values, y,
          [&](u64 place, double sum) { y[place] = (__ldg(r + __ldg(rows + place)) - sum) * __ldg(inverse + place); });
}

// z_i = y_p -= U_p y / d_p
KERNEL __launch_bounds__(THREADS)
    sweep_backward(u64 first, u64 count, const u64* row_map, const u32* entries, const double* values, const double* inverse,
                   const u32* rows, double* y, double* z) {
    group(first, count, row_map, entries, values, y, [&](u64 place, double sum) {
        z[__ldg(rows + place)] = y[place] -= sum * __ldg(inverse + place);
    });
}
