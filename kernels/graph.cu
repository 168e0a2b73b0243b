// Builds a CRS graph from an element-node table; launched by src/graph/cuda. Slot e * nn + i of the table is node i of
// element e; rows are the nodes below `rows`. src/graph/mod.rs defines the arrays.

constexpr int THREADS = 256;
// Sorts behind all nodes.
constexpr u32 MISSING = 0xffffffffu;

// ---- Node -> element lists

// counts[node] = number of slots that hold the node; zero on entry.
KERNEL __launch_bounds__(THREADS) count_slots(u64 slots, u64 rows, const u32* nodes, u32* counts) {
    u64 slot = thread_index();
    if (slot >= slots) return;
    u32 node = nodes[slot];
    // Ghost nodes have no list.
    if (node < rows) atomicAdd(counts + node, 1u);
}

// lists = the slots of each node in any order. counts gives the places from the end of each list and falls to zero.
KERNEL __launch_bounds__(THREADS) fill_slots(u64 slots, u64 rows, const u32* nodes, const u64* row_map, u32* counts, u32* lists) {
    u64 slot = thread_index();
    if (slot >= slots) return;
    u32 node = nodes[slot];
    if (node < rows) lists[row_map[node] + atomicSub(counts + node, 1u) - 1] = u32(slot);
}

// ascending = the same lists in ascending order. The place of a slot is the number of smaller slots in its list, so each
// list is read once per slot in it; the host limits the length.
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

// keys[slot] = (node, slot). Nodes that are not rows sort behind all others.
KERNEL __launch_bounds__(THREADS) slot_keys(u64 slots, u64 rows, const u32* nodes, u64* keys) {
    u64 slot = thread_index();
    if (slot < slots) keys[slot] = u64(least(nodes[slot], u32(rows))) << 32 | slot;
}

// lower[i] = lower half of key i.
KERNEL __launch_bounds__(THREADS) lower_halves(u64 n, const u64* keys, u32* lower) {
    u64 i = thread_index();
    if (i < n) lower[i] = u32(keys[i]);
}

// ---- Gather: rows of at most 8 hexahedra and 32 columns, one thread per row

// A key is (distance of the column from its row, place): the low 6 bits hold the place [element of the row, node of the
// element].
constexpr u32 PLACE_BITS = 6, FARTHEST = 1u << (31 - PLACE_BITS);
constexpr int HEX = 8, SHORT = 32, TILE = 128;
// Words of the state before the tiles' words: ticket, total, rows that do not fit, overlong list, columns too far apart for one range of keys.
constexpr int STATE = 5;

// lists[row, 0..counts[row]] = slots that hold the node, in any order; counts and state are zero on entry. One thread per
// element. The kernel is bound by atomic additions that return a value. Neighbouring elements in a line along x share four
// nodes: if the next lane's element has this one's right nodes on its left, one addition takes places for both. A box needs
// 4 instead of 8 additions per element.
KERNEL __launch_bounds__(THREADS) short_lists(u64 elems, u64 rows, const u32* nodes, u32* counts, u32* lists, u64* state) {
    constexpr u32 NONE = ~0u;
    const int left[4] = {0, 3, 4, 7}, right[4] = {1, 2, 5, 6};
    const u64 elem = thread_index();
    const u32 lane = lane_index();
    u32 own[HEX];
    if (elem < elems) {
        load_hex(nodes, elem, own);
        u32 low = own[0], high = own[0];
#pragma unroll
        for (int m = 1; m < HEX; m++) low = least(low, own[m]), high = most(high, own[m]);
        bool is_far = false;
#pragma unroll
        for (int m = 0; m < HEX; m++) is_far |= own[m] < rows && (high - own[m] >= FARTHEST || own[m] - low > FARTHEST);
        // No atomic: all threads write the same value.
        if (is_far) state[4] = 1;
    }
#pragma unroll
    for (int m = 0; m < HEX; m++)
        if (elem >= elems || own[m] >= rows) own[m] = NONE;
    u32 place[HEX];
    bool shared[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        // The right nodes come first: their addition also serves the next lane's left nodes.
        u32 next = __shfl_down_sync(ALL_LANES, own[left[i]], 1);
        shared[i] = lane + 1 < WARP && next == own[right[i]];
        place[right[i]] = own[right[i]] == NONE ? 0 : atomicAdd(counts + own[right[i]], shared[i] ? 2u : 1u);
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        u32 kept = __shfl_up_sync(ALL_LANES, place[right[i]] + 1, 1);
        // The place taken by the previous lane, if the element shares these nodes.
        bool is_kept = __shfl_up_sync(ALL_LANES, shared[i], 1) && lane > 0;
        if (is_kept) place[left[i]] = kept;
        else place[left[i]] = own[left[i]] == NONE ? 0 : atomicAdd(counts + own[left[i]], 1u);
    }
#pragma unroll
    for (int m = 0; m < HEX; m++) {
        if (own[m] == NONE) continue;
        if (place[m] < HEX) lists[u64(own[m]) * HEX + place[m]] = u32(elem * HEX + m);
        // No atomic: all threads write the same value.
        else state[3] = 1;
    }
}

