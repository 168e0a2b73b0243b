// Products of block CRS matrices; twins of src/sparse/block/host.rs.
//
// One warp per row of blocks. Lane c + DOFS s multiplies row c of the blocks s, s + SLOTS, ... with their parts of x, so that a warp
// reads whole blocks side by side. The sums of the slots are added in their order: the same bits in every run.

constexpr u32 THREADS = 256;

// Calls each(row, c, sum) in the lane of each row c of the rows of blocks first..last that belong to this block of threads.
template <int DOFS, class Each>
INLINE void block_rows(u64 first, u64 last, const u64* row_map, const u32* entries, const double* values, const double* x,
                       Each each) {
    constexpr u32 SLOTS = WARP / DOFS;
    // Blocks whose loads are in flight together: 27 neighbours take one round of 3 x 10 blocks with 3 dofs.
    constexpr u32 BATCH = DOFS <= 3 ? 3 : 2;
    const u32 lane = lane_index(), slot = lane / DOFS, c = lane % DOFS;
    for (u64 row = first + thread_index() / WARP; row < last; row += thread_count() / WARP) {
        const u64 begin = __ldg(row_map + row);
        const u32 length = u32(__ldg(row_map + row + 1) - begin);
        double sum = 0;
        for (u32 at = slot; slot < SLOTS && at < length; at += BATCH * SLOTS) {
            u32 column[BATCH];
            double value[BATCH][DOFS];
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                bool inside = at + k * SLOTS < length;
                u64 entry = begin + at + k * SLOTS;
                column[k] = inside ? __ldg(entries + entry) : 0;
#pragma unroll
                for (int d = 0; d < DOFS; d++) {
                    value[k][d] = inside ? __ldg(values + (entry * DOFS + c) * DOFS + d) : 0;
                }
            }
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                if (at + k * SLOTS >= length) continue;
                double product = 0;
#pragma unroll
                for (int d = 0; d < DOFS; d++) product += value[k][d] * __ldg(x + (u64(column[k]) * DOFS + d));
                sum += product;
            }
        }
        double total = __shfl_sync(ALL_LANES, sum, c);
#pragma unroll
        for (u32 s = 1; s < SLOTS; s++) total += __shfl_sync(ALL_LANES, sum, c + s * DOFS);
        if (lane < DOFS) each(row, lane, total);
    }
}

// y = A x.
#define BLOCK_SET(DOFS)                                                                                                      \
    KERNEL __launch_bounds__(THREADS) block_set_##DOFS(u64 rows, const u64* row_map, const u32* entries,                     \
                                                       const double* values, const double* x, double* y) {                   \
        block_rows<DOFS>(0, rows, row_map, entries, values, x,                                                               \
                         [&](u64 row, u32 c, double sum) { y[row * DOFS + c] = sum; });                                      \
    }

// y = A x over the rows of blocks first..last; scalars[slot] = x.y, added to the value of the preceding rows, or summed over all
// ranks if `ranks` is not null. Does nothing once *stop is not 0.
#define BLOCK_DOT(DOFS)                                                                                                      \
    KERNEL __launch_bounds__(THREADS) block_dot_##DOFS(                                                                      \
        u64 first, u64 last, const u64* row_map, const u32* entries, const double* values, const double* x, double* y,       \
        const double* stop, const u64* ranks, double* partials, u32 slot, double* scalars, u32* ticket) {                    \
        if (is_stopped(stop)) return;                                                                                        \
        double dot = 0, total;                                                                                               \
        block_rows<DOFS>(first, last, row_map, entries, values, x, [&](u64 row, u32 c, double sum) {                         \
            y[row * DOFS + c] = sum, dot += sum * __ldg(x + (row * DOFS + c));                                               \
        });                                                                                                                  \
        if (grid_sum_of_ranks<THREADS>(dot, partials, ticket, ranks, total)) {                                               \
            scalars[slot] = first == 0 ? total : scalars[slot] + total;                                                      \
        }                                                                                                                    \
    }

#define BLOCK(DOFS) BLOCK_SET(DOFS) BLOCK_DOT(DOFS)
BLOCK(1)
BLOCK(2)
BLOCK(3)
BLOCK(4)
BLOCK(5)
BLOCK(6)
BLOCK(7)
BLOCK(8)
