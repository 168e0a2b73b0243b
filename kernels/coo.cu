// Plans of sums of index pairs (COO), and the sums; twins of src/fill/coo/plan.rs and sums.rs, launched by src/fill/coo/cuda.rs.
//
// Value k is entry b of slot k / WIDTH, where WIDTH is the number of columns of an element. Slot s is row i[s] of element
// s / HEIGHT, where HEIGHT is the number of its rows. A list of pairs has elements of one row and one column.
//
// Two stable radix sorts, by column and then by row, bring the values into the order of the entries; values of one entry stay in
// the order of the input, so that each entry has the bits of the host's sum.

constexpr u32 THREADS = 256;

// keys[k] = (column, k), or (columns, k) for an ignored pair, which has a negative index. outside[0] and outside[1] become the
// first place in `i` and in `j` with an index above the last row or column; they are all ones on entry.
template <class Index>
INLINE void column_keys(u64 n, u32 height, u32 width, u64 rows, u64 columns, const Index* i, const Index* j, u64* keys,
                        u64* outside) {
    u64 k = thread_index();
    if (k >= n) return;
    u64 slot = k / width, at = slot / height * width + (k - slot * width);
    i64 row = __ldg(i + slot), column = __ldg(j + at);
    if (row >= i64(rows)) atomicMin(outside, slot);
    if (column >= i64(columns)) atomicMin(outside + 1, at);
    keys[k] = (row < 0 || column < 0 ? columns : u64(column)) << 32 | k;
}
#define COLUMN_KEYS(name, Index)                                                                                             \
    KERNEL __launch_bounds__(THREADS) name(u64 n, u32 height, u32 width, u64 rows, u64 columns, const Index* i,              \
                                           const Index* j, u64* keys, u64* outside) {                                        \
        column_keys(n, height, width, rows, columns, i, j, keys, outside);                                                   \
    }
COLUMN_KEYS(column_keys_i32, int)
COLUMN_KEYS(column_keys_u32, u32)

// Replaces each key (column, k) by (row, k); an ignored pair gets row `rows`, behind all others. A row that is not ignored is not
// negative, so that both index types have the same bits.
KERNEL __launch_bounds__(THREADS) row_keys(u64 n, u32 width, u64 rows, u64 columns, const u32* i, u64* keys) {
    u64 at = thread_index();
    if (at >= n) return;
    u64 key = keys[at], k = u32(key);
    keys[at] = (key >> 32 == columns ? rows : u64(__ldg(i + k / width))) << 32 | k;
}

// starts[row] = number of keys before the row's first key, rows + 1 of them; by binary search.
KERNEL __launch_bounds__(THREADS) starts_of_rows(u64 rows, u64 n, const u64* keys, u32* starts) {
    u64 row = thread_index();
    if (row <= rows) starts[row] = u32(lower_bound(keys, n, row << 32));
}

// order[at] = value or slot of a sorted key.
KERNEL __launch_bounds__(THREADS) order_of_keys(u64 n, const u64* keys, u32* order) {
    u64 at = thread_index();
    if (at < n) order[at] = u32(keys[at]);
}

// Calls f(at, column, place) for the first value of each entry of a row, with one warp; returns their number.
template <class F> INLINE u32 entries_of(u32 begin, u32 end, u32 height, u32 width, const u32* order, const u32* j, F f) {
    u32 found = 0;
    // An element matrix has height * width values.
    auto column_of = [&](u32 at) {
        u32 k = order[at], slot = k / width;
        return __ldg(j + (u64(slot / height) * width + (k - slot * width)));
    };
    for (u32 first = begin; first < end; first += WARP) {
        u32 at = first + lane_index(), column = at < end ? column_of(at) : 0;
        u32 before = __shfl_up_sync(ALL_LANES, column, 1);
        if (lane_index() == 0 && first > begin) before = column_of(first - 1);
        bool is_new = at < end && (at == begin || column != before);
        u32 ones = __ballot_sync(ALL_LANES, is_new);
        if (is_new) f(at, column, found + __popc(ones & ((1u << lane_index()) - 1)));
        found += __popc(ones);
    }
    return found;
}

// counts[row] = number of entries of the row; one warp per row.
KERNEL __launch_bounds__(THREADS) count_entries(u64 rows, u32 height, u32 width, const u32* starts, const u32* order,
                                                const u32* j, u32* counts) {
    u64 row = thread_index() / WARP;
    if (row >= rows) return;
    u32 count = entries_of(starts[row], starts[row + 1], height, width, order, j, [](u32, u32, u32) {});
    if (lane_index() == 0) counts[row] = count;
}

// entries of each row = its columns, ascending; first[entry] = place in `order` of its first value, and of the end behind the last.
KERNEL __launch_bounds__(THREADS) fill_entries(u64 rows, u32 height, u32 width, const u32* starts, const u32* order,
                                               const u32* j, const u64* row_map, u32* entries, u32* first) {
    u64 row = thread_index() / WARP;
    if (row >= rows) return;
    u64 base = row_map[row];
    entries_of(starts[row], starts[row + 1], height, width, order, j, [&](u32 at, u32 column, u32 place) {
        entries[base + place] = column;
        first[base + place] = at;
    });
    if (row == rows - 1 && lane_index() == 0) first[row_map[rows]] = starts[rows];
}

// ---- Sums

// Values in flight per thread.
constexpr u32 BATCH = 4;

// Returns `sum` plus values[order[at]] for at from `begin` to `end`, one after the other.
INLINE double sum_of(double sum, u32 begin, u32 end, const u32* order, const double* values) {
    for (u32 at = begin; at < end; at += BATCH) {
        double found[BATCH];
#pragma unroll
        for (u32 b = 0; b < BATCH; b++) found[b] = at + b < end ? __ldg(values + __ldg(order + at + b)) : 0;
#pragma unroll
        for (u32 b = 0; b < BATCH; b++)
            if (at + b < end) sum += found[b];
    }
    return sum;
}

// out[e] = sum of values[order[at]] over first[e] <= at < first[e + 1], added to the old value if `into`. One thread per item.
KERNEL __launch_bounds__(THREADS) sum_values(u64 n, const u32* first, const u32* order, const double* values, u32 into,
                                             double* out) {
    u64 e = thread_index();
    if (e >= n) return;
    double start = into != 0 ? out[e] : 0;
    out[e] = sum_of(start, __ldg(first + e), __ldg(first + e + 1), order, values);
}