// ascending = the lists of short_lists, each in ascending order, one after the other by row_map. One thread per row; a block
// collects its rows in shared memory, so that stores coalesce. No list is longer than 8.
KERNEL __launch_bounds__(THREADS) pack_lists(u64 rows, const u64* row_map, const u32* lists, u32* ascending) {
    __shared__ u32 packed[THREADS * HEX];
    const u64 first = u64(blockIdx.x) * THREADS, row = first + threadIdx.x, begin = __ldg(row_map + first);
    if (row < rows) {
        u32 at = u32(__ldg(row_map + row) - begin), count = u32(__ldg(row_map + row + 1) - begin) - at, key[HEX];
#pragma unroll
        for (int k = 0; k < HEX; k++) key[k] = k < count ? __ldg(lists + (row * HEX + k)) : MISSING;
        sorting_network<0, HEX>(key);
#pragma unroll
        for (int k = 0; k < HEX; k++)
            if (k < count) packed[at + k] = key[k];
    }
    __syncthreads();
    u32 span = u32(__ldg(row_map + least(first + THREADS, rows)) - begin);
    for (u32 i = threadIdx.x; i < span; i += THREADS) ascending[begin + i] = packed[i];
}

// Computes columns and offsets of all rows in one pass (decoupled look-back over tiles of 128 rows), and the positions of
// the elements' nodes in the rows: positions[slot, 8], stored 8 bytes at a time. A key is a column's distance from the row,
// then the place it came from, so one sort finds the unique columns and the target of each of the 64 places. A row of fewer
// elements loads its first element again, which adds no column. The result is invalid if the state reports an overflow or
// an overlong list; the host then takes another strategy. Four blocks per multiprocessor leave 128 registers per thread,
// which hold the 64 keys and let all loads of a row be in flight at once without spills; two ranges take more.
// Apart: the columns of a row lie in two ranges, such as interior nodes and nodes at the border of a part. Keys of the upper one count
// from its first column.
template <bool APART> INLINE void gather(u64 rows, const u32* nodes, const u32* counts, const u32* lists, u64* row_map, u32* entries,
                                         u64* positions, u64* state) {
    // Padding against bank conflicts between threads at the same place of their rows: rows of columns are padded by one
    // word, words of places are permuted by an exclusive or.
    __shared__ u32 columns[TILE][HEX * HEX + 1], places[TILE * 2 * HEX], of_warp[TILE / WARP];
    __shared__ u64 ticket, before_tile;
    // Some list was too long, so every block gives up at once. Blocks of this kernel do not write the word.
    if (state[3] != 0) return;
    if (threadIdx.x == 0) ticket = atomicAdd(state, 1ull);
    __syncthreads();
    const u32 lane = lane_index(), warp = threadIdx.x / WARP;
    const u64 tile = ticket, row = tile * TILE + threadIdx.x;
    const u32 swap = threadIdx.x / 2 % (2 * HEX);
    u32 low = u32(row) - FARTHEST, high = 0;
    const u32 elems = row < rows ? least(counts[row], u32(HEX)) : 0;
    u32 count = 0;
    if (elems > 0) {
        u32 key[HEX * HEX], distances = 0;
#pragma unroll
        for (int e = 0; e < HEX; e++) {
            // Repeating the first element avoids a branch and adds no column.
            u32 slot = lists[row * HEX + (u32(e) < elems ? e : 0)];
            u32 node[HEX];
            load_hex(nodes, slot / HEX, node);
#pragma unroll
            for (int i = 0; i < HEX; i++) key[HEX * e + i] = node[i];
        }
        if (APART) {
            low = high = MISSING;
#pragma unroll
            for (int k = 0; k < HEX * HEX; k++) low = least(low, key[k]);
#pragma unroll
            for (int k = 0; k < HEX * HEX; k++)
                if (key[k] - low >= FARTHEST) high = least(high, key[k]);
        }
#pragma unroll
        for (int k = 0; k < HEX * HEX; k++) {
            u32 distance = key[k] - low;
            if (APART && distance >= FARTHEST) distance = FARTHEST + (key[k] - high);
            key[k] = distance << PLACE_BITS | u32(k);
            if (APART) distances |= distance;
        }
        sorting_network<0, HEX * HEX>(key);
        u32* column = columns[threadIdx.x];
        const u32 mine = threadIdx.x * (HEX * HEX) + 4 * swap;
#pragma unroll
        for (int k = 0; k < HEX * HEX; k++) {
            // Keys of one column differ in the place bits only.
            if (k > 0 && (key[k] ^ key[k > 0 ? k - 1 : 0]) >= HEX * HEX) count++;
            column[count] = key[k];
            ((u8*)places)[key[k] % (HEX * HEX) ^ mine] = u8(count);
        }
        count++;
        // A distance too large for a key, in a third range, loses bits in it; the host discards the result. All threads write the same value.
        if (distances >> (32 - PLACE_BITS) != 0 || count > SHORT) state[2] = 1;
#pragma unroll
        for (int e = 0; e < HEX; e++) {
            if (u32(e) < elems) {
                const u32* word = places + threadIdx.x * (2 * HEX);
                positions[lists[row * HEX + e]] = u64(word[2 * e + 1 ^ swap]) << 32 | word[2 * e ^ swap];
            }
        }
    }
    u32 upto = warp_scan(least(count, u32(SHORT)));
    if (lane == WARP - 1) of_warp[warp] = upto;
    __syncthreads();
    if (warp == 0) {
        u32 total = 0;
        for (int w = 0; w < TILE / WARP; w++) total += of_warp[w];
        u64 base = look_back(state + STATE, tile, total);
        if (lane == 0) {
            before_tile = base;
            // The last tile knows the total.
            if (tile == gridDim.x - 1) row_map[rows] = base + total, state[1] = base + total;
        }
    }
    __syncthreads();
    u64 base = before_tile;
    for (u32 w = 0; w < warp; w++) base += of_warp[w];
    const u32 kept = least(count, u32(SHORT));
    if (row < rows) row_map[row] = base + upto - kept;
    for (int r = 0; r < WARP; r++) {
        // The warp writes its rows one after the other, so that stores are coalesced.
        u32 length = __shfl_sync(ALL_LANES, kept, r), end = __shfl_sync(ALL_LANES, upto, r);
        u32 from = u32(tile) * TILE + warp * WARP + r - FARTHEST, above = 0;
        if (APART) from = __shfl_sync(ALL_LANES, low, r), above = __shfl_sync(ALL_LANES, high, r) - FARTHEST;
        if (lane < length) {
            u32 distance = columns[warp * WARP + r][lane] >> PLACE_BITS;
            entries[base + end - length + lane] = distance + (APART && distance >= FARTHEST ? above : from);
        }
    }
}

