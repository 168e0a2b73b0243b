// Strategy map: a fixed-capacity, lock-free set of pairs of a row and a column (twin of src/graph/host/pair_map.rs) and the
// rows made from it; launched by src/graph/cuda/map.rs. Inserts are random accesses: they are bound by the rate and the
// latency of atomics in the L2 cache.
//
// Row r with `elems` elements of nn nodes has the slots starts[r] * (nn - 1) to starts[r + 1] * (nn - 1): one for each insert
// of another node of an element, so no insert fails. The row's own column takes no slot. A full slot holds a column plus one.

constexpr int THREADS = 256, TEAM = 128, HEX = 8, SHORT = 32, LANES = 8;
// Sorts behind all nodes.
constexpr u32 MISSING = 0xffffffffu;
extern __shared__ u32 shared_keys[];

constexpr u32 ABSENT = 0, GOLDEN = 2654435769u;

// Inserts a key into the slots of its row; one of them is free or has the key. `found` is an earlier read of slot `at`, which
// may be out of date: only a slot read as empty is written, by compare-and-swap.
INLINE void insert(u32* share, u32 length, u32 at, u32 key, u32 found) {
    for (;;) {
        if (found == ABSENT) {
            found = atomicCAS(share + at, ABSENT, key);
            if (found == ABSENT) return;
        }
        if (found == key) return;
        if (++at == length) at = 0;
        found = peek(share + at);
    }
}

// Inserts the other nodes of each element into the row of each of its nodes. One thread per slot of the element-node table;
// the set is 0 on entry. Thread i of an element begins with node i + 1, so that threads of neighbouring elements seldom meet.
template <int NN> INLINE void insert_pairs(u64 slots, u32 nodes_per_elem, u64 rows, const u32* nodes, const u64* starts,
                                           u32* table) {
    constexpr u32 BATCH = NN > 0 ? NN - 1 : 4;
    const u32 nn = NN > 0 ? NN : nodes_per_elem;
    const u64 slot = thread_index();
    if (slot >= slots) return;
    const u32 elem = u32(slot) / nn, i = u32(slot) - elem * nn, row = nodes[slot];
    if (row >= rows) return;
    const u64 begin = __ldg(starts + row);
    const u32 length = u32(__ldg(starts + row + 1) - begin) * (nn - 1);
    u32* share = table + begin * (nn - 1);
    // Reads the first slots of a batch together, so that their latencies overlap. Most pairs are present already, and then
    // the read suffices.
    for (u32 first = 1; first < nn; first += BATCH) {
        u32 key[BATCH], home[BATCH], found[BATCH];
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) {
            const bool is_pair = first + k < nn;
            u32 j = is_pair ? i + first + k : i;
            if (j >= nn) j -= nn;
            const u32 column = nodes[u64(elem) * nn + j];
            key[k] = is_pair ? column + 1 : ABSENT;
            // By the distance from the row, as on the host.
            home[k] = __umulhi((column - row) * GOLDEN, length);
            found[k] = is_pair ? peek(share + home[k]) : ABSENT;
        }
#pragma unroll
        for (u32 k = 0; k < BATCH; k++)
            if (key[k] != ABSENT && found[k] != key[k]) insert(share, length, home[k], key[k], found[k]);
    }
}
KERNEL __launch_bounds__(THREADS) insert_any(u64 slots, u32 nn, u64 rows, const u32* nodes, const u64* starts, u32* table) {
    insert_pairs<0>(slots, nn, rows, nodes, starts, table);
}
KERNEL __launch_bounds__(THREADS) insert_hex(u64 slots, u32 nn, u64 rows, const u32* nodes, const u64* starts, u32* table) {
    insert_pairs<HEX>(slots, nn, rows, nodes, starts, table);
}

// counts[row] = number of columns of the row. LANES threads per row.
KERNEL __launch_bounds__(THREADS) count_stored(u64 rows, u32 nn, const u64* starts, const u32* table, u32* counts) {
    const u64 row = thread_index() / LANES;
    const bool is_row = row < rows;
    const u64 first = is_row ? starts[row] : 0, last = is_row ? starts[row + 1] : 0, end = last * (nn - 1);
    const u32 lane = lane_index() % LANES;
    // A row that has an element also has its own column.
    u32 count = lane == 0 && first < last ? 1 : 0;
#pragma unroll 8
    for (u64 at = first * (nn - 1) + lane; at < end; at += LANES) count += table[at] != ABSENT;
#pragma unroll
    for (u32 step = LANES / 2; step > 0; step /= 2) count += __shfl_down_sync(ALL_LANES, count, step, LANES);
    if (is_row && lane == 0) counts[row] = count;
}

