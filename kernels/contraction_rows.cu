// One contraction with sizes known at compile time and terms in lanes, for layouts in which the terms of a cell are
// adjacent.
//
// LEFT, RIGHT fields, TERMS terms, REAL. GROUP neighbouring lanes, or all threads of a block (GROUP > 32, THREADS = GROUP),
// compute BATCH outputs: right fields of the same left row, whose vectors they load once, or, with a single right field,
// outputs of several left rows. Neighbouring groups take neighbouring rows. Each lane loads vectors of VECTOR items, FLIGHT
// of each row before it multiplies any (all of a short row), so that memory sees requests for whole rows. Needs contiguous
// terms and rows that begin at multiples of a vector. Bytes: each row once if outputs do not share it (data_data, the
// fields of data_field); shared rows come from cache once per BATCH outputs.

constexpr int VECTORS = TERMS / VECTOR, STEPS = (VECTORS + GROUP - 1) / GROUP;
constexpr bool SHARES = RIGHT > 1;
constexpr int CHUNKS = SHARES ? (RIGHT + BATCH - 1) / BATCH : 1, LEFTS = SHARES ? 1 : BATCH;
static_assert(TERMS % VECTOR == 0, "whole vectors");
static_assert(GROUP <= WARP ? WARP % GROUP == 0 : BATCH == 1 && GROUP == THREADS, "whole groups");

struct alignas(sizeof(REAL) * VECTOR) Vector {
    REAL item[VECTOR];
};

// Adds the products of COUNT steps from `first` on. Only steps after the whole ones can pass the end of a row.
template <int COUNT, bool WHOLE>
INLINE void add(const Vector* const (&left)[LEFTS], const Vector* const (&right)[BATCH], int first, int lane, REAL (&sums)[BATCH]) {
    Vector x[LEFTS][COUNT], y[BATCH][COUNT];
#pragma unroll
    for (int s = 0; s < COUNT; ++s) {
        bool is_in = WHOLE || (first + s + 1) * GROUP <= VECTORS || (first + s) * GROUP + lane < VECTORS;
#pragma unroll
        for (int i = 0; i < LEFTS; ++i) x[i][s] = is_in ? left[i][(first + s) * GROUP] : Vector{};
#pragma unroll
        for (int i = 0; i < BATCH; ++i) y[i][s] = is_in ? right[i][(first + s) * GROUP] : Vector{};
    }
#pragma unroll
    for (int s = 0; s < COUNT; ++s) {
#pragma unroll
        for (int i = 0; i < BATCH; ++i) {
#pragma unroll
            for (int j = 0; j < VECTOR; ++j) sums[i] += x[SHARES ? 0 : i][s].item[j] * y[i][s].item[j];
        }
    }
}

// Sums over the lanes of a group: lanes STEP apart exchange halves of their COUNT sums, then halves of those, which needs
// fewer shuffles than one tree per sum. Each sum is added in the same tree as if it were alone.
template <int COUNT, int STEP> INLINE void fold(REAL (&sums)[BATCH], int lane) {
    if constexpr (STEP > 0) {
        constexpr int HALF = (COUNT + 1) / 2;
#pragma unroll
        for (int i = 0; i < HALF; ++i) {
            REAL low = sums[i], high = i + HALF < COUNT ? sums[i + HALF] : REAL(0);
            REAL other = __shfl_xor_sync(ALL_LANES, lane & STEP ? low : high, STEP);
            sums[i] = (lane & STEP ? high : low) + other;
        }
        fold<HALF, STEP / 2>(sums, lane);
    }
}
// Returns the index of the sum that a lane holds as its sum i after `fold`, or BATCH for none.
template <int COUNT, int STEP> INLINE int folded(int lane, int i) {
    if constexpr (STEP > 0) {
        constexpr int HALF = (COUNT + 1) / 2;
        i = folded<HALF, STEP / 2>(lane, i) + (lane & STEP ? HALF : 0);
    }
    return i < COUNT ? i : BATCH;
}
// Returns the number of sums out of COUNT that a lane holds after log2(LANES) halvings.
__device__ constexpr int left_over(int count, int lanes) { return lanes == 1 ? count : left_over((count + 1) / 2, lanes / 2); }

INLINE void rows(Sizes n, Operand<REAL> a, Operand<REAL> b, Output<REAL> out) {
    constexpr int OF_WARP = GROUP < WARP ? WARP / GROUP : 1;
    int lane = threadIdx.x % GROUP;
    u64 group = thread_index() / GROUP, outputs = n.cells * (LEFT * RIGHT);
    // Output i of the group. If outputs share no rows, the groups of a warp take neighbouring outputs.
    u64 first = group / OF_WARP * (OF_WARP * BATCH) + group % OF_WARP;
    Place at = outputs_in_lanes(least(group, n.cells * (LEFT * CHUNKS) - 1), LEFT, CHUNKS);
    const Vector *left[LEFTS], *right[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; ++i) {
        Place of = {at.cell, at.left, SHARES ? least(at.right + i * CHUNKS, u64(RIGHT - 1)) : 0};
        if (!SHARES) of = outputs_in_lanes(least(first + i * OF_WARP, outputs - 1), LEFT, 1);
        if (i < LEFTS) left[i] = reinterpret_cast<const Vector*>(row(a, of.cell, of.left)) + lane;
        right[i] = reinterpret_cast<const Vector*>(row(b, of.cell, of.right)) + lane;
    }
    constexpr int WHOLE = VECTORS / (GROUP * FLIGHT) * FLIGHT;
    REAL sums[BATCH] = {};
#pragma unroll 1
    for (int step = 0; step < WHOLE; step += FLIGHT) add<FLIGHT, true>(left, right, step, lane, sums);
    if constexpr (STEPS > WHOLE) add<STEPS - WHOLE, false>(left, right, WHOLE, lane, sums);
    if constexpr (GROUP > WARP) {
        REAL sum = block_sum<THREADS>(sums[0]);
        if (threadIdx.x == 0 && group < outputs) {
            Place of = outputs_in_lanes(group, LEFT, RIGHT);
            finish(out, of.cell, of.left, of.right, sum);
        }
        return;
    }
    fold<BATCH, (GROUP < WARP ? GROUP : WARP) / 2>(sums, lane);
#pragma unroll
    for (int i = 0; i < left_over(BATCH, GROUP < WARP ? GROUP : WARP); ++i) {
        int mine = folded<BATCH, (GROUP < WARP ? GROUP : WARP) / 2>(lane, i);
        if (mine == BATCH) continue;
        if (SHARES) {
            u64 field = at.right + mine * CHUNKS;
            if (group < n.cells * (LEFT * CHUNKS) && field < RIGHT) finish(out, at.cell, at.left, field, sums[i]);
        } else if (first + mine * OF_WARP < outputs) {
            Place of = outputs_in_lanes(first + mine * OF_WARP, LEFT, 1);
            finish(out, of.cell, of.left, 0, sums[i]);
        }
    }
}

VARIANT(contract, REAL, THREADS, BLOCKS, (rows(n, x, y, z)))
