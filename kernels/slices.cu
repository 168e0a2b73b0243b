// Matrices in slices of 32 rows (sliced ELL, SELL-32: Kreutzer et al. 2014), as slice_layout.cu lays them out. Entry k of row l of a
// slice is at slice_offsets[slice] + 32 k + l, so the lanes of a warp, one per row, read neighbouring values. Shorter rows are
// padded with zeros.
//
// Columns are stored in one of two ways. If `words[slice]` has the bit LISTED, each entry has a column, from the rest of
// the word on. Otherwise the slice has one table of column - row, the union over its rows, from offsets[word] on, and
// slices with equal tables share one. A product then reads little more than the values: 8.6 bytes per entry of a box
// instead of 12.

// Warps per block of the kernel that moves CRS values into slices (shared memory: 41 KB).
constexpr int WARPS = 4;

// A row of a slice, as seen by one lane of its warp. Rows past the end are empty.
struct Row {
    u64 start = 0;
    u32 length = 0;
    __device__ Row(u64 slice, u64 rows, const u64* row_map) {
        u64 row = slice * SLICE + lane_index();
        if (row < rows) start = __ldg(row_map + row), length = u32(__ldg(row_map + row + 1) - start);
    }
};

// Rounds a value to the type in which it is stored, and counts those that are finite and too large for it.
template <class V, class From> INLINE V stored(From value, u64* overflows) {
    V rounded = V(value);
    if constexpr (sizeof(V) < sizeof(From)) {
        if (isinf(rounded) && !isinf(value)) atomicAdd(overflows, 1ull);
    }
    return rounded;
}

// values = those of the CRS matrix in the order of the slices. A warp transposes a slice in shared memory, so that it reads
// and writes whole cache lines. Tables of halves lack the entries that other rows store. *overflows += values too large for V.
template <class V, class From>
INLINE void update(u64 rows, const u64* row_map, const u32* entries, const From* from, const u64* slice_offsets, const u64* words,
                   const int* offsets, V* values, u64* overflows) {
    __shared__ V tiles[WARPS][SLICE][WIDEST + 1];
    __shared__ int tables[WARPS][WIDEST];
    u32 lane = lane_index(), warp = threadIdx.x / WARP;
    auto& tile = tiles[warp];
    auto& table = tables[warp];
    u64 slices = (rows + SLICE - 1) / SLICE;
    for (u64 slice = u64(blockIdx.x) * WARPS + warp; slice < slices; slice += u64(gridDim.x) * WARPS) {
        Row row(slice, rows, row_map);
        u64 out = slice_offsets[slice], word = words[slice];
        u32 width = u32((slice_offsets[slice + 1] - out) / SLICE);
        bool listed = word & LISTED;
        u32 piece = listed ? WARP : WIDEST;
        // Rows with all offsets of the slice need no search, if those that other rows store are the first ones.
        u32 mirrored = listed ? 0 : u32(word >> MIRRORED);
        bool ordered = !listed && (mirrored == 0 || (width > 0 && __ldg(offsets + (word & TABLE)) >= 0));
        for (u32 first = 0; first < width; first += piece) {
            if (!listed) {
                for (u32 k = lane; k < width; k += WARP) {
                    table[k] = __ldg(offsets + (word & TABLE) + k);
                    for (int l = 0; l < SLICE; l++) tile[l][k] = 0;
                }
                __syncwarp();
            }
#pragma unroll 4
            for (int l = 0; l < SLICE; l++) {
                u64 start = __shfl_sync(ALL_LANES, row.start, l);
                u32 length = __shfl_sync(ALL_LANES, row.length, l);
                if (listed) {
                    tile[l][lane] = first + lane < length ? stored<V>(__ldg(from + start + first + lane), overflows) : V(0);
                } else if (ordered && length == width + mirrored) {
                    for (u32 k = mirrored + lane; k < length; k += WARP) {
                        tile[l][k - mirrored] = stored<V>(__ldg(from + start + k), overflows);
                    }
                } else {
                    for (u32 k = lane; k < length; k += WARP) {
                        i64 offset = i64(__ldg(entries + start + k)) - i64(slice * SLICE + l);
                        u32 place = place_of(offset, table, width);
                        if (place == width || table[place] != offset) continue;
                        tile[l][place] = stored<V>(__ldg(from + start + k), overflows);
                    }
                }
            }
            __syncwarp();
            u32 here = least(piece, width - first);
            for (u32 k = 0; k < here; k++) values[out + u64(first + k) * SLICE + lane] = tile[lane][k];
            __syncwarp();
        }
    }
}

template <class V> struct Matrix {
    u64 columns;
    const u64 *slice_offsets, *words;
    const int* offsets;
    const u32* listed;
    const V* values;

    __device__ __forceinline__ u64 first(u64 row) const { return row + thread_index(); }
    __device__ __forceinline__ u64 end(u64, u64 last) const { return last; }
    __device__ __forceinline__ u64 inside(u64 interior) const { return interior / THREADS * THREADS; }
    __device__ __forceinline__ bool is_before(u64 row, u64 end) const { return row - threadIdx.x < end; }
    // Slices begin at multiples of 32.
    template <class X, class Each> __device__ __forceinline__ void rows_of(u64& row, u64 end, u64, u64, X x, Each each) const {
        for (; row < end; row += thread_count()) {
            u64 slice = row / SLICE, start = __ldg(slice_offsets + slice), word = __ldg(words + slice);
            u32 width = u32((__ldg(slice_offsets + slice + 1) - start) / SLICE);
            const V* own = values + start + lane_index();
            if (!(word & LISTED)) {
                each(row, table_sum<14, true>(0, width, u32(row), int(columns) - 1, offsets + word, own, x));
            } else {
                each(row, listed_sum<9>(width, listed + (word & ~LISTED) + lane_index(), own, x));
            }
        }
    }
};

// 4 blocks: 64 registers per thread keep the loads of a batch together. Without the bound ptxas allots 32 and splits the batch: 0.90
// instead of 1.04 of the copy bandwidth on an H200.
#define PRODUCTS_OF(PLAIN, DOT, EXCHANGING, V)                                                                               \
    PRODUCTS(PLAIN, DOT, EXCHANGING, 4, (Matrix<V>{columns, slice_offsets, words, offsets, listed, values}), SLICES(V))

#define UPDATE(NAME, V, FROM)                                                                                                \
    KERNEL __launch_bounds__(WARPS * WARP, 5)                                                                                \
        NAME(u64 rows, const u64* row_map, const u32* entries, const FROM* from, const u64* slice_offsets, const u64* words, \
             const int* offsets, V* values, u64* overflows) {                                                                \
        update(rows, row_map, entries, from, slice_offsets, words, offsets, values, overflows);                              \
    }

PRODUCTS_OF(pattern_f64, pattern_dot_f64, pattern_dot_exchanging_f64, f64)
PRODUCTS_OF(pattern_f32, pattern_dot_f32, pattern_dot_exchanging_f32, f32)
UPDATE(update_f64, f64, f64)
UPDATE(update_f32, f32, f32)
UPDATE(update_single, f32, f64)

// to = from, rounded to 24 bits. *overflows += values too large, unless `overflows` is null.
KERNEL __launch_bounds__(THREADS) to_single(u64 n, const double* from, float* to, u64* overflows) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        double value = __ldcs(from + i);
        to[i] = overflows == nullptr ? float(value) : stored<float>(value, overflows);
    }
}
