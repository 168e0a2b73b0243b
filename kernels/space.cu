// Scan and radix sort, used by several modules; launched by src/space/cuda/scan.rs.
//
// scan: one pass, 12 bytes per item (4 read, 8 written). Sort: least significant digit first, 8 bits per pass. A pass reads
// the keys twice and writes them once (24 bytes per key). Tiles are sorted in shared memory, so that keys of one digit are
// written contiguously.

constexpr int THREADS = 256, WARPS = THREADS / WARP;
constexpr int ROUNDS = 4, ROUND = 4 * WARP;
constexpr int SCAN_TILE = THREADS * ROUNDS * 4;
constexpr int DIGITS = 256, KEYS = 16;
constexpr int SORT_TILE = THREADS * KEYS;

// offsets[i] = sum of counts[..i], n + 1 of them. state: ticket, total, longest, then one word per tile. The state is zero
// on entry; afterwards it holds the total and the largest count, so that the host reads both in one copy.
KERNEL __launch_bounds__(THREADS) scan(u64 n, const u32* counts, u64* offsets, u64* state) {
    __shared__ u64 ticket, before_tile, of_warp[WARPS], largest_of_warp[WARPS];
    // Tiles in the order in which blocks start: a block only waits for blocks that run or have finished.
    if (threadIdx.x == 0) ticket = atomicAdd(state, 1ull);
    __syncthreads();
    const u64 tile = ticket, first = tile * SCAN_TILE + threadIdx.x / WARP * (ROUNDS * ROUND) + 4 * lane_index();
    u32 count[ROUNDS][4], largest = 0;
#pragma unroll
    for (int k = 0; k < ROUNDS; k++) {
        u64 i = first + k * ROUND;
        // One load of 16 bytes per lane and round.
        uint4 four = make_uint4(0, 0, 0, 0);
        if (i + 3 < n) {
            four = *(const uint4*)(counts + i);
        } else {
            if (i < n) four.x = counts[i];
            if (i + 1 < n) four.y = counts[i + 1];
            if (i + 2 < n) four.z = counts[i + 2];
        }
        count[k][0] = four.x, count[k][1] = four.y, count[k][2] = four.z, count[k][3] = four.w;
        largest = most(largest, most(most(four.x, four.y), most(four.z, four.w)));
    }
    // Sum of the counts before each round's four, within the warp.
    u64 before[ROUNDS], sum = 0;
#pragma unroll
    for (int k = 0; k < ROUNDS; k++) {
        u64 four = u64(count[k][0]) + count[k][1] + count[k][2] + count[k][3], upto = warp_scan(four);
        before[k] = sum + upto - four;
        sum += __shfl_sync(ALL_LANES, upto, WARP - 1);
    }
    largest = warp_max(largest);
    if (lane_index() == 0) of_warp[threadIdx.x / WARP] = sum, largest_of_warp[threadIdx.x / WARP] = largest;
    __syncthreads();
    if (threadIdx.x < WARP) {
        u64 mine = threadIdx.x < WARPS ? of_warp[threadIdx.x] : 0, upto = warp_scan(mine);
        u64 total = __shfl_sync(ALL_LANES, upto, WARP - 1);
        if (threadIdx.x < WARPS) of_warp[threadIdx.x] = upto - mine;
        // The first warp looks back for the whole block.
        u64 base = look_back(state + 3, tile, total);
        if (threadIdx.x == 0) {
            before_tile = base;
            u64 most_of_tile = 0;
            for (int w = 0; w < WARPS; w++) most_of_tile = most(most_of_tile, largest_of_warp[w]);
            atomicMax(state + 2, most_of_tile);
            if (tile == gridDim.x - 1) offsets[n] = base + total, state[1] = base + total;
        }
    }
    __syncthreads();
    const u64 base = before_tile + of_warp[threadIdx.x / WARP];
#pragma unroll
    for (int k = 0; k < ROUNDS; k++) {
        u64 i = first + k * ROUND, offset = base + before[k];
        u64 next[4] = {offset, offset + count[k][0], offset + count[k][0] + count[k][1],
                       offset + count[k][0] + count[k][1] + count[k][2]};
        if (i + 3 < n) {
            ((ulonglong2*)(offsets + i))[0] = make_ulonglong2(next[0], next[1]);
            ((ulonglong2*)(offsets + i))[1] = make_ulonglong2(next[2], next[3]);
        } else {
#pragma unroll
            for (int q = 0; q < 3; q++) {
                if (i + q < n) offsets[i + q] = next[q];
            }
        }
    }
}

