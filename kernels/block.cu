// Products of block CRS matrices; twins of src/sparse/block/host.rs.
//
// A group of lanes per row of blocks: 8 lanes with 1 or 2 dofs, 16 with 3, a warp otherwise. Lane c + DOFS s multiplies row c of the
// blocks s, s + SLOTS, ... with their parts of x, so that a group reads whole blocks side by side. The sums of the slots are added in
// their order: the same bits in every run.

constexpr u32 THREADS = 256;

// Reads DOFS numbers from a multiple of DOFS, or zeros. Two are read at once; with 4 that was slower by a seventh on an H200.
template <int DOFS> INLINE void read_row(bool inside, const double* from, double (&row)[DOFS]) {
    if constexpr (DOFS == 2) {
        double2 pair = inside ? __ldg(reinterpret_cast<const double2*>(from)) : double2{0, 0};
        row[0] = pair.x, row[1] = pair.y;
    } else {
#pragma unroll
        for (int d = 0; d < DOFS; d++) row[d] = inside ? __ldg(from + d) : 0;
    }
}

// Calls each(row, c, sum) in the lane of each row c of the rows of blocks first..last that belong to this block of threads.
template <int DOFS, class Each>
INLINE void block_rows(u64 first, u64 last, const u64* row_map, const u32* entries, const double* values, const double* x,
                       Each each) {
    constexpr u32 GROUP = DOFS <= 2 ? 8 : DOFS == 3 ? 16 : WARP, SLOTS = GROUP / DOFS;
    // Blocks whose loads are in flight together: 15 neighbours, those of tetrahedra, take one round with 3 dofs, two with 2.
    constexpr u32 BATCH = DOFS <= 3 ? 3 : 2;
    const u32 lane = lane_index() % GROUP, group = lane_index() - lane, slot = lane / DOFS, c = lane % DOFS;
    // All lanes of a warp take part in its shuffles.
    for (u64 base = first + thread_index() / WARP * (WARP / GROUP); base < last; base += thread_count() / GROUP) {
        const u64 row = base + group / GROUP;
        const u64 begin = row < last ? __ldg(row_map + row) : 0;
        const u32 length = row < last ? u32(__ldg(row_map + row + 1) - begin) : 0;
        double sum = 0;
        for (u32 at = slot; slot < SLOTS && at < length; at += BATCH * SLOTS) {
            u32 column[BATCH];
            double value[BATCH][DOFS];
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                bool inside = at + k * SLOTS < length;
                u64 entry = begin + at + k * SLOTS;
                column[k] = inside ? __ldg(entries + entry) : 0;
                read_row<DOFS>(inside, values + (entry * DOFS + c) * DOFS, value[k]);
            }
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                if (at + k * SLOTS >= length) continue;
                double part[DOFS], product = 0;
                read_row<DOFS>(true, x + u64(column[k]) * DOFS, part);
#pragma unroll
                for (int d = 0; d < DOFS; d++) product += value[k][d] * part[d];
                sum += product;
            }
        }
        double total = __shfl_sync(ALL_LANES, sum, group + c);
#pragma unroll
        for (u32 s = 1; s < SLOTS; s++) total += __shfl_sync(ALL_LANES, sum, group + c + s * DOFS);
        if (row < last && lane < DOFS) each(row, lane, total);
    }
}

// y = A x.
#define BLOCK_SET(DOFS, NAME)                                                                              \
    KERNEL __launch_bounds__(THREADS) NAME(u64 rows, const u64* row_map, const u32* entries,               \
                                           const double* values, const double* x, double* y) {             \
        block_rows<DOFS>(0, rows, row_map, entries, values, x,                                             \
                         [&](u64 row, u32 c, double sum) { y[row * DOFS + c] = sum; });                    \
    }

// y = A x over the rows of blocks first..last; scalars[slot] = x.y, added to the value of the preceding rows, or summed over all
// ranks if `ranks` is not null. Does nothing once *stop is not 0.
#define BLOCK_DOT(DOFS, NAME)                                                                                          \
    KERNEL __launch_bounds__(THREADS) NAME(                                                                            \
        u64 first, u64 last, const u64* row_map, const u32* entries, const double* values, const double* x, double* y, \
        const double* stop, const u64* ranks, double* partials, u32 slot, double* scalars, u32* ticket) {              \
        if (is_stopped(stop)) return;                                                                                  \
        double dot = 0, total;                                                                                         \
        block_rows<DOFS>(first, last, row_map, entries, values, x, [&](u64 row, u32 c, double sum) {                   \
            y[row * DOFS + c] = sum, dot += sum * __ldg(x + (row * DOFS + c));                                         \
        });                                                                                                            \
        if (grid_sum_of_ranks<THREADS>(dot, partials, ticket, ranks, total)) {                                         \
            scalars[slot] = first == 0 ? total : scalars[slot] + total;                                                \
        }                                                                                                              \
    }

BLOCK_SET(1, block_set_1)
BLOCK_SET(2, block_set_2)
BLOCK_SET(3, block_set_3)
BLOCK_SET(4, block_set_4)
BLOCK_SET(5, block_set_5)
BLOCK_SET(6, block_set_6)
BLOCK_SET(7, block_set_7)
BLOCK_SET(8, block_set_8)
BLOCK_DOT(1, block_dot_1)
BLOCK_DOT(2, block_dot_2)
BLOCK_DOT(3, block_dot_3)
BLOCK_DOT(4, block_dot_4)
BLOCK_DOT(5, block_dot_5)
BLOCK_DOT(6, block_dot_6)
BLOCK_DOT(7, block_dot_7)
BLOCK_DOT(8, block_dot_8)
