// Roots of aggregates; launched by src/solve/aggregation/cuda.rs. The choice is that of aggregates.rs there, where one thread visits the
// nodes in their order: a node none of whose neighbours is in an aggregate becomes a root and takes them.
//
// A node is open until it is a root or at most two connections from one. Each node points at the first open one among its neighbours
// and itself; a node at which all of these point is a root, whatever is open elsewhere (the pointers of Blelloch, Fineman and Shun 2012
// for an independent set, here at distance two). Blocks take roots from a queue, close the nodes around them and move the pointers at
// closed nodes, which may make further roots. Each node is closed once, so that the work grows with the connections, and the time with
// the longest chain of roots. Connections that only one of two nodes has leave the choice to chance.

constexpr int THREADS = 256;
// Lanes that share a closed node, and nodes whose states one batch of loads reads.
constexpr int TEAM = 8, BATCH = 4;
// Nodes around a root whose neighbours are listed at once, and closed nodes whose pointers wait to be moved.
constexpr u32 NEAR = THREADS, CLOSED = 4 * THREADS;
// States of a node; 0 is open.
constexpr u32 TAKEN = 1, ROOT = 2;
constexpr u32 NONE = 0xffffffffu;
// The pointer of a node that has no open one left.
constexpr u64 NOWHERE = ~0ull;

// Roots to be visited, each + 1 in a slot of its own; 0 on entry. The counts stand in cache lines of their own.
struct Queue {
    u32 *slots, *counts;

    __device__ __forceinline__ u32* taken() const { return counts; }
    __device__ __forceinline__ u32* given() const { return counts + 32; }
    // Roots whose visit has not ended.
    __device__ __forceinline__ u32* pending() const { return counts + 64; }

    __device__ __forceinline__ void push(u32 node) const {
        atomicAdd(pending(), 1u);
        __threadfence();
        const u32 slot = atomicAdd(given(), 1u);
        asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(slots + slot), "r"(node + 1) : "memory");
    }
    // The next root + 1, or 0 when no visit is left that could find one.
    __device__ __forceinline__ u32 pop(u64 nodes) const {
        const u32 slot = atomicAdd(taken(), 1u);
        u32 found = 0;
        for (u32 turn = 1; slot < nodes && found == 0; turn++) {
            found = peek(slots + slot);
            if (turn % 8 == 0 && peek(pending()) == 0) break;
            if (turn > 4) __nanosleep(100);
        }
        __threadfence();
        return found;
    }
};

struct Pointers {
    const u64* map;
    const u32* strong;
    // State of each node, the number of pointers at it, and its own: place in the upper half, node in the lower one.
    u32 *state, *votes;
    u64* pointer;
    Queue queue;

    __device__ __forceinline__ u32 degree(u64 i) const { return u32(__ldg(map + i + 1) - __ldg(map + i)); }

    // BATCH nodes from `place` on of the neighbours of j and j itself, ascending; NONE behind the last.
    __device__ __forceinline__ void load(u32 j, u64 begin, u32 degree, u32 place, u32 (&node)[BATCH]) const {
        u32 before = place > 0 && place <= degree ? __ldg(strong + begin + place - 1) : 0;
#pragma unroll
        for (int b = 0; b < BATCH; b++) {
            const u32 at = place + b < degree ? __ldg(strong + begin + place + b) : NONE;
            node[b] = place + b > degree ? NONE : at < j ? at : most(before, j);
            before = at;
        }
    }

    __device__ __forceinline__ void vote(u32 node) const {
        const u32 all = degree(node);
        if (atomicAdd(votes + node, 1u) == all && all > 0) queue.push(node);
    }

    // Moves the pointer of j from a closed node to the next open one.
    __device__ void advance(u32 j, u64 from) const {
        const u64 begin = __ldg(map + j);
        const u32 all = degree(j);
        while (true) {
            u32 next = NONE, place = 0;
            for (u32 first = u32(from >> 32) + 1; next == NONE && first <= all; first += BATCH) {
                u32 node[BATCH];
                bool is_open[BATCH];
                load(j, begin, all, first, node);
#pragma unroll
                for (int b = 0; b < BATCH; b++) is_open[b] = node[b] != NONE && peek(state + node[b]) == 0;
#pragma unroll
                for (int b = BATCH - 1; b >= 0; b--)
                    if (is_open[b]) next = node[b], place = first + b;
            }
            const u64 to = next == NONE ? NOWHERE : u64(place) << 32 | next;
            if (atomicCAS(pointer + j, from, to) != from || next == NONE) return;
            vote(next);
            // Whoever closes the node meanwhile sees this pointer, or is seen here.
            __threadfence();
            if (peek(state + next) == 0) return;
            from = to;
        }
    }
};

