// Strategy map: a fixed-capacity, lock-free set of undirected pairs (twin of src/graph/host/pair_map.rs) and the rows made from
// it; launched by src/graph/cuda/map.rs. Inserts are random accesses: they are bound by the rate and the latency of atomics
// in the L2 cache.

constexpr int THREADS = 256, TEAM = 128, HEX = 8, SHORT = 32;
// Sorts behind all nodes.
constexpr u32 MISSING = 0xffffffffu;
extern __shared__ u32 shared_keys[];

constexpr u32 PROBES = 64;
constexpr u64 ABSENT = 0, GOLDEN = 0x9e3779b97f4a7c15ull;

// Returns the first slot to probe: in the smaller node's share of the table if slots_per_row > 0, otherwise anywhere.
INLINE u64 home_of(u32 low, u32 high, u64 key, u64 capacity, u32 slots_per_row) {
    if (slots_per_row == 0) {
        // The rotation brings the upper bits, which depend on all of the key, into a second multiplication.
        u64 mixed = key * GOLDEN;
        return __umul64hi((key ^ (mixed << 32 | mixed >> 32)) * GOLDEN, capacity);
    }
    // At most PROBES slots from the share's start, so that a probe sequence stays near its share.
    return u64(low) * slots_per_row + __umulhi(high * 2654435769u, least(slots_per_row, PROBES));
}

// Inserts a key; returns false if no slot within PROBES is free. `found` is an earlier read of the first slot, which may be
// out of date: only a slot read as empty is written, by compare-and-swap.
INLINE bool insert(u64* table, u64 capacity, u64 home, u64 key, u64 found) {
    for (u32 probe = 1;; probe++) {
        if (found == ABSENT) {
            found = atomicCAS(table + home, ABSENT, key);
            if (found == ABSENT) return true;
        }
        if (found == key) return true;
        if (probe == PROBES) return false;
        if (++home == capacity) home = 0;
        found = peek(table + home);
    }
}

// Inserts the pairs of each element with at least one node that is a row: pairs of different nodes, or each node with itself
// if elements are single nodes. One thread per slot: slot i has the partners i + 1, i + 2, ... up to half way around the
// element, so that each pair belongs to one thread. table is 0 on entry; a full slot holds (smaller node << 32 | larger
// node) + 1. failed += number of inserts that found no free slot within 64 probes.
template <int NN> INLINE void insert_pairs(u64 slots, u32 nodes_per_elem, u64 rows, u64 capacity, u32 slots_per_row,
                                           const u32* nodes, u64* table, u64* failed) {
    constexpr u32 BATCH = NN > 0 ? NN / 2 : 1;
    const u32 nn = NN > 0 ? NN : nodes_per_elem;
    const u64 slot = thread_index();
    if (slot >= slots) return;
    const u32 elem = u32(slot) / nn, i = u32(slot) - elem * nn, mine = nodes[slot];
    // For even nn, opposite slots would meet twice; only the first half takes its opposite.
    const u32 farthest = nn % 2 == 0 && i >= nn / 2 ? nn / 2 - 1 : nn / 2;
    u64 failures = 0;
    // Reads the first slots of a batch together, so that their latencies overlap. Most pairs are present already, and then
    // the read suffices.
    for (u32 first = nn == 1 ? 0 : 1; first <= farthest; first += BATCH) {
        u64 key[BATCH], home[BATCH], found[BATCH];
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) {
            u32 j = i + first + k;
            if (j >= nn) j -= nn;
            bool is_pair = first + k <= farthest;
            u32 other = is_pair ? nodes[u64(elem) * nn + j] : mine, low = least(mine, other), high = most(mine, other);
            key[k] = is_pair && low < rows ? (u64(low) << 32 | high) + 1 : ABSENT;
            home[k] = home_of(low, high, key[k], capacity, slots_per_row);
            found[k] = key[k] != ABSENT ? peek(table + home[k]) : ABSENT;
        }
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) {
            if (key[k] != ABSENT && found[k] != key[k]) failures += !insert(table, capacity, home[k], key[k], found[k]);
        }
    }
    // Failures are rare, so the counter is not contended.
    if (failures > 0) atomicAdd(failed, failures);
}
KERNEL __launch_bounds__(THREADS) insert_any(u64 slots, u32 nn, u64 rows, u64 capacity, u32 slots_per_row, const u32* nodes,
                                             u64* table, u64* failed) {
    insert_pairs<0>(slots, nn, rows, capacity, slots_per_row, nodes, table, failed);
}
KERNEL __launch_bounds__(THREADS) insert_hex(u64 slots, u32 nn, u64 rows, u64 capacity, u32 slots_per_row, const u32* nodes,
                                             u64* table, u64* failed) {
    insert_pairs<HEX>(slots, nn, rows, capacity, slots_per_row, nodes, table, failed);
}