// counts[digit * tiles + tile] = number of the tile's keys with this digit. Digits are at most `mask`. One block per tile.
KERNEL __launch_bounds__(THREADS) digit_count(u64 n, u32 shift, u32 mask, u64 tiles, const u64* keys, u32* counts) {
    __shared__ u32 of_digit[DIGITS];
    of_digit[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        u64 i = u64(blockIdx.x) * SORT_TILE + k * THREADS + threadIdx.x;
        if (i < n) atomicAdd(of_digit + (u32(keys[i] >> shift) & mask), 1u);
    }
    __syncthreads();
    counts[threadIdx.x * tiles + blockIdx.x] = of_digit[threadIdx.x];
}

// Moves each key to its place. `offsets`, the scan of `digit_count`'s counts, gives the first place of a digit in a tile.
// Keys with the same digit keep their order, which makes the passes compose. Two blocks per multiprocessor: keys and ranks
// need more than the 80 registers that three blocks would leave.
KERNEL __launch_bounds__(THREADS, 2) digit_move(u64 n, u32 shift, u32 mask, u64 tiles, const u64* keys, const u64* offsets,
                                             u64* sorted) {
    __shared__ u64 tile_keys[SORT_TILE], target[DIGITS];
    __shared__ u32 of_warp[WARPS][DIGITS], begin[DIGITS], sums[WARPS];
    const u32 warp = threadIdx.x / WARP, lane = lane_index();
    const u64 first = u64(blockIdx.x) * SORT_TILE;
    const u32 count = u32(least(n - first, u64(SORT_TILE)));
    for (int w = 0; w < WARPS; w++) of_warp[w][threadIdx.x] = 0;
    __syncthreads();
    u64 key[KEYS];
    u32 rank[KEYS];
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        u32 i = warp * (WARP * KEYS) + k * WARP + lane;
        key[k] = i < count ? keys[first + i] : 0;
    }
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        bool is_key = warp * (WARP * KEYS) + k * WARP + lane < count;
        u32 digit = u32(key[k] >> shift) & mask;
        // The rank of a key among the warp's equal digits: earlier rounds, then lower lanes. This order keeps the sort
        // stable.
        u32 peers = __match_any_sync(ALL_LANES, is_key ? digit : u32(DIGITS));
        u32 found = is_key ? of_warp[warp][digit] : 0;
        rank[k] = found + __popc(peers & ((1u << lane) - 1));
        __syncwarp();
        if (is_key && (peers & ((1u << lane) - 1)) == 0) of_warp[warp][digit] = found + __popc(peers);
        __syncwarp();
    }
    __syncthreads();
    // Thread d sums the keys of digit d in the preceding warps, then the keys of the preceding digits.
    u32 total = 0;
    for (int w = 0; w < WARPS; w++) {
        u32 mine = of_warp[w][threadIdx.x];
        of_warp[w][threadIdx.x] = total;
        total += mine;
    }
    u32 upto = warp_scan(total);
    if (lane == WARP - 1) sums[warp] = upto;
    __syncthreads();
    u32 before = upto - total;
    for (u32 w = 0; w < warp; w++) before += sums[w];
    begin[threadIdx.x] = before;
    // Place of a digit's first key, less its place within the tile.
    target[threadIdx.x] = offsets[threadIdx.x * tiles + blockIdx.x] - before;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        if (warp * (WARP * KEYS) + k * WARP + lane < count) {
            u32 digit = u32(key[k] >> shift) & mask;
            tile_keys[begin[digit] + of_warp[warp][digit] + rank[k]] = key[k];
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < count; i += THREADS) {
        // Neighbouring threads write neighbouring places within each digit.
        u64 moved = tile_keys[i];
        sorted[target[u32(moved >> shift) & mask] + i] = moved;
    }
}