// Points each node at the first of its neighbours and itself, and queues the first roots. `votes`, `slots` and `counts` are 0 on entry.
KERNEL __launch_bounds__(THREADS) point_first(u64 nodes, const u64* map, const u32* strong, u64* pointer, u32* votes, u32* slots, u32* counts) {
    const u64 j = thread_index();
    if (j >= nodes) return;
    const Pointers all{map, strong, nullptr, votes, pointer, {slots, counts}};
    const u64 begin = __ldg(map + j);
    const u32 first = begin < __ldg(map + j + 1) ? least(__ldg(strong + begin), u32(j)) : u32(j);
    pointer[j] = first;
    all.vote(first);
}

// mark = ~root for the nodes of aggregates; state = ROOT for roots. `mark` and `state` are 0 on entry.
KERNEL __launch_bounds__(THREADS, 6) mark_roots(u64 nodes, const u64* map, const u32* strong, u64* pointer, u32* votes, u32* slots,
                                                u32* counts, u32* mark, u32* state) {
    const Pointers all{map, strong, state, votes, pointer, {slots, counts}};
    __shared__ u32 next, closed[CLOSED], count, near[NEAR], start[NEAR + 1];
    // Moves the pointers at the closed nodes.
    const auto move_pointers = [&] {
        __threadfence();
        __syncthreads();
        const u32 given = count;
        for (u32 q = threadIdx.x / TEAM; q < given; q += THREADS / TEAM) {
            const u32 k = closed[q], degree = all.degree(k);
            const u64 begin = __ldg(map + k);
#pragma unroll 4
            for (u32 at = threadIdx.x % TEAM; at <= degree; at += TEAM) {
                const u32 j = at < degree ? __ldg(strong + begin + at) : k;
                const u64 found = peek(pointer + j);
                if (u32(found) == k && found != NOWHERE) all.advance(j, found);
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) count = 0;
        __syncthreads();
    };
    while (true) {
        if (threadIdx.x == 0) next = all.queue.pop(nodes), count = 0;
        __syncthreads();
        if (next == 0) return;
        const u32 root = next - 1, degree = all.degree(root);
        const u64 begin = __ldg(map + root);
        for (u32 first = 0; first <= degree; first += NEAR) {
            const u32 here = least(NEAR, degree + 1 - first), at = first + threadIdx.x;
            if (threadIdx.x < here) {
                const u32 j = at < degree ? __ldg(strong + begin + at) : root;
                near[threadIdx.x] = j, start[threadIdx.x] = all.degree(j) + 1;
                atomicMax(mark + j, ~root);
            }
            __syncthreads();
            // start = where the nodes around each one begin among all of them.
            if (threadIdx.x < WARP) {
                u32 before = 0;
                for (u32 from = 0; from < here; from += WARP) {
                    const u32 at = from + lane_index(), size = at < here ? start[at] : 0, sum = before + warp_scan(size);
                    if (at < here) start[at] = sum - size;
                    before = __shfl_sync(ALL_LANES, sum, WARP - 1);
                }
                if (lane_index() == 0) start[here] = before;
            }
            __syncthreads();
            for (u32 base = 0; base < start[here]; base += THREADS) {
                const u32 pair = base + threadIdx.x;
                if (pair < start[here]) {
                    const u32 of = partition_point(here, [&](u32 i) { return start[i] <= pair; }) - 1;
                    const u32 j = near[of], behind = pair - start[of];
                    const u32 k = pair + 1 < start[of + 1] ? __ldg(strong + __ldg(map + j) + behind) : j;
                    if (k != root && peek(state + k) == 0 && atomicCAS(state + k, 0u, TAKEN) == 0) closed[atomicAdd(&count, 1u)] = k;
                }
                if (__syncthreads_or(count + THREADS > CLOSED)) move_pointers();
            }
            __syncthreads();
        }
        // The root last: while it is open no pointer passes it, so that no other node around it can become one.
        if (threadIdx.x == 0) {
            __threadfence();
            atomicExch(state + root, ROOT);
            closed[count++] = root;
        }
        move_pointers();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicSub(all.queue.pending(), 1u);
        }
    }
}
