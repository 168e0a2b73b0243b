// Assembles stored element matrices into matrix values and a residual; twin of src/fill/host/{gather,sums}.rs.
// Element matrices are [entry, elem] with neighbouring elements adjacent, so that warps read them coalesced. The entry is
// i * nn + j, or `packed` for symmetric matrices, stored for row <= column only. Residuals are [i, elem].

// Sums rows that exceed shared memory in device memory, one warp per row.
template <class Position, int SHIFT>
INLINE void gather_long(u64 first, u64 last, u32 nn, bool symmetric, const Elements& stored, const Values<SHIFT>& layout,
                        const u64* slot_map, const u32* slots, const Position* positions, double* values, double* residual) {
    u64 begin = layout.begin(first), span = layout.end(last) - begin;
    values += begin;
    for (u64 i = threadIdx.x; i < span; i += blockDim.x) values[i] = 0;
    __syncthreads();
    for (u64 row = first + threadIdx.x / WARP; row < last; row += blockDim.x / WARP) {
        u64 slot = __ldg(slot_map + row), end = __ldg(slot_map + row + 1);
        double sum = sum_long(slot, end, stored, layout, nn, symmetric, slots, positions, values + (layout.first(row) - begin));
        if (lane_index() == 0) residual[row] = sum;
    }
}

// One thread per row. The rows of a block are summed in shared memory, in the layout of the matrix, and stored once. If the
// rows of a block together exceed `room`, they are summed in device memory. Elements ascend in each row and additions are not
// fused, so the result has the same bits as the host's gather. The blocks of rows are blocks[0..gridDim.x], or all of them
// without a list. HALVES: some entries may have no place in their row.
template <class Position, bool SYMMETRIC, bool HALVES, int SHIFT>
INLINE void gather(u64 rows, u32 nn, u32 room, bool, const Elements& stored, const Values<SHIFT>& layout, const u32* blocks,
                   const u64* slot_map, const u32* slots, const Position* positions, double* values, double* residual) {
    extern __shared__ double sums[];
    u64 first = u64(blocks ? __ldg(blocks + blockIdx.x) : blockIdx.x) * ROWS, last = least(first + ROWS, rows);
    u64 row = first + threadIdx.x, begin = layout.begin(first), span = layout.end(last) - begin;
    if (span > room) return gather_long(first, last, nn, SYMMETRIC, stored, layout, slot_map, slots, positions, values, residual);
    values += begin;
    for (u32 i = threadIdx.x; i < u32(span); i += ROWS) sums[i] = 0;
    __syncthreads();
    if (row < last) {
        u64 slot = __ldg(slot_map + row), end = __ldg(slot_map + row + 1);
        double* own = sums + u32(layout.first(row) - begin);
        residual[row] = sum_eight<Position, SYMMETRIC, HALVES>(slot, end, stored, layout, slots, positions, own);
    }
    __syncthreads();
    // Streaming stores: the values are not read again in this kernel.
    for (u32 i = threadIdx.x; i < u32(span); i += ROWS) __stcs(values + i, sums[i]);
}

