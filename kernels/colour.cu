// Colours the elements so that elements of one colour share no node; launched by src/fill/cuda/colour.rs.
//
// Rounds after Luby (SIAM Journal on Computing 15, 1986) and Jones and Plassmann (SIAM Journal on Scientific Computing 14,
// 1993): an element whose priority is the largest at each of its nodes takes the smallest colour that is free at all of
// them. Priorities are hashes of the element number, so the colours are the same in every run. A mask per node holds 64
// colours from `base` on; an element that finds all of them taken waits for the next base.

constexpr u32 THREADS = 256;
constexpr u32 NONE = ~0u, WAITS = NONE - 1;

// Returns a pseudo-random priority. The element number in the lower half makes it unique.
INLINE u64 priority(u32 elem) {
    u32 hash = elem * 0x9e3779b9u;
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return u64(hash ^ hash >> 16) << 32 | elem;
}

// best[node] = largest priority among the node's elements without a colour; zero on entry.
KERNEL __launch_bounds__(THREADS) colour_claim(u64 elems, u32 nn, const u32* elem_node, const u32* colours, u64* best) {
    u64 elem = thread_index();
    if (elem >= elems || colours[elem] != NONE) return;
    for (u32 i = 0; i < nn; i++) atomicMax(best + __ldg(elem_node + (elem * nn + i)), priority(u32(elem)));
}

// Colours the elements whose priority is the largest at all nodes. Sets *left if others remain, *waiting if an element now
// waits.
KERNEL __launch_bounds__(THREADS) colour_choose(u64 elems, u32 nn, u32 base, const u32* elem_node, const u64* best,
                                                u64* masks, u32* colours, u32* left, u32* waiting) {
    u64 elem = thread_index();
    if (elem >= elems || colours[elem] != NONE) return;
    const u32* nodes = elem_node + elem * nn;
    u64 own = priority(u32(elem)), taken = 0;
    for (u32 i = 0; i < nn; i++) {
        if (best[__ldg(nodes + i)] != own) {
            *left = 1;
            return;
        }
    }
    for (u32 i = 0; i < nn; i++) taken |= masks[__ldg(nodes + i)];
    if (taken == ~0ull) {
        colours[elem] = WAITS;
        *waiting = 1;
        return;
    }
    u64 colour = __ffsll(i64(~taken)) - 1;
    // No other element of this round touches these nodes, so a plain update suffices.
    for (u32 i = 0; i < nn; i++) masks[__ldg(nodes + i)] |= 1ull << colour;
    colours[elem] = base + u32(colour);
}

// Returns waiting elements to the uncoloured ones, for the next base.
KERNEL __launch_bounds__(THREADS) colour_wake(u64 elems, u32* colours) {
    u64 elem = thread_index();
    if (elem < elems && colours[elem] == WAITS) colours[elem] = NONE;
}

// counts[colour] += number of its elements. Lanes of one colour add with one atomic.
KERNEL __launch_bounds__(THREADS) colour_count(u64 elems, const u32* colours, u32* counts) {
    u64 elem = thread_index();
    if (elem >= elems) return;
    u32 colour = colours[elem], same = __match_any_sync(__activemask(), colour);
    if (lane_index() == u32(__ffs(same)) - 1) atomicAdd(counts + colour, u32(__popc(same)));
}

// Lists elements by colour; next[colour] is the next place in the colour's list. The order within a colour is not fixed. It
// does not affect sums, because each number receives one term per colour.
KERNEL __launch_bounds__(THREADS) colour_list(u64 elems, const u32* colours, u32* next, u32* list) {
    u64 elem = thread_index();
    if (elem >= elems) return;
    u32 colour = colours[elem], same = __match_any_sync(__activemask(), colour);
    u32 leader = __ffs(same) - 1, first = 0;
    if (lane_index() == leader) first = atomicAdd(next + colour, u32(__popc(same)));
    first = __shfl_sync(same, first, leader);
    list[first + __popc(same & ((1u << lane_index()) - 1))] = u32(elem);
}
