// Definitions for all kernel files. NVRTC compiles each file separately, with this text in front; files include nothing.
//
// Conventions. A kernel has the name and the argument order of the Rust function that it serves: sizes, inputs, outputs.
// Array sizes are 64-bit, local ids 32-bit. Blocks are one-dimensional. Statements on determinism hold per GPU model,
// because grids follow the number of multiprocessors.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define KERNEL extern "C" __global__ void
#define INLINE static __device__ __forceinline__

constexpr u32 ALL_LANES = 0xffffffffu;
constexpr int WARP = 32;

INLINE u64 thread_index() { return u64(blockIdx.x) * blockDim.x + threadIdx.x; }
INLINE u64 thread_count() { return u64(gridDim.x) * blockDim.x; }
INLINE u32 lane_index() { return threadIdx.x % WARP; }
template <class T> INLINE T least(T a, T b) { return b < a ? b : a; }
template <class T> INLINE T most(T a, T b) { return a < b ? b : a; }
INLINE double not_a_number() { return __longlong_as_double(0x7ff8000000000000ll); }
// The nodes of element `elem` in a table of 8 nodes per element.
INLINE void load_hex(const u32* elem_node, u64 elem, u32 (&node)[8]) {
    const uint4* table = (const uint4*)elem_node + 2 * elem;
    uint4 low = __ldg(table), high = __ldg(table + 1);
    node[0] = low.x, node[1] = low.y, node[2] = low.z, node[3] = low.w;
    node[4] = high.x, node[5] = high.y, node[6] = high.z, node[7] = high.w;
}

// Positions of 1, 2 or 4 bytes, for kernels whose time does not depend on it; one with all bits set stands for none.
struct Positions {
    void* data;
    u32 width;
    __device__ __forceinline__ u32 none() const { return ~0u >> (32 - 8 * width); }
    __device__ __forceinline__ u32 get(u64 i) const {
        return width == 1 ? ((const u8*)data)[i] : width == 2 ? ((const u16*)data)[i] : ((const u32*)data)[i];
    }
    __device__ __forceinline__ void set(u64 i, u32 position) const {
        if (width == 1) ((u8*)data)[i] = u8(position);
        else if (width == 2) ((u16*)data)[i] = u16(position);
        else ((u32*)data)[i] = position;
    }
};

