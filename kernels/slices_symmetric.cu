// Symmetric matrices in slices of 32 rows that store each pair of entries once. src/sparse/format/slices/sliced_operator.rs launches the products;
// sliced_ell.rs beside it says how they are laid out, and launches the others.
//
// A slice with a table stores the diagonal, the entries above it, and those below it that are not mirrored. Entry (row, row - o) is
// mirrored if both slices in which the partner rows row - o lie store the offset o: a product reads its value there, some rows
// after it was read for the partner's own product, and thus from the L1 or L2 cache. The table has the offsets of the stored
// entries, ascending, then for each mirrored entry MIRROR numbers: its offset, and the distance from the slice's first value to the
// values of its partners in either of the two slices, in units of 32 values. Slices without a table list the columns of all their
// entries.
//
// A row is summed in the order of the mirrored entries, then the stored ones, by ascending column each. Where all entries below the
// diagonal are mirrored, this is the order of all columns.

constexpr int WARPS = THREADS / WARP;

// Returns the sum of the mirrored entries of a row. `values` points to the slice's first value. All loads of a batch precede their
// use, so that latencies overlap.
template <int BATCH, class T, class V, class X> INLINE double mirrored_sum(u32 row, const T& table, const V* values, X x) {
    double sum = 0;
    for (u32 k = 0; k < table.mirrored; k += BATCH) {
        V value[BATCH];
        u32 column[BATCH];
#pragma unroll
        for (int b = 0; b < BATCH; b++) {
            bool inside = k + b < table.mirrored;
            int offset = inside ? table.offset(k + b) : 0;
            int distance = inside ? table.distance(k + b, row % SLICE + u32(offset) % SLICE >= SLICE) : 0;
            column[b] = row + u32(offset);
            value[b] = inside ? __ldg(values + (i64(distance) * SLICE + column[b] % SLICE)) : V(0);
        }
#pragma unroll
        for (int b = 0; b < BATCH; b++) sum += double(value[b]) * (k + b < table.mirrored ? x[column[b]] : 0.0);
    }
    return sum;
}

// Returns the sum of a row of a slice with the usual table. Its numbers come from the constant bank as operands of the arithmetic: as
// loads they take a quarter of the time of a product, which the L1 cache's throughput bounds.
template <class V, class X> INLINE double usual_sum(u32 row, int last, const CommonTable& table, const V* values, X x) {
    double sum = 0;
    V value[MOST_STORED];
#pragma unroll
    for (u32 k = 0; k < MOST_MIRRORED; k++) {
        int distance = row % SLICE + u32(table.offset[k]) % SLICE >= SLICE ? table.second[k] : table.first[k];
        const V* from = values + (i64(distance) * SLICE + (row + u32(table.offset[k])) % SLICE);
        value[k] = k < table.mirrored ? __ldg(from) : V(0);
    }
#pragma unroll
    for (u32 k = 0; k < MOST_MIRRORED; k++) {
        sum += double(value[k]) * (k < table.mirrored ? x[row + u32(table.offset[k])] : 0.0);
    }
    values += row % SLICE;
#pragma unroll
    for (u32 k = 0; k < MOST_STORED; k++) value[k] = k < table.width ? __ldg(values + k * SLICE) : V(0);
#pragma unroll
    for (u32 k = 0; k < MOST_STORED; k++) {
        u32 column = u32(most(least(int(row + u32(table.stored[k])), last), 0));
        sum += double(value[k]) * (k < table.width ? x[column] : 0.0);
    }
    return sum;
}