// counts[row] = number of pairs of the row; zero on entry.
KERNEL __launch_bounds__(THREADS) count_pairs(u64 capacity, u64 rows, const u64* table, u32* counts) {
    for (u64 at = thread_index(); at < capacity; at += thread_count()) {
        u64 stored = table[at];
        if (stored == ABSENT) continue;
        u32 low = u32(stored - 1 >> 32), high = u32(stored - 1);
        atomicAdd(counts + low, 1u);
        if (high != low && high < rows) atomicAdd(counts + high, 1u);
    }
}

// A row that has a pair also has its own column.
KERNEL __launch_bounds__(THREADS) count_diagonal(u64 rows, u32* counts) {
    u64 row = thread_index();
    if (row < rows && counts[row] > 0) counts[row]++;
}

// Each pair stores each of its nodes in the other's row, in any order, from the end of the row. counts falls by the number
// of entries.
KERNEL __launch_bounds__(THREADS) fill_pairs(u64 capacity, u64 rows, const u64* table, const u64* row_map, u32* counts,
                                             u32* entries) {
    // Whole warps iterate together, so that lanes with the same row take their places with one atomic.
    const u64 ends = (capacity + WARP - 1) / WARP * WARP;
    for (u64 at = thread_index(); at < ends; at += thread_count()) {
        u64 stored = at < capacity ? table[at] : ABSENT;
        u32 low = stored == ABSENT ? MISSING : u32(stored - 1 >> 32), high = u32(stored - 1);
        u32 peers = __match_any_sync(ALL_LANES, low), before = __popc(peers & ((1u << lane_index()) - 1)), end = 0;
        if (stored != ABSENT && before == 0) end = atomicSub(counts + low, u32(__popc(peers)));
        end = __shfl_sync(ALL_LANES, end, __ffs(peers) - 1);
        if (stored == ABSENT) continue;
        entries[row_map[low] + end - 1 - before] = high;
        if (high != low && high < rows) entries[row_map[high] + atomicSub(counts + high, 1u) - 1] = low;
    }
}

// Stores the row's own column in its first entry, which `fill_pairs` left free.
KERNEL __launch_bounds__(THREADS) fill_diagonal(u64 rows, const u64* row_map, u32* entries) {
    u64 row = thread_index();
    if (row < rows && row_map[row] < row_map[row + 1]) entries[row_map[row]] = u32(row);
}

// Sorts rows of at most 32 entries. A warp loads 32 rows into shared memory with coalesced reads, then each thread sorts
// one row in registers.
KERNEL __launch_bounds__(TEAM) sort_short_rows(u64 rows, const u64* row_map, u32* entries) {
    __shared__ u32 columns[TEAM][SHORT + 1];
    const u64 row = thread_index();
    const u32 lane = lane_index(), first = threadIdx.x / WARP * WARP;
    const u64 begin = row < rows ? row_map[row] : 0, end = row < rows ? row_map[row + 1] : 0;
    const u32 length = least(u32(end - begin), u32(SHORT));
    for (int r = 0; r < WARP; r++) {
        u64 from = __shfl_sync(ALL_LANES, begin, r);
        u32 count = __shfl_sync(ALL_LANES, length, r);
        columns[first + r][lane] = lane < count ? entries[from + lane] : MISSING;
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