// The same for any number of nodes, with TEAM or more lanes per row. Rows that exceed shared memory together are summed in 2, 4 or 8
// parts, if the slices of the layout allow it, with more lanes per row.
template <class Position>
INLINE void gather_any(u64 rows, u32 nn, u32 room, bool symmetric, const Elements& stored, const Values<-1>& layout,
                       const u32* blocks, const u64* slot_map, const u32* slots, const Position* positions, double* values,
                       double* residual) {
    extern __shared__ double sums[];
    const u64 first = u64(blocks ? __ldg(blocks + blockIdx.x) : blockIdx.x) * ROWS, last = least(first + ROWS, rows);
    u32 parts = 1;
    auto fits = [&] {
        for (u64 row = first; row < last; row += ROWS / parts) {
            if (layout.end(least(row + ROWS / parts, last)) - layout.begin(row) > room) return false;
        }
        return true;
    };
    while (!fits()) {
        parts *= 2;
        if (parts > WARP / TEAM || ROWS / parts < 1u << layout.bits()) {
            return gather_long(first, last, nn, symmetric, stored, layout, slot_map, slots, positions, values, residual);
        }
    }
    const u32 team = TEAM * parts;
    for (u64 part = first; part < last; part += ROWS / parts) {
        u64 behind = least(part + ROWS / parts, last), row = part + threadIdx.x / team;
        u64 begin = layout.begin(part);
        u32 span = u32(layout.end(behind) - begin);
        for (u32 i = threadIdx.x; i < span; i += TEAM * ROWS) sums[i] = 0;
        __syncthreads();
        bool is_row = row < behind;
        u64 slot = is_row ? __ldg(slot_map + row) : 0, end = is_row ? __ldg(slot_map + row + 1) : 0;
        double* own = sums + (is_row ? u32(layout.first(row) - begin) : 0);
        double sum = sum_any(slot, end, stored, layout, nn, symmetric, team, slots, positions, own);
        if (is_row && threadIdx.x % team == nn % team) residual[row] = sum;
        __syncthreads();
        for (u32 i = threadIdx.x; i < span; i += TEAM * ROWS) __stcs(values + (begin + i), sums[i]);
        __syncthreads();
    }
}

// The kernels of gather: `list` has the blocks, or the rows; all blocks without one.
#define SUMS(NAME, THREADS, Position, SHIFT, SUM)                                                                          \
    KERNEL __launch_bounds__(THREADS, 4)                                                                                   \
        NAME(u64 rows, u64 capacity, u32 nn, u32 room, u32 symmetric, u32 base, u32 shift, const u32* list,                \
             const u64* slot_map, const u32* slots, const Position* positions, const u64* starts, const double* matrices,  \
             const double* residuals, double* values, double* residual) {                                                  \
        SUM(rows, nn, room, symmetric, Elements{base, capacity, matrices, residuals}, Values<SHIFT>{shift, starts}, list,  \
            slot_map, slots, positions, values, residual);                                                                 \
    }

// Four blocks per multiprocessor leave 128 registers per thread, enough for the loads of four slots at once. With more
// warps and fewer loads each, element matrices are evicted before neighbouring rows use them, and are read from device
// memory again (measured). The usual case, hexahedra and short rows, has a kernel for each layout.
#define GATHER(NAME, Position, SYMMETRIC, HALVES, SHIFT) SUMS(NAME, ROWS, Position, SHIFT, (gather<Position, SYMMETRIC, HALVES>))
GATHER(gather_symmetric8_u8, u8, true, false, 0)
GATHER(gather_symmetric8_u16, u16, true, true, -1)
GATHER(gather_symmetric8_u32, u32, true, true, -1)
GATHER(sliced_symmetric8_u8, u8, true, false, 5)
GATHER(halved_symmetric8_u8, u8, true, true, 5)
GATHER(gather_full8_u8, u8, false, false, 0)
GATHER(gather_full8_u16, u16, false, true, -1)
GATHER(gather_full8_u32, u32, false, true, -1)
GATHER(sliced_full8_u8, u8, false, false, 5)
GATHER(halved_full8_u8, u8, false, true, 5)
// Four blocks of 256 threads with 64 registers each.
SUMS(gather_any_u8, TEAM * ROWS, u8, -1, gather_any)
SUMS(gather_any_u16, TEAM * ROWS, u16, -1, gather_any)
SUMS(gather_any_u32, TEAM * ROWS, u32, -1, gather_any)