// columns[0..] = the row's own column and those in its slots, in any order; none for a row without elements. `first..last` are the
// elements of the rows before it and with it. One warp per row; returns their number. The first 64 slots are read before any is
// looked at, so that the reads of two rows are in flight together.
INLINE u32 unpack_row(u32 row, u64 first, u64 last, u32 nn, const u32* table, u32* columns) {
    const u32 lane = lane_index();
    const u64 begin = first * (nn - 1), end = last * (nn - 1);
    u32 count = first < last ? 1 : 0;
    if (lane < count) columns[0] = row;
    const auto read = [&](u64 from) { return from + lane < end ? table[from + lane] : ABSENT; };
    const auto keep = [&](u32 key) {
        const u32 full = __ballot_sync(ALL_LANES, key != ABSENT);
        if (key != ABSENT) columns[count + __popc(full & ((1u << lane) - 1))] = key - 1;
        count += __popc(full);
    };
    const u32 low = read(begin), high = read(begin + WARP);
    keep(low), keep(high);
    for (u64 from = begin + 2 * WARP; from < end; from += WARP) keep(read(from));
    return count;
}

// entries of all rows, in any order within the row. One warp per row.
KERNEL __launch_bounds__(THREADS) fill_rows(u64 rows, u32 nn, const u64* starts, const u32* table, const u64* row_map,
                                            u32* entries) {
    const u64 row = thread_index() / WARP;
    if (row >= rows) return;
    unpack_row(u32(row), starts[row], starts[row + 1], nn, table, entries + row_map[row]);
}

// Sorted entries of rows of at most 32. A warp unpacks 32 rows into shared memory with coalesced reads, then each thread sorts
// one row in registers.
KERNEL __launch_bounds__(TEAM) fill_short_rows(u64 rows, u32 nn, const u64* starts, const u32* table, const u64* row_map,
                                               u32* entries) {
    __shared__ u32 columns[TEAM][SHORT + 1];
    const u64 row = thread_index();
    const u32 lane = lane_index(), first = threadIdx.x / WARP * WARP;
    const u64 share = row < rows ? starts[row] : 0, next = row < rows ? starts[row + 1] : 0;
    const u64 begin = row < rows ? row_map[row] : 0;
    const u32 length = row < rows ? u32(row_map[row + 1] - begin) : 0;
#pragma unroll 2
    for (int r = 0; r < WARP; r++) {
        const u64 from = __shfl_sync(ALL_LANES, share, r), to = __shfl_sync(ALL_LANES, next, r);
        const u32 count = unpack_row(u32(row) - lane + r, from, to, nn, table, columns[first + r]);
        if (lane >= count) columns[first + r][lane] = MISSING;
    }
    __syncwarp();
    u32 key[SHORT];
#pragma unroll
    for (int k = 0; k < SHORT; k++) key[k] = columns[threadIdx.x][k];
    sorting_network<0, SHORT>(key);
#pragma unroll
    for (int k = 0; k < SHORT; k++) columns[threadIdx.x][k] = key[k];
    __syncwarp();
    for (int r = 0; r < WARP; r++) {
        u64 to = __shfl_sync(ALL_LANES, begin, r);
        u32 count = __shfl_sync(ALL_LANES, length, r);
        if (lane < count) entries[to + lane] = columns[first + r][lane];
    }
}

// Sorts rows with one warp each. `capacity`, a power of two, is the number of keys per warp in shared memory, enough for
// the longest row.
KERNEL __launch_bounds__(TEAM) sort_rows(u64 rows, u32 capacity, const u64* row_map, u32* entries) {
    const u64 row = thread_index() / WARP;
    if (row >= rows) return;
    u32* key = shared_keys + threadIdx.x / WARP * capacity;
    u32* columns = entries + row_map[row];
    const u32 length = u32(row_map[row + 1] - row_map[row]), size = power_of_two(length);
    for (u32 i = lane_index(); i < size; i += WARP) key[i] = i < length ? columns[i] : MISSING;
    __syncwarp();
    sort_shared(key, size);
    for (u32 i = lane_index(); i < length; i += WARP) columns[i] = key[i];
}

// keys of all entries = (row, column); one warp per row.
KERNEL __launch_bounds__(THREADS) entry_keys(u64 rows, const u64* row_map, const u32* entries, u64* keys) {
    const u64 row = thread_index() / WARP;
    if (row >= rows) return;
    for (u64 at = row_map[row] + lane_index(); at < row_map[row + 1]; at += WARP) keys[at] = row << 32 | entries[at];
}