// out = a x b.
INLINE void cross(const double (&a)[3], const double (&b)[3], double (&out)[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

// Returns the sum over the lanes of a warp, in lane 0. The tree fixes the order, so the bits do not vary.
template <class T> INLINE T warp_sum(T value) {
#pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) value += __shfl_down_sync(ALL_LANES, value, step);
    return value;
}

// Returns the sum over the threads of a block of THREADS threads, in thread 0.
template <int THREADS, class T> INLINE T block_sum(T value) {
    __shared__ T of_warp[THREADS / WARP];
    value = warp_sum(value);
    __syncthreads();
    if (lane_index() == 0) of_warp[threadIdx.x / WARP] = value;
    __syncthreads();
    if (threadIdx.x < WARP) value = warp_sum(threadIdx.x < THREADS / WARP ? of_warp[threadIdx.x] : T(0));
    return value;
}

// Ends a reduction. Each block stores its partial sum; the last block to arrive sums all of them in block order, so the
// bits do not depend on timing. Returns true, with the total, in thread 0 of that block only. `ticket` is zero on entry and
// on exit. The threads of the last block call when_last() before they add.
template <int THREADS, class Last>
INLINE bool grid_sum(double part, double* partials, u32* ticket, double& total, Last when_last) {
    __shared__ bool is_last;
    part = block_sum<THREADS>(part);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = part;
        __threadfence();
        // The fence above makes the partial sum visible before the ticket.
        is_last = atomicAdd(ticket, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return false;
    when_last();
    __threadfence();
    double sum = 0;
    // Read past the L1 cache, which may hold old values.
    for (u32 block = threadIdx.x; block < gridDim.x; block += THREADS) sum += __ldcg(partials + block);
    total = block_sum<THREADS>(sum);
    // Ready for the next launch, without a memset between.
    if (threadIdx.x == 0) *ticket = 0;
    return threadIdx.x == 0;
}

template <int THREADS> INLINE bool grid_sum(double part, double* partials, u32* ticket, double& total) {
    return grid_sum<THREADS>(part, partials, ticket, total, [] {});
}

// Returns the maximum over the lanes of a warp, in lane 0.
template <class T> INLINE T warp_max(T value) {
#pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) value = most(value, __shfl_down_sync(ALL_LANES, value, step));
    return value;
}

// Returns the inclusive sum over the lanes up to this one.
template <class T> INLINE T warp_scan(T value) {
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        T before = __shfl_up_sync(ALL_LANES, value, step);
        if (lane_index() >= step) value += before;
    }
    return value;
}

// Prefix over the tiles of a one-pass scan (decoupled look-back: Merrill and Garland 2016). The upper two bits of a tile's
// word tell its content: nothing yet, the tile's own sum, or the sum up to and including the tile. Content and tag are one
// 64-bit access, so no fence is needed. A ticket hands out the tiles: all tiles before this one have started, so waiting
// for them terminates.
constexpr u64 TILE_SUM = 1ull << 62, TILE_PREFIX = 2ull << 62;

INLINE void publish(u64* word, u64 value) { asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory"); }
INLINE u64 peek(const u64* word) {
    u64 value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

INLINE u32 peek(const u32* word) {
    u32 value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

// Returns the sum of the tiles before `tile`, whose own sum is `sum` (below 2^62). All lanes of one warp call it and get
// the same value.
INLINE u64 look_back(u64* words, u64 tile, u64 sum) {
    u64 before = 0;
    if (tile > 0) {
        if (lane_index() == 0) publish(words + tile, TILE_SUM | sum);
        for (i64 newest = i64(tile) - 1;; newest -= WARP) {
            i64 at = newest - lane_index();
            u64 word;
            do word = at >= 0 ? peek(words + at) : TILE_PREFIX;
            // Spins until every lane's tile has published something.
            while (__any_sync(ALL_LANES, word < TILE_SUM));
            u32 whole = __ballot_sync(ALL_LANES, word >= TILE_PREFIX);
            // The first complete prefix includes the tiles of the lanes behind it.
            u64 part = whole != 0 && lane_index() > u32(__ffs(whole) - 1) ? 0 : word & (TILE_SUM - 1);
            before += __shfl_sync(ALL_LANES, warp_sum(part), 0);
            if (whole != 0) break;
        }
    }
    if (lane_index() == 0) publish(words + tile, TILE_PREFIX | (before + sum));
    return before;
}

// Whether the scalar that switches an operation off is set; never without one.
INLINE bool is_stopped(const double* stop) { return stop != nullptr && __ldcg(stop) != 0; }

// Sorting networks in registers: Batcher's odd-even merge sort, 543 comparators for 64 keys, 191 for 32. Constant indices
// keep the keys in registers, and no branch diverges.

INLINE void order(u32& a, u32& b) {
    u32 low = min(a, b);
    b = max(a, b);
    a = low;
}

// Merges the sorted halves of the N keys from LOW on, comparing keys that are STEP apart.
template <int LOW, int N, int STEP, int KEYS> INLINE void merge_halves(u32 (&key)[KEYS]) {
    if constexpr (2 * STEP < N) {
        merge_halves<LOW, N, 2 * STEP>(key);
        merge_halves<LOW + STEP, N, 2 * STEP>(key);
#pragma unroll
        for (int i = LOW + STEP; i + STEP < LOW + N; i += 2 * STEP) order(key[i], key[i + STEP]);
    } else {
        order(key[LOW], key[LOW + STEP]);
    }
}
template <int LOW, int N, int KEYS> INLINE void sorting_network(u32 (&key)[KEYS]) {
    if constexpr (N > 1) {
        sorting_network<LOW, N / 2>(key);
        sorting_network<LOW + N / 2, N / 2>(key);
        merge_halves<LOW, N, 1>(key);
    }
}

// Sorts the first `size` of the warp's keys in shared memory (bitonic sort); `size` is a power of two.
INLINE void sort_shared(u32* key, u32 size) {
    for (u32 run = 2; run <= size; run *= 2) {
        for (u32 step = run / 2; step > 0; step /= 2) {
            for (u32 pair = lane_index(); pair < size / 2; pair += WARP) {
                u32 a = 2 * pair - (pair & (step - 1)), b = a + step, low = key[a], high = key[b];
                if ((low > high) == ((a & run) == 0)) key[a] = high, key[b] = low;
            }
            __syncwarp();
        }
    }
}
// Returns the smallest power of two that is not below n.
INLINE u32 power_of_two(u32 n) { return n <= 1 ? 1 : 1u << (32 - __clz(n - 1)); }

// Returns the number of items of 0..n, the first ones, for which is_below(item) holds.
template <class N, class IsBelow> INLINE N partition_point(N n, IsBelow is_below) {
    N low = 0, high = n;
    while (low < high) {
        N middle = low + (high - low) / 2;
        if (is_below(middle)) low = middle + 1;
        else high = middle;
    }
    return low;
}
// Returns the number of keys below `least`; keys ascend.
template <class T> INLINE T lower_bound(const T* keys, T n, T least) {
    return partition_point(n, [&](T at) { return keys[at] < least; });
}