// The rows list[0..count], one warp each, summed in device memory with the same bits: for rows of a block whose elements are
// too far apart to be stored at one time.
template <class Position>
INLINE void gather_listed(u64 count, u32 nn, u32, bool symmetric, const Elements& stored, const Values<-1>& layout, const u32* list,
                          const u64* slot_map, const u32* slots, const Position* positions, double* values,
                          double* residual) {
    u64 item = thread_index() / WARP;
    if (item >= count) return;
    u64 row = __ldg(list + item);
    double* own = values + layout.first(row);
    u32 length = u32((layout.end(row + 1) - layout.begin(row)) >> layout.bits());
    for (u32 k = lane_index(); k < length; k += WARP) own[layout.step(k)] = 0;
    // Another lane may add to what this one has cleared.
    __syncwarp();
    double sum = sum_long(__ldg(slot_map + row), __ldg(slot_map + row + 1), stored, layout, nn, symmetric, slots, positions, own);
    if (lane_index() == 0) residual[row] = sum;
}
SUMS(gather_listed_u8, THREADS, u8, -1, gather_listed)
SUMS(gather_listed_u16, THREADS, u16, -1, gather_listed)
SUMS(gather_listed_u32, THREADS, u32, -1, gather_listed)

// Calls put(first, last) with the first and last element of a row that has some. Lists ascend, so its first and last slots suffice.
template <class Put> INLINE void reach_of(u64 row, u64 rows, u32 nn, const u64* slot_map, const u32* slots, Put put) {
    if (row >= rows) return;
    u64 begin = __ldg(slot_map + row), end = __ldg(slot_map + row + 1);
    if (begin < end) put(__ldg(slots + begin) / nn, __ldg(slots + end - 1) / nn);
}

// lowest, highest = first and last element of each block of rows; ~0 and 0 if its rows have none.
KERNEL __launch_bounds__(ROWS) reach_of_blocks(u64 rows, u32 nn, const u64* slot_map, const u32* slots, u32* lowest,
                                               u32* highest) {
    __shared__ u32 low, high;
    if (threadIdx.x == 0) low = ~0u, high = 0;
    __syncthreads();
    auto put = [&](u32 first, u32 last) { atomicMin(&low, first), atomicMax(&high, last); };
    reach_of(thread_index(), rows, nn, slot_map, slots, put);
    __syncthreads();
    if (threadIdx.x == 0) lowest[blockIdx.x] = low, highest[blockIdx.x] = high;
}

// lowest, highest = first and last element of each row of the listed blocks, [block, row].
KERNEL __launch_bounds__(ROWS) reach_of_rows(u64 rows, u32 nn, const u32* blocks, const u64* slot_map, const u32* slots,
                                             u32* lowest, u32* highest) {
    u64 row = u64(blocks[blockIdx.x]) * ROWS + threadIdx.x;
    u32 low = ~0u, high = 0;
    reach_of(row, rows, nn, slot_map, slots, [&](u32 first, u32 last) { low = first, high = last; });
    lowest[thread_index()] = low, highest[thread_index()] = high;
}

// largest = largest number of entries in the rows of one block that is within `limit`; zero on entry. It sets the block's
// shared memory.
KERNEL __launch_bounds__(THREADS) largest_span(u64 rows, u64 limit, u32 shift, const u64* starts, u32* largest) {
    u64 first = thread_index() * ROWS;
    if (first >= rows) return;
    Values<-1> layout{shift, starts};
    u64 span = layout.end(least(first + ROWS, rows)) - layout.begin(first);
    if (span <= limit) atomicMax(largest, u32(span));
}

// ---- scatter: elements add to their rows

// *corners += number of nodes below `rows` in a table.
KERNEL __launch_bounds__(THREADS) count_corners(u64 slots, u64 rows, const u32* nodes, u64* corners) {
    u64 slot = thread_index();
    u32 owned = __ballot_sync(ALL_LANES, slot < slots && nodes[slot] < rows);
    if (lane_index() == 0 && owned != 0) atomicAdd(corners, u64(__popc(owned)));
}

