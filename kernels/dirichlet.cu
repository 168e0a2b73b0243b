// Dirichlet conditions; twin of src/fill/host/dirichlet.rs.
//
// The entries to be cleared are listed once per sparsity pattern, so that each Newton step only stores zeros.

constexpr u32 THREADS = 256;
constexpr u32 LANES = 8;

// Returns the next place of a list for each active lane, with one atomic for all of them. *count is the list's length.
INLINE u64 next_place(u64* count) {
    u32 together = __activemask(), leader = __ffs(together) - 1;
    u64 first = 0;
    if (lane_index() == leader) first = atomicAdd(count, u64(__popc(together)));
    first = __shfl_sync(together, first, leader);
    return first + __popc(together & ((1u << lane_index()) - 1));
}

// Lists the fixed rows, and the off-diagonal entries of fixed rows and fixed columns. Eight lanes per row: the 27 entries
// of an inner row take four rounds. Lists are written up to their capacity and counted beyond it, so that the host can
// allocate and repeat. Their order is not fixed and does not matter.
KERNEL __launch_bounds__(THREADS)
    list_fixed(u64 rows, u64 row_capacity, u64 entry_capacity, const u64* row_map, const u32* entries, const u8* fixed,
               u64* counts, u32* fixed_rows, u64* cleared) {
    u64 row = thread_index() / LANES;
    u32 lane = threadIdx.x % LANES;
    if (row >= rows) return;
    bool row_fixed = __ldg(fixed + row);
    if (row_fixed && lane == 0) {
        u64 place = next_place(counts);
        if (place < row_capacity) fixed_rows[place] = u32(row);
    }
    u64 end = __ldg(row_map + row + 1);
    for (u64 entry = __ldg(row_map + row) + lane; entry < end; entry += LANES) {
        u32 column = __ldg(entries + entry);
        // The diagonal stays, so that the matrix remains positive definite.
        if (column == row || !(row_fixed || __ldg(fixed + column))) continue;
        u64 place = next_place(counts + 1);
        if (place < entry_capacity) cleared[place] = entry;
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
