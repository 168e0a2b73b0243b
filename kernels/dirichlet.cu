// Dirichlet conditions; twin of src/fill/host/dirichlet.rs.
//
// The entries to be cleared are listed once per sparsity pattern, so that each Newton step only stores zeros.

constexpr u32 THREADS = 256;
// Lanes that search one row of a list.
constexpr u32 LANES = 8;
// Entries of a lane that are loaded together: the entries of 32 inner rows of a box take three batches.
constexpr u32 BATCH = 9;
constexpr u32 NO_COLUMN = 0xffffffffu;

// Whether an entry is cleared. The diagonal stays, so that the matrix remains positive definite.
INLINE bool is_cleared(u64 row, bool row_fixed, u32 column, const u8* fixed) {
    return (column != row) & (row_fixed | (__ldg(fixed + column) != 0));
}

// Returns the next place of a list for each active lane, with one atomic for all of them. *count is the list's length.
INLINE u64 next_place(u64* count) {
    u32 together = __activemask(), leader = __ffs(together) - 1;
    u64 first = 0;
    if (lane_index() == leader) first = atomicAdd(count, u64(__popc(together)));
    first = __shfl_sync(together, first, leader);
    return first + __popc(together & ((1u << lane_index()) - 1));
}

// counts += number of fixed rows, and of off-diagonal entries of fixed rows and fixed columns; touched[group] = whether any of
// 32 rows has some. One warp per group: its entries lie side by side, and the row of an entry is needed only where a group has
// fixed rows.
KERNEL __launch_bounds__(THREADS) count_fixed(u64 rows, const u64* row_map, const u32* entries, const u8* fixed, u8* touched,
                                              u64* counts) {
    u64 row = thread_index(), group = row / WARP;
    if (group * WARP >= rows) return;
    u64 start = __ldg(row_map + least(row, rows)), end = __ldg(row_map + least(row + 1, rows));
    u64 first = __shfl_sync(ALL_LANES, start, 0), last = __shfl_sync(ALL_LANES, end, WARP - 1);
    bool row_fixed = row < rows && __ldg(fixed + row);
    u32 fixed_rows = __ballot_sync(ALL_LANES, row_fixed), cleared = 0;
    if (fixed_rows == 0) {
        for (u64 at = first + lane_index(); at < last; at += BATCH * WARP) {
            // All loads of a batch precede their use, so that latencies overlap.
            u32 column[BATCH];
#pragma unroll
            for (u32 b = 0; b < BATCH; b++) column[b] = at + b * WARP < last ? __ldg(entries + at + b * WARP) : NO_COLUMN;
#pragma unroll
            for (u32 b = 0; b < BATCH; b++) cleared += column[b] != NO_COLUMN && __ldg(fixed + column[b]);
        }
    } else {
        for (u64 at = start; at < end; at++) cleared += is_cleared(row, row_fixed, __ldg(entries + at), fixed);
    }
    u32 all = warp_sum(cleared);
    if (lane_index() != 0) return;
    touched[group] = fixed_rows != 0 || all > 0;
    if (fixed_rows != 0) atomicAdd(counts, u64(__popc(fixed_rows)));
    if (all > 0) atomicAdd(counts + 1, u64(all));
}

// Lists the fixed rows and the entries that count_fixed counted, with eight lanes per row of touched groups. `counts` is zero
// on entry. The order of the lists is not fixed and does not matter.
KERNEL __launch_bounds__(THREADS) list_fixed(u64 rows, const u64* row_map, const u32* entries, const u8* fixed,
                                             const u8* touched, u64* counts, u32* fixed_rows, u64* cleared) {
    u64 row = thread_index() / LANES;
    u32 lane = threadIdx.x % LANES;
    if (row >= rows || !__ldg(touched + row / WARP)) return;
    bool row_fixed = __ldg(fixed + row);
    if (row_fixed && lane == 0) fixed_rows[next_place(counts)] = u32(row);
    u64 end = __ldg(row_map + row + 1);
    for (u64 entry = __ldg(row_map + row) + lane; entry < end; entry += LANES) {
        if (is_cleared(row, row_fixed, __ldg(entries + entry), fixed)) cleared[next_place(counts + 1)] = entry;
    }
}

// values[cleared] = 0
KERNEL __launch_bounds__(THREADS) clear_entries(u64 count, const u64* cleared, double* values) {
    u64 i = thread_index();
    if (i < count) values[__ldg(cleared + i)] = 0;
}

// residual[rows] = 0
KERNEL __launch_bounds__(THREADS) clear_rows(u64 count, const u32* fixed_rows, double* residual) {
    u64 i = thread_index();
    if (i < count) residual[__ldg(fixed_rows + i)] = 0;
}