// inverse[row] = 1 / (row, row), NaN unless that is positive. One thread per corner of an element: its place of the entry (i, i) is that
// of the diagonal, and all elements of a row store the same.
KERNEL __launch_bounds__(THREADS)
    inverse_diagonal(u64 slots, u64 rows, u32 nn, u32 shift, const u32* nodes, u32 width, void* positions, const u64* starts,
                     const double* values, double* inverse) {
    const Values<-1> layout{shift, starts};
    u64 slot = thread_index(), row = slot < slots ? __ldg(nodes + slot) : rows;
    if (row >= rows) return;
    u32 place = Positions{positions, width}.get(slot * nn + slot % nn);
    double value = __ldg(values + layout.first(row) + layout.step(place));
    inverse[row] = value > 0 ? 1 / value : __longlong_as_double(-1ll);
}

// A tile of 32 elements and 64 entries passes through shared memory. It is read with lanes along elements and added with
// lanes along the columns of a row, so that both accesses are coalesced.
template <class Position, bool ATOMIC>
INLINE void add_matrices(u64 elems, u64 rows, u32 nn, u32 symmetric, const u32* elem_node, const Position* positions,
                         const u64* row_map, const double* matrices, const double* residuals, double* values,
                         double* residual) {
    constexpr u32 ENTRIES = 64, ELEMS = WARP;
    __shared__ double tile[ENTRIES][ELEMS + 1];
    auto add = [](double* to, double term) { if (ATOMIC) atomicAdd(to, term); else *to += term; };
    const u64 square = u64(nn) * nn, tiles = (square + ENTRIES - 1) / ENTRIES;
    const u64 first = blockIdx.x / tiles * ELEMS, first_entry = blockIdx.x % tiles * ENTRIES;
    const u64 elem = first + lane_index();
    for (u32 k = threadIdx.x / WARP; k < ENTRIES; k += THREADS / WARP) {
        u64 entry = first_entry + k;
        if (elem >= elems || entry >= square) continue;
        // Both halves of a symmetric matrix read the same stored entry.
        u64 stored = symmetric ? packed(nn, entry / nn, entry % nn) : entry;
        tile[k][lane_index()] = __ldg(matrices + (stored * elems + elem));
    }
    // The tile with the first entries also adds the residual, so that it is added once.
    if (first_entry == 0 && elem < elems) {
        for (u32 i = threadIdx.x / WARP; i < nn; i += THREADS / WARP) {
            u32 row = __ldg(elem_node + (elem * nn + i));
            if (row < rows) add(residual + row, __ldg(residuals + (i * elems + elem)));
        }
    }
    __syncthreads();
    const u32 k = threadIdx.x % ENTRIES;
    const u64 entry = first_entry + k;
    if (entry >= square) return;
    for (u32 e = threadIdx.x / ENTRIES; e < ELEMS && first + e < elems; e += THREADS / ENTRIES) {
        u64 elem = first + e;
        u32 row = __ldg(elem_node + (elem * nn + entry / nn));
        if (row >= rows) continue;
        add(values + (__ldg(row_map + row) + __ldg(positions + (elem * square + entry))), tile[k][e]);
    }
}

#define ADD_MATRICES(name, Position, ATOMIC)                                                                               \
    KERNEL __launch_bounds__(THREADS, 6)                                                                                   \
        name(u64 elems, u64 rows, u32 nn, u32 symmetric, const u32* elem_node, const Position* positions,                  \
             const u64* row_map, const double* matrices, const double* residuals, double* values, double* residual) {      \
        add_matrices<Position, ATOMIC>(elems, rows, nn, symmetric, elem_node, positions, row_map, matrices, residuals,     \
                                       values, residual);                                                                  \
    }
ADD_MATRICES(scatter_u8, u8, true)
ADD_MATRICES(scatter_u16, u16, true)
ADD_MATRICES(scatter_u32, u32, true)
ADD_MATRICES(racy_u8, u8, false)
ADD_MATRICES(racy_u16, u16, false)
ADD_MATRICES(racy_u32, u32, false)
