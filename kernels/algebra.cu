// Products and transposes of sparse matrices; launched by src/sparse/algebra/cuda.rs, twin of host.rs there. Columns of B come in
// groups of `width`.

constexpr int THREADS = 128;
// Lanes that read one row of B.
constexpr int LANES = 8;
constexpr u32 EMPTY = 0xffffffffu;
// Words of the state: a table was full; a row of B is not whole groups.
constexpr int FULL = 0, BROKEN = 1;
extern __shared__ u32 shared_tables[];

// The arrays of a graph.
struct Rows {
    const u64* map;
    const u32* entries;
};

// A table of groups, one per warp, with a power of two of slots: full where a row has more groups.
struct Table {
    u32* slots;
    u32 capacity;

    // Returns whether the group is new.
    __device__ __forceinline__ bool insert(u32 group, bool& is_full) const {
        u32 at = group * 2654435761u;
        at = (at ^ at >> 15) & (capacity - 1);
        for (u32 probe = 0; probe < capacity; probe++, at = (at + 1) & (capacity - 1)) {
            const u32 found = atomicCAS(slots + at, EMPTY, group);
            if (found == EMPTY) return true;
            if (found == group) return false;
        }
        is_full = true;
        return false;
    }
};

// The table of this warp, in shared memory or behind `global`.
INLINE Table table_of(u32 capacity, u32* global) {
    return Table{global == nullptr ? shared_tables + threadIdx.x / WARP * capacity : global + thread_index() / WARP * capacity, capacity};
}

// Fills the table with the groups of row `row` of A B and returns their number, in all lanes; EMPTY where there are more than slots.
INLINE u32 collect(u64 row, u32 width, Rows a, Rows b, Table table, u32* state) {
    const u32 lane = lane_index();
    for (u32 i = lane; i < table.capacity; i += WARP) table.slots[i] = EMPTY;
    __syncwarp();
    u32 found = 0;
    bool is_full = false;
    const u64 end = __ldg(a.map + row + 1);
    for (u64 at = __ldg(a.map + row) + lane / LANES; at < end; at += WARP / LANES) {
        const u32 k = __ldg(a.entries + at);
        const u64 last = __ldg(b.map + k + 1);
        for (u64 of_b = __ldg(b.map + k) + lane % LANES * width; of_b < last && !is_full; of_b += LANES * width) {
            const u32 first = __ldg(b.entries + of_b);
            if (first % width != 0 || of_b + width > last || __ldg(b.entries + of_b + (width - 1)) != first + (width - 1)) {
                state[BROKEN] = 1;
            }
            found += table.insert(first / width, is_full);
        }
    }
    is_full = __any_sync(ALL_LANES, is_full);
    __syncwarp();
    return is_full ? EMPTY : __shfl_sync(ALL_LANES, warp_sum(found), 0);
}

// counts[row] = number of columns of the row of A B, EMPTY where a table was full; one warp per row. `listed` names the rows, all without
// it.
KERNEL __launch_bounds__(THREADS) product_count(u64 rows, const u32* listed, u32 width, u32 capacity, const u64* a_map,
                                                const u32* a_entries, const u64* b_map, const u32* b_entries, u32* global, u32* counts,
                                                u32* state) {
    const Table table = table_of(capacity, global);
    for (u64 at = thread_index() / WARP; at < rows; at += thread_count() / WARP) {
        const u64 row = listed == nullptr ? at : listed[at];
        const u32 found = collect(row, width, Rows{a_map, a_entries}, Rows{b_map, b_entries}, table, state);
        if (lane_index() == 0) counts[row] = found == EMPTY ? EMPTY : found * width;
        if (found == EMPTY) state[FULL] = 1;
        __syncwarp();
    }
}