KERNEL __launch_bounds__(TILE, 4) gather_rows(u64 rows, const u32* nodes, const u32* counts, const u32* lists, u64* row_map,
                                              u32* entries, u64* positions, u64* state) {
    gather<false>(rows, nodes, counts, lists, row_map, entries, positions, state);
}

KERNEL __launch_bounds__(TILE, 3) gather_rows_apart(u64 rows, const u32* nodes, const u32* counts, const u32* lists, u64* row_map,
                                                    u32* entries, u64* positions, u64* state) {
    gather<true>(rows, nodes, counts, lists, row_map, entries, positions, state);
}

// ---- Sorting in shared memory: one warp per row, up to 1024 keys

constexpr int TEAM = 128;
extern __shared__ u32 shared_keys[];

// Calls f(key, place) for each unique key of a row of sorted keys, in ascending order, with one warp; returns their number.
template <class I, class K, class F> INLINE u32 unique_keys(I begin, I end, const K* keys, F f) {
    u32 found = 0;
    for (I first = begin; first < end; first += WARP) {
        I i = first + lane_index();
        bool is_new = i < end && (i == begin || keys[i - 1] != keys[i]);
        // A ballot counts the new keys before each lane, so the row needs no second scan.
        u32 ones = __ballot_sync(ALL_LANES, is_new);
        if (is_new) f(keys[i], found + __popc(ones & ((1u << lane_index()) - 1)));
        found += __popc(ones);
    }
    return found;
}