// A matrix, and how its rows are dealt to the blocks. A tile is WARPS slices whose rows are neighbours in other directions
// than their own, so that the warps of a block read items of x and values that other warps of the block read, too: either
// WARPS slices that lie `stride` slices apart, and `plane` is WARPS * stride; or half as many, and as many `plane` slices
// further on.
template <class V, int BATCH> struct Matrix {
    u64 columns;
    const u64 *slice_offsets, *words;
    const int* offsets;
    const u32* listed;
    const V* values;
    u32 stride, plane;
    const CommonTable& usual;

    __device__ __forceinline__ u32 warps_apart() const { return plane == WARPS * stride ? WARPS : WARPS / 2; }
    // Slices of a group, whose tiles follow each other, and their number.
    __device__ __forceinline__ u32 group() const { return plane * (WARPS / warps_apart()); }
    __device__ __forceinline__ u32 tiles_of_group() const { return plane / warps_apart(); }
    __device__ __forceinline__ u32 first(u64) const { return blockIdx.x; }
    // Number of tiles; the last ones may be in part beyond the end.
    __device__ __forceinline__ u32 end(u64 first, u64 last) const {
        return u32(((last - first + SLICE - 1) / SLICE + group() - 1) / group()) * tiles_of_group();
    }
    __device__ __forceinline__ u32 inside(u64 interior) const { return u32(interior / (u64(SLICE) * group())) * tiles_of_group(); }
    __device__ __forceinline__ bool is_before(u32 tile, u32 end) const { return tile < end; }
    // This thread's row in a tile of the rows from `first` on.
    __device__ __forceinline__ u64 row_of(u64 first, u32 tile) const {
        const u32 warp = threadIdx.x / WARP, apart = warps_apart(), group_of = tile / tiles_of_group();
        const u32 rest = tile - group_of * tiles_of_group(), block = rest / stride, within = rest - block * stride;
        const u32 slice = group_of * group() + warp / apart * plane + (block * apart + warp % apart) * stride + within;
        return first + u64(slice) * SLICE + lane_index();
    }
    template <class X> __device__ __forceinline__ double row_sum(u64 row, X x) const {
        u64 slice = row / SLICE, start = __ldg(slice_offsets + slice), word = __ldg(words + slice);
        if (word == usual.word) return usual_sum(u32(row), int(columns) - 1, usual, values + start, x);
        u32 width = u32((__ldg(slice_offsets + slice + 1) - start) / SLICE);
        if (word & LISTED) {
            return listed_sum<9>(width, listed + (word & ~LISTED) + lane_index(), values + start + lane_index(), x);
        }
        Table table(offsets, word, width);
        double sum = mirrored_sum<BATCH>(u32(row), table, values + start, x);
        return table_sum<BATCH, false>(sum, width, u32(row), int(columns) - 1, table.from, values + start + lane_index(), x);
    }
    template <class X, class Each>
    __device__ __forceinline__ void rows_of(u32& tile, u32 end, u64 first, u64 last, X x, Each each) const {
        for (; tile < end; tile += gridDim.x) {
            u64 row = row_of(first, tile);
            if (row < last) each(row, row_sum(row, x));
        }
    }
};

#define PRODUCTS_OF(PLAIN, DOT, EXCHANGING, V)                                                                               \
    PRODUCTS(PLAIN, DOT, EXCHANGING, 4,                                                                                      \
             (Matrix<V, 7>{columns, slice_offsets, words, offsets, listed, values, u32(walk), u32(walk >> 32), usual}), SLICES(V))

PRODUCTS_OF(symmetric_f64, symmetric_dot_f64, symmetric_dot_exchanging_f64, f64)
PRODUCTS_OF(symmetric_f32, symmetric_dot_f32, symmetric_dot_exchanging_f32, f32)

// Whether two entries differ by more than `most`. Two that are not finite do not: the solver reports them.
INLINE bool differ(double value, double partner, double most) {
    return (isfinite(value) || isfinite(partner)) && !(fabs(value - partner) <= most);
}