// entries of each row = its columns, ascending. The place of a group is the number of smaller ones. Leaves rows that have more groups
// than the table.
KERNEL __launch_bounds__(THREADS) product_fill(u64 rows, const u32* listed, u32 width, u32 capacity, const u64* a_map,
                                               const u32* a_entries, const u64* b_map, const u32* b_entries, u32* global,
                                               const u64* row_map, u32* entries, u32* state) {
    const Table table = table_of(capacity, global);
    const u32 lane = lane_index();
    for (u64 at = thread_index() / WARP; at < rows; at += thread_count() / WARP) {
        const u64 row = listed == nullptr ? at : listed[at];
        if (__ldg(row_map + row + 1) - __ldg(row_map + row) > u64(capacity) * width) continue;
        collect(row, width, Rows{a_map, a_entries}, Rows{b_map, b_entries}, table, state);
        u32 kept = 0;
        for (u32 first = 0; first < capacity; first += WARP) {
            const u32 group = table.slots[first + lane], ones = __ballot_sync(ALL_LANES, group != EMPTY);
            // No slot is written before it was read: those kept are never more than those read.
            if (group != EMPTY) table.slots[kept + __popc(ones & ((1u << lane) - 1))] = group;
            kept += __popc(ones);
            __syncwarp();
        }
        u32* out = entries + __ldg(row_map + row);
        for (u32 i = lane; i < kept; i += WARP) {
            const u32 group = table.slots[i];
            u32 place = 0;
            for (u32 j = 0; j < kept; j++) place += table.slots[j] < group;
            for (u32 d = 0; d < width; d++) out[place * width + d] = group * width + d;
        }
        __syncwarp();
    }
}

// c = the values of A B. TEAM lanes share a row: they add the rows of B one after the other, each its own columns, so that entries are
// summed in the order of A's.
template <int TEAM>
INLINE void add_rows(u64 rows, u32 width, const u64* row_map, const u32* entries, Rows a, const double* a_values, Rows b,
                     const double* b_values, double* c) {
    const u64 row = thread_index() / TEAM;
    if (row >= rows) return;
    const u32 lane = threadIdx.x % TEAM, team = (TEAM == WARP ? ALL_LANES : (1u << TEAM % WARP) - 1) << (lane_index() / TEAM * TEAM);
    const u64 begin = __ldg(row_map + row);
    const u32 length = u32(__ldg(row_map + row + 1) - begin);
    const u32* columns = entries + begin;
    double* sums = c + begin;
    for (u32 i = lane; i < length; i += TEAM) sums[i] = 0;
    __syncwarp(team);
    const u64 end = __ldg(a.map + row + 1);
    for (u64 at = __ldg(a.map + row); at < end; at++) {
        const u32 k = __ldg(a.entries + at);
        const double factor = __ldg(a_values + at);
        const u64 first = __ldg(b.map + k), last = __ldg(b.map + k + 1);
        for (u64 of_b = first + lane; of_b < last; of_b += TEAM) {
            const u32 column = __ldg(b.entries + of_b), group = column / width;
            const u32 place = partition_point(length / width, [&](u32 g) { return __ldg(columns + g * width) / width < group; });
            double& sum = sums[place * width + (column - group * width)];
            sum = __dadd_rn(sum, __dmul_rn(factor, __ldg(b_values + of_b)));
        }
        __syncwarp(team);
    }
}

#define PRODUCT_VALUES(NAME, TEAM)                                                                                                \
    KERNEL __launch_bounds__(THREADS)                                                                                             \
        NAME(u64 rows, u32 width, const u64* row_map, const u32* entries, const u64* a_map, const u32* a_entries,                 \
             const double* a_values, const u64* b_map, const u32* b_entries, const double* b_values, double* c) {                 \
        add_rows<TEAM>(rows, width, row_map, entries, Rows{a_map, a_entries}, a_values, Rows{b_map, b_entries}, b_values, c);     \
    }
PRODUCT_VALUES(product_values_8, 8)
PRODUCT_VALUES(product_values_32, 32)

// keys[i] = (column, i) of every `step`-th entry.
KERNEL __launch_bounds__(THREADS) column_keys(u64 n, u32 step, const u32* entries, u64* keys) {
    const u64 i = thread_index();
    if (i < n) keys[i] = u64(__ldg(entries + i * step)) << 32 | i;
}

// starts[i] = number of keys of columns below i * step, for i up to and including `count`; keys ascend.
KERNEL __launch_bounds__(THREADS) column_starts(u64 count, u32 step, u64 n, const u64* keys, u64* starts) {
    const u64 i = thread_index();
    if (i <= count) starts[i] = lower_bound(keys, n, i * step << 32);
}

// Entries and values of A^T: item i is the entry of A that key i names.
KERNEL __launch_bounds__(THREADS) transpose_entries(u64 n, u64 rows, const u64* row_map, const double* values, const u64* keys,
                                                    u32* entries, double* transposed) {
    const u64 i = thread_index();
    if (i >= n) return;
    const u32 at = u32(__ldg(keys + i));
    entries[i] = u32(partition_point(rows, [&](u64 row) { return __ldg(row_map + row + 1) <= at; }));
    transposed[i] = __ldg(values + at);
}