// Calls f(column, place) for each unique column of a row, in ascending order; returns their number. The columns are the
// nodes of the row's elements.
template <class F> INLINE u32 merge_row(u32 nn, u64 row, const u32* nodes, const u64* list_map, const u32* lists, u32* key, F f) {
    const u64 begin = list_map[row];
    const u32 gathered = u32(list_map[row + 1] - begin) * nn, size = power_of_two(gathered);
    for (u32 i = lane_index(); i < size; i += WARP) {
        u32 elem = i / nn;
        key[i] = i < gathered ? nodes[u64(lists[begin + elem] / nn) * nn + (i - elem * nn)] : MISSING;
    }
    __syncwarp();
    sort_shared(key, size);
    // Padding lies behind the gathered columns.
    return unique_keys(0u, gathered, key, f);
}

// counts[row] = number of unique columns. `capacity` is the number of keys per warp in shared memory, enough for the
// longest row.
KERNEL __launch_bounds__(TEAM) count_columns(u64 rows, u32 nn, u32 capacity, const u32* nodes, const u64* list_map,
                                             const u32* lists, u32* counts) {
    u64 row = thread_index() / WARP;
    if (row >= rows) return;
    u32 count = merge_row(nn, row, nodes, list_map, lists, shared_keys + threadIdx.x / WARP * capacity, [](u32, u32) {});
    if (lane_index() == 0) counts[row] = count;
}

// entries of each row = its unique columns, ascending. Sorts a second time, because offsets are known only after the count.
KERNEL __launch_bounds__(TEAM) fill_columns(u64 rows, u32 nn, u32 capacity, const u32* nodes, const u64* list_map,
                                            const u32* lists, const u64* row_map, u32* entries) {
    u64 row = thread_index() / WARP;
    if (row >= rows) return;
    u32* out = entries + row_map[row];
    merge_row(nn, row, nodes, list_map, lists, shared_keys + threadIdx.x / WARP * capacity,
              [&](u32 column, u32 place) { out[place] = column; });
}

// ---- Sort: all pairs as keys (row, column)

