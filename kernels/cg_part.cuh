// The rows of a block in a solve that is one launch (cg_at_once.cu), and the words through which blocks exchange items.
//
// A word's lowest bit tells the turn that it was written in: a reader waits for the turn that it needs, so that no fence is
// needed between a value and a flag.

// Loads two words; each arrives whole.
INLINE void peek(const u64* address, u64& a, u64& b) {
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "l"(address) : "memory");
}
// A value whose lowest bit is the turn's. Infinities and quiet NaNs survive, as the bit is cleared again.
INLINE u64 sealed(double value, u32 turn) { return (u64(__double_as_longlong(value)) & ~1ull) | turn; }
INLINE double opened(u64 bits) { return __longlong_as_double(i64(bits & ~1ull)); }

// Positions in a window have 16 bits.
constexpr u32 WINDOW = 1 << 16;

// A block's rows: LANES threads per row, or OWNED rows per thread. Shared memory: offsets of its rows and, with one row per
// thread, q; the window; the columns of other blocks' items in it; slices.
//
// With OWNED > 1 the matrix is copied into slices of 32 rows, one per lane, padded to their longest row: the first of them stay in
// shared memory, the others are read from `values` and `places` of the work space. Padding costs up to a quarter and 32 entries per
// slice; where it needs more, the rows stay as they are.
extern __shared__ double memory[];
template <class V, int LANES, int BATCH, int OWNED> struct Part {
    static constexpr bool SLICED = OWNED > 1;
    static constexpr int FETCHED = 4, SUMS = LANES == 1 ? 4 : 1;
    u32 thread, threads, share, first, own, ghosts;
    bool windowed, sliced;
    double *x, *q, *window;
    u32 *starts, *ghost;
    // Rows as they are.
    const u32* columns;
    const V* values;
    const u16* places;
    // Slices: per row of the thread, its first entry and the width of its slice. The first `here` entries stay in shared memory.
    const V *work, *kept_here;
    u32 here, slot[SLICED ? OWNED : 1], width[SLICED ? OWNED : 1];
    // The entries of a row that a lane keeps, and the bytes before their items of the window.
    V kept[SLICED ? 1 : BATCH];
    u32 kept_at[SLICED ? 1 : BATCH];
    // The first columns of other blocks' items that the thread fetches.
    u32 fetched[FETCHED];

    // Lays out `bytes` bytes of shared memory; a part whose window does not fit reads every item of w from global memory.
    __device__ __forceinline__ void load(u64 rows, u32 bytes, const u64* row_map,
                                         const u32* entries, const V* all_values, V* all_work, u16* all_places) {
        __shared__ u32 of_warp[WARP];
        thread = threadIdx.x, threads = blockDim.x, share = u32((rows + gridDim.x - 1) / gridDim.x);
        first = u32(least(u64(blockIdx.x) * share, rows)), own = u32(least(u64(share), rows - first));
        u64 start = row_map[first];
        u32 count = u32(row_map[first + own] - start);
        columns = entries + start, values = all_values + start;
        // The block's part of the work space: a quarter more than its entries, and 2048.
        u64 base = (start + start / 4 + 31) / 32 * 32 + blockIdx.x * 2048ull, room = count + count / 4 + 2048 - 64;
        u16* filled = all_places + base;
        x = memory, q = x + share, starts = (u32*)(SLICED ? q : q + share), window = (double*)starts + (share + 2) / 2;
#pragma unroll 1
        for (u32 i = thread; i <= own; i += threads) starts[i] = u32(row_map[first + i] - start);
        // Marks each column of another block, in the end of the memory, and counts the marks before each word.
        u32 words = u32((rows + 31) / 32);
        u32 *marks = (u32*)memory + bytes / 4 - 2 * words, *ranks = marks + words;
#pragma unroll 1
        for (u32 i = thread; i < words; i += threads) marks[i] = 0;
        __syncthreads();
#pragma unroll 1
        for (u32 entry = thread; entry < count; entry += threads) {
            u32 column = columns[entry];
            if (column - first >= own) atomicOr(marks + column / 32, 1u << column % 32);
        }
        __syncthreads();
        u32 each = (words + threads - 1) / threads, from = least(thread * each, words), to = least(from + each, words);
        u32 sum = 0;
#pragma unroll 1
        for (u32 i = from; i < to; i++) sum += __popc(marks[i]);
        u32 before = warp_scan(sum);
        if (lane_index() == WARP - 1) of_warp[thread / WARP] = before;
        before -= sum;
        __syncthreads();
        ghosts = 0;
#pragma unroll 1
        for (u32 warp = 0; warp < (threads + WARP - 1) / WARP; warp++) {
            if (warp < thread / WARP) before += of_warp[warp];
            ghosts += of_warp[warp];
        }
#pragma unroll 1
        for (u32 i = from; i < to; i++) ranks[i] = before, before += __popc(marks[i]);
        ghost = (u32*)(window + share + ghosts);
        windowed = share + ghosts <= WINDOW && ghost + ghosts + 1 <= marks;
        __syncthreads();
        sliced = false, places = filled;
        if (!windowed) return;
#pragma unroll 1
        for (u32 i = thread; i < words; i += threads) {
            u32 rank = ranks[i];
            for (u32 bits = marks[i]; bits != 0; bits &= bits - 1) ghost[rank++] = i * 32 + u32(__ffs(bits) - 1);
        }
        auto place_of = [&](u32 column) {
            u32 local = column - first, word = column / 32;
            return local < own ? local : share + ranks[word] + __popc(marks[word] & ((1u << column % 32) - 1));
        };
        if constexpr (SLICED) slice_up((char*)memory + bytes, room, marks, all_work + base, filled, place_of);
        if (!sliced) {
#pragma unroll 1
            for (u32 entry = thread; entry < count; entry += threads) filled[entry] = u16(place_of(columns[entry]));
        }
        __syncthreads();
        columns_from(thread, fetched);
        if constexpr (!SLICED) {
            u32 row = thread / LANES, at = 0, end = 0;
            if (row < own) at = starts[row] + thread % LANES, end = starts[row + 1];
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                u32 entry = at + k * LANES;
                kept[k] = entry < end ? values[entry] : V(0);
                u32 place = entry < end ? filled[entry] : row < own ? row : 0;
                kept_at[k] = u32((char*)(window + place) - (char*)memory);
            }
        }
    }

    // Copies the rows into slices, if these fit into `room` entries of the work space and their widths into the memory before `marks`.
    template <class Place>
    __device__ __forceinline__ void slice_up(char* end, u64 room, u32* marks, V* to, u16* filled, Place place_of) {
        u32 warps = threads / WARP, warp = thread / WARP, slices = OWNED * warps, at[OWNED];
        // Offsets of the slices, in rows of 32 entries. Neighbouring warps have theirs in turns, so that some read shared memory
        // while others read the L2.
        u32* offsets = ghost + ghosts;
        u64 total = 0;
        if (offsets + slices + 2 > marks) return;
#pragma unroll
        for (u32 o = 0; o < OWNED; o++) {
            u32 i = thread + o * threads, widest = i < own ? starts[i + 1] - starts[i] : 0;
#pragma unroll
            for (int step = WARP / 2; step > 0; step /= 2) widest = most(widest, __shfl_xor_sync(ALL_LANES, widest, step));
            width[o] = widest, at[o] = (o + warp) % OWNED * warps + warp;
            if (lane_index() == 0) offsets[at[o]] = widest;
        }
        __syncthreads();
        if (thread == 0) {
            u32 sum = 0;
#pragma unroll 1
            for (u32 i = 0; i <= slices; i++) {
                u32 widest = i < slices ? offsets[i] : 0;
                offsets[i] = sum, sum += widest;
            }
        }
        __syncthreads();
        total = u64(offsets[slices]) * WARP;
        if (total > room) return;
        sliced = true;
#pragma unroll
        for (u32 o = 0; o < OWNED; o++) {
            u32 i = thread + o * threads, from = i < own ? starts[i] : 0, length = i < own ? starts[i + 1] - from : 0;
            slot[o] = offsets[at[o]] * WARP + lane_index();
#pragma unroll 1
            for (u32 k = 0; k < width[o]; k++) {
                bool is_entry = k < length;
                to[slot[o] + k * WARP] = is_entry ? values[from + k] : V(0);
                filled[slot[o] + k * WARP] = u16(is_entry ? place_of(columns[from + k]) : i < own ? i : 0);
            }
        }
        // The marks are not needed any more. The first slices stay in shared memory.
        V* into = (V*)(window + share + ghosts + (ghosts + slices + 3) / 2);
        u32 fit = u32(end - (char*)into) / (WARP * (sizeof(V) + 2));
        here = 0;
#pragma unroll 1
        for (u32 i = 1; i <= slices; i++)
            if (offsets[i] <= fit) here = offsets[i] * WARP;
        u16* into_places = (u16*)(into + here);
        work = to, kept_here = into;
        __syncthreads();
#pragma unroll 1
        for (u32 i = thread; i < here; i += threads) into[i] = to[i], into_places[i] = filled[i];
    }

    // Calls work(o, i) for each row i that the thread owns.
    template <class Work> __device__ __forceinline__ void each(Work work) const {
#pragma unroll
        for (int o = 0; o < OWNED; o++) {
            u32 i = thread + o * threads;
            if (i < own) work(o, i);
        }
    }

    // result(o, i) = (A v)(i), where v is shown in this turn and the window holds the block's own part of it.
    // The block synchronises once before the product; it has to once more before the result is read or v written.
    __device__ __forceinline__ void multiply(const u64* v, u32 turn) {
        if (windowed) {
            fetch(v, turn, thread, fetched);
#pragma unroll 1
            for (u32 i = thread + FETCHED * threads; i < ghosts; i += FETCHED * threads) {
                u32 column[FETCHED];
                columns_from(i, column);
                fetch(v, turn, i, column);
            }
        }
        __syncthreads();
        if constexpr (SLICED) {
#pragma unroll
            for (int o = 0; o < OWNED; o++) {
                u32 i = thread + o * threads;
                bool is_here = slot[o] < here;
                const V* from = is_here ? kept_here : work;
                mine[o] = sliced ? slice_sum(from + slot[o], (is_here ? (const u16*)(kept_here + here) : places) + slot[o], width[o])
                                 : row_sum(v, turn, i < own ? starts[i] : 0, i < own ? starts[i + 1] : 0);
            }
        } else {
            u32 row = thread / LANES, at = 0, end = 0;
            double sum = 0, part[SUMS] = {};
            if (row < own) at = starts[row] + thread % LANES, end = starts[row + 1];
            if (windowed) {
#pragma unroll
                for (int k = 0; k < BATCH; k++) part[k % SUMS] += double(kept[k]) * *(const double*)((const char*)memory + kept_at[k]);
#pragma unroll
                for (int k = 0; k < SUMS; k++) sum += part[k];
                at += LANES * BATCH;
            }
            if (at < end) sum += row_sum(v, turn, at, end);
#pragma unroll
            for (int step = LANES / 2; step > 0; step /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, step);
            if constexpr (LANES == 1) mine[0] = sum;
            else if (row < own && thread % LANES == 0) q[row] = sum;
        }
    }

    __device__ __forceinline__ double result(int o, u32 i) const { return LANES == 1 ? mine[o] : q[i]; }

    // The sum of a lane's entries at, at + LANES, ... of a row.
    __device__ __forceinline__ double row_sum(const u64* v, u32 turn, u32 at, u32 end) const {
        double sum = 0;
#pragma unroll 1
        for (; at < end; at += LANES) {
            double item;
            if (windowed) {
                item = window[places[at]];
            } else {
                u64 bits;
                do bits = peek(v + columns[at]);
                while ((bits & 1) != turn);
                item = opened(bits);
            }
            sum += double(values[at]) * item;
        }
        return sum;
    }

    // The sum of a lane's row of a slice. Loads of a batch are under way at once.
    __device__ __forceinline__ double slice_sum(const V* values, const u16* places, u32 width) const {
        double sum = 0;
#pragma unroll 1
        for (u32 k = 0; k < width; k += BATCH) {
            V item[BATCH];
            u32 place[BATCH];
#pragma unroll
            for (u32 j = 0; j < BATCH; j++) {
                bool is_entry = k + j < width;
                item[j] = is_entry ? values[(k + j) * WARP] : V(0), place[j] = is_entry ? places[(k + j) * WARP] : 0;
            }
#pragma unroll
            for (u32 j = 0; j < BATCH; j++)
                if (k + j < width) sum += double(item[j]) * window[place[j]];
        }
        return sum;
    }

private:
    double mine[OWNED];

    // Of the columns from i on, in steps of `threads`; ~0 beyond the last.
    __device__ __forceinline__ void columns_from(u32 i, u32 (&column)[FETCHED]) const {
#pragma unroll
        for (u32 k = 0; k < FETCHED; k++) column[k] = i + k * threads < ghosts ? ghost[i + k * threads] : ~0u;
    }

    // Waits for the items of v in these columns, and puts them into the window.
    __device__ __forceinline__ void fetch(const u64* v, u32 turn, u32 i, const u32 (&column)[FETCHED]) const {
        u64 bits[FETCHED];
        bool all;
        do {
            all = true;
#pragma unroll
            for (int k = 0; k < FETCHED; k++) bits[k] = column[k] != ~0u ? peek(v + column[k]) : turn;
#pragma unroll
            for (int k = 0; k < FETCHED; k++) all = all && (bits[k] & 1) == turn;
        } while (!all);
#pragma unroll
        for (int k = 0; k < FETCHED; k++)
            if (column[k] != ~0u) window[share + i + k * threads] = opened(bits[k]);
    }
};
