// From an element-node table to a CRS graph; launched by src/graph/cuda. A slot e * nn + i of the table is node i of
// element e; rows are nodes below `rows`. What the arrays mean is said in src/graph/mod.rs.

constexpr int THREADS = 256;

// ---- Node -> element lists

// counts[node] = slots that hold the node; zero before.
KERNEL __launch_bounds__(THREADS) count_slots(u64 slots, u64 rows, const u32* nodes, u32* counts) {
    u64 slot = thread_index();
    if (slot >= slots) return;
    u32 node = nodes[slot];
    if (node < rows) atomicAdd(counts + node, 1u);
}

// lists: the slots of each node in any order; counts fall to zero.
KERNEL __launch_bounds__(THREADS) fill_slots(u64 slots, u64 rows, const u32* nodes, const u64* row_map, u32* counts, u32* lists) {
    u64 slot = thread_index();
    if (slot >= slots) return;
    u32 node = nodes[slot];
    if (node < rows) lists[row_map[node] + atomicSub(counts + node, 1u) - 1] = u32(slot);
}

// ascending: the same lists in order; a slot's place is the number of smaller ones. Reads a list as often as it is long.
KERNEL __launch_bounds__(THREADS) rank_slots(u64 slots, u64 rows, const u32* nodes, const u64* row_map, const u32* lists,
                                             u32* ascending) {
    u64 slot = thread_index();
    if (slot >= slots) return;
    u32 node = nodes[slot];
    if (node >= rows) return;
    u64 begin = row_map[node], end = row_map[node + 1], place = begin;
    for (u64 at = begin; at < end; at++) place += lists[at] < slot;
    ascending[place] = u32(slot);
}

// keys[slot] = node above slot; nodes that are no rows sort behind all others.
KERNEL __launch_bounds__(THREADS) slot_keys(u64 slots, u64 rows, const u32* nodes, u64* keys) {
    u64 slot = thread_index();
    if (slot < slots) keys[slot] = u64(least(nodes[slot], u32(rows))) << 32 | slot;
}

// lower[i] = the lower half of key i.
KERNEL __launch_bounds__(THREADS) lower_halves(u64 n, const u64* keys, u32* lower) {
    u64 i = thread_index();
    if (i < n) lower[i] = u32(keys[i]);
}