// keys[slot, j] = (row, column). Pairs whose row is not owned sort behind all others.
KERNEL __launch_bounds__(THREADS) pair_keys(u64 pairs, u32 nn, u64 rows, u32 column_bits, const u32* nodes, u64* keys) {
    u64 pair = thread_index();
    if (pair >= pairs) return;
    u32 slot = u32(pair / nn), j = u32(pair - u64(slot) * nn), row = nodes[slot];
    keys[pair] = row < rows ? u64(row) << column_bits | nodes[slot / nn * nn + j] : rows << column_bits;
}

// starts[row] = number of keys before the row's first key, rows + 1 of them; by binary search.
KERNEL __launch_bounds__(THREADS) row_starts(u64 rows, u64 n, u32 column_bits, const u64* keys, u64* starts) {
    u64 row = thread_index();
    if (row <= rows) starts[row] = lower_bound(keys, n, row << column_bits);
}

// counts[row] = number of unique keys; one warp per row.
KERNEL __launch_bounds__(THREADS) count_unique(u64 rows, const u64* keys, const u64* starts, u32* counts) {
    u64 row = thread_index() / WARP;
    if (row >= rows) return;
    u32 count = unique_keys(starts[row], starts[row + 1], keys, [](u64, u32) {});
    if (lane_index() == 0) counts[row] = count;
}

// entries of each row = the columns of its unique keys; one warp per row.
KERNEL __launch_bounds__(THREADS) fill_unique(u64 rows, u32 column_bits, const u64* keys, const u64* starts, const u64* row_map,
                                              u32* entries) {
    u64 row = thread_index() / WARP;
    if (row >= rows) return;
    u32* out = entries + row_map[row];
    unique_keys(starts[row], starts[row + 1], keys,
                [&](u64 key, u32 place) { out[place] = u32(key & ((1ull << column_bits) - 1)); });
}

// ---- Element graph of a finished sparsity pattern

// positions[slot, j]; all bits are set if the slot's node is not a row. One thread per pair.
template <class P> INLINE void locate(u64 pairs, u32 nn, u64 rows, const u32* nodes, const u64* row_map, const u32* entries,
                                      P* positions) {
    u64 pair = thread_index();
    if (pair >= pairs) return;
    u32 slot = u32(pair / nn), j = u32(pair - u64(slot) * nn), row = nodes[slot];
    P position = P(~P(0));
    if (row < rows) {
        u64 begin = row_map[row];
        position = P(lower_bound(entries + begin, u32(row_map[row + 1] - begin), nodes[slot / nn * nn + j]));
    }
    positions[pair] = position;
}
#define LOCATE(name, P)                                                                                                       \
    KERNEL __launch_bounds__(THREADS) name(u64 pairs, u32 nn, u64 rows, const u32* nodes, const u64* row_map,                 \
                                           const u32* entries, P* positions) {                                               \
        locate(pairs, nn, rows, nodes, row_map, entries, positions);                                                          \
    }
LOCATE(locate_u8, u8)
LOCATE(locate_u16, u16)
LOCATE(locate_u32, u32)

// locate_u8 for hexahedra: one thread per slot stores its 8 positions at once.
KERNEL __launch_bounds__(THREADS) locate_hex(u64 slots, u64 rows, const u32* nodes, const u64* row_map, const u32* entries,
                                             u64* positions) {
    u64 slot = thread_index();
    if (slot >= slots) return;
    u32 row = nodes[slot];
    u64 eight = ~0ull;
    if (row < rows) {
        u32 node[HEX];
        load_hex(nodes, slot / HEX, node);
        u64 begin = row_map[row];
        u32 length = u32(row_map[row + 1] - begin);
        eight = 0;
#pragma unroll
        for (int i = 0; i < HEX; i++) eight |= u64(lower_bound(entries + begin, length, node[i])) << (8 * i);
    }
    positions[slot] = eight;
}