// faults[1] += entries below the diagonal whose partner is missing or differs by more than `tolerance` times the row's largest entry;
// faults[2] += entries above the diagonal, within the rows, less those below it. Partners are read where products read them, or
// else in CRS. One warp per slice, a lane per entry.
template <class V, class From>
INLINE void asymmetries(u64 rows, double tolerance, const u64* row_map, const u32* entries, const From* from,
                        const u64* slice_offsets, const u64* words, const int* offsets, const V* values, u64* faults) {
    const u64 slices = (rows + SLICE - 1) / SLICE;
    const u32 lane = lane_index();
    u64 wrong = 0, above = 0, below = 0;
    for (u64 slice = thread_index() / WARP; slice < slices; slice += thread_count() / WARP) {
        const u64 first = __ldg(slice_offsets + slice), word = __ldg(words + slice);
        const Table table(offsets, word, u32((__ldg(slice_offsets + slice + 1) - first) / SLICE));
        const u32 mirrored = word & LISTED ? 0 : table.mirrored;
        // A lane per entry of a row that has all offsets of the slice, those that are mirrored first.
        const u32 length = table.width + mirrored;
        const bool ordered = !(word & LISTED) && length <= WARP && mirrored > 0 && table.width > 0 && __ldg(table.from) >= 0;
        int offset = 0, first_slice = 0, second_slice = 0;
        if (ordered && lane < mirrored) {
            offset = table.offset(lane), first_slice = table.distance(lane, false), second_slice = table.distance(lane, true);
        } else if (ordered && lane < length) {
            offset = __ldg(table.from + (lane - mirrored));
        }
        const u64 end = least((slice + 1) * SLICE, rows);
#pragma unroll 4
        for (u64 row = slice * SLICE; row < end; row++) {
            const u64 start = __ldg(row_map + row), stop = __ldg(row_map + row + 1);
            if (!ordered || stop - start != length) continue;
            const double value = lane < length ? double(V(__ldg(from + start + lane))) : 0.0;
            double largest = warp_max(fabs(value)), partner = value;
            if (lane < mirrored) {
                int distance = u32(row) % SLICE + u32(offset) % SLICE >= SLICE ? second_slice : first_slice;
                partner = double(__ldg(values + (i64(first) + i64(distance) * SLICE + (u32(row) + u32(offset)) % SLICE)));
            }
            below += lane < mirrored;
            above += lane >= mirrored && lane < length && offset > 0 && u64(u32(row) + u32(offset)) < rows;
            largest = __shfl_sync(ALL_LANES, largest, 0);
            wrong += differ(value, partner, tolerance * largest);
        }
        for (u64 row = slice * SLICE; row < end; row++) {
            if (ordered && __ldg(row_map + row + 1) - __ldg(row_map + row) == length) continue;
            const u64 start = __ldg(row_map + row), stop = __ldg(row_map + row + 1);
            double largest = 0;
            for (u64 k = start + lane; k < stop; k += WARP) largest = most(largest, fabs(double(__ldg(from + k))));
            largest = __shfl_sync(ALL_LANES, warp_max(largest), 0);
            for (u64 k = start + lane; k < stop; k += WARP) {
                const u32 column = __ldg(entries + k);
                if (column >= rows || column == row) continue;
                (column < row ? below : above)++;
                if (column > row) continue;
                const double value = double(V(__ldg(from + k)));
                const int offset = int(column - u32(row));
                const u32 at = mirrored == 0 ? 0 : table.mirror_of(offset);
                double partner;
                if (at < mirrored && table.offset(at) == offset) {
                    partner = double(__ldg(values + (i64(first) + i64(table.distance_of(at, u32(row))) * SLICE + column % SLICE)));
                } else {
                    const u64 low = __ldg(row_map + column), end = __ldg(row_map + column + 1);
                    const u64 at = low + lower_bound(entries + low, u32(end - low), u32(row));
                    if (at == end || __ldg(entries + at) != row) {
                        wrong++;
                        continue;
                    }
                    partner = double(V(__ldg(from + at)));
                }
                wrong += differ(value, partner, tolerance * largest);
            }
        }
    }
    wrong = warp_sum(wrong), above = warp_sum(above - below);
    if (lane == 0 && wrong != 0) atomicAdd(faults + 1, wrong);
    if (lane == 0 && above != 0) atomicAdd(faults + 2, above);
}
#define ASYMMETRIES(NAME, V, FROM)                                                                                           \
    KERNEL __launch_bounds__(THREADS, 4)                                                                                     \
        NAME(u64 rows, double tolerance, const u64* row_map, const u32* entries, const FROM* from, const u64* slice_offsets, \
             const u64* words, const int* offsets, const V* values, u64* faults) {                                           \
        asymmetries(rows, tolerance, row_map, entries, from, slice_offsets, words, offsets, values, faults);                 \
    }
ASYMMETRIES(asymmetries_f64, f64, f64)
ASYMMETRIES(asymmetries_f32, f32, f32)
ASYMMETRIES(asymmetries_single, f32, f64)
