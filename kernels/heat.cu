// Element matrices of the heat equation, computed from nodes (element.cuh) and then stored or added to the matrix; twin of
// src/fill/host/kernel/fused.rs with src/fill/host/{gather,scatter,colour}.rs. Storing is bound by arithmetic, scattering by the rate
// of atomic additions in the L2 cache.
//
// Blocks have two warps: a thread needs about 200 registers, so ten warps fit on a multiprocessor. A launch bound of five
// or more blocks would make the compiler spill.

constexpr int THREADS = 64, WARPS = THREADS / WARP, BLOCKS = 4;
constexpr u64 NOT_OWNED = ~0ull;

template <class Put>
INLINE void element(const u32 (&nodes)[NODES], const double* node_coord, const double* temperature, Heat heat,
                    Put put, double (&residual)[NODES]) {
    Point coord[NODES];
    double at_nodes[NODES];
#pragma unroll
    for (int m = 0; m < NODES; m++) {
        const double* x = node_coord + 3 * u64(nodes[m]);
        coord[m] = {__ldg(x), __ldg(x + 1), __ldg(x + 2)};
        at_nodes[m] = __ldg(temperature + nodes[m]);
    }
    moments(coord, at_nodes, heat, put, residual);
}

// Stores the element matrices of elements first..first + count, [packed(i, j), column], and residuals, [i, column]. There are
// `capacity` columns, used in turn; that of the first element is `column`. Writes 352 bytes per element, with streaming
// stores.
KERNEL __launch_bounds__(THREADS, BLOCKS)
    store_heat(u64 first, u64 count, u64 column, u64 capacity, const u32* elem_node, const double* node_coord,
               const double* temperature, Heat heat, double* matrices, double* residuals) {
    u64 item = thread_index();
    if (item >= count) return;
    u32 nodes[NODES];
    double residual[NODES];
    load_hex(elem_node, first + item, nodes);
    column += item;
    if (column >= capacity) column -= capacity;
    auto put = [&](int i, int j, double entry) { __stcs(matrices + packed(i, j) * capacity + column, entry); };
    element(nodes, node_coord, temperature, heat, put, residual);
#pragma unroll
    for (int m = 0; m < NODES; m++) __stcs(residuals + m * capacity + column, residual[m]);
}

// The elements of a warp, one per lane, readable by all its lanes. The stride of 33 puts lanes in different banks.
struct Staged {
    double entries[PAIRS][WARP + 1];
    // Offset of each node's row.
    u64 first[NODES][WARP + 1];
    // One-byte positions, copied asynchronously while the elements are computed.
    alignas(16) u8 positions[WARP][NODES * NODES];
};

// Starts the copy of the positions of the warp's elements: 64 bytes each, in element order.
INLINE void fetch_positions(Staged& staged, int count, const u8* positions) {
    constexpr int BYTES = 16, COPIES = WARP * NODES * NODES / BYTES / WARP;
#pragma unroll
    for (int copy = 0; copy < COPIES; copy++) {
        int part = copy * WARP + lane_index();
        if (part * BYTES >= count * NODES * NODES) break;
        u32 to = u32(__cvta_generic_to_shared(&staged.positions[0][0] + part * BYTES));
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(positions + part * BYTES) : "memory");
    }
}

INLINE void await_positions() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Returns one position, from shared memory (one byte each) or from the table in device memory.
template <class Position> INLINE u32 look_up(const Position* positions, int index) {
    if constexpr (sizeof(Position) == 1) return positions[index];
    else return __ldg(positions + index);
}

INLINE void stage_rows(Staged& staged, u64 rows, const u32 (&nodes)[NODES], const u64* row_map) {
#pragma unroll
    for (int m = 0; m < NODES; m++) {
        staged.first[m][lane_index()] = nodes[m] < rows ? __ldg(row_map + nodes[m]) : NOT_OWNED;
    }
}

// A row and a column of an element. Lanes 0 to 31 hold the rows on one side in x; lanes with neighbouring columns are
// adjacent, so that their accesses coalesce.
struct Place {
    int row, entry, position;
    __device__ __forceinline__ explicit Place(int side) {
        int lane = lane_index();
        row = node_at(side, lane / 8 % 2, lane / 16);
        int column = node_at(lane % 2, lane / 2 % 2, lane / 4 % 2);
        entry = packed(row, column), position = row * NODES + column;
    }
};

// Adds the left rows of each element. Where `links` marks that elements q and q - 1 of the warp share these rows, both are
// summed first: 12 columns per row, three in a line along x. Otherwise adds the 8 columns of q alone. Summing first saves a
// quarter of the atomic additions of a linked pair of rows.
template <class Position>
INLINE void add_left_rows(const Staged& staged, int count, u32 links, const Position* positions, double* values) {
    // Lanes cover two elements of 48 (row, column) pairs in three steps.
    constexpr int STEPS = 3, COLUMNS = 12, ENTRIES = 4 * COLUMNS, AT_ONCE = 4;
    int elem[STEPS], row[STEPS], own[STEPS], before[STEPS], position[STEPS], third[STEPS];
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        int item = s * WARP + lane_index(), line = item % COLUMNS / 3, node = item % ENTRIES / COLUMNS;
        elem[s] = item / ENTRIES, third[s] = item % 3, row[s] = node_at(0, node % 2, node / 2);
        int right = node_at(1, node % 2, node / 2);
        int own_column = node_at(third[s] == 2, line % 2, line / 2), column = node_at(third[s] == 1, line % 2, line / 2);
        own[s] = packed(row[s], own_column), before[s] = packed(right, column);
        position[s] = third[s] == 0 ? right * NODES + column - NODES * NODES : row[s] * NODES + own_column;
    }
    for (int first = 0; first < count; first += 2 * AT_ONCE) {
        u64 at[AT_ONCE][STEPS];
        double sum[AT_ONCE][STEPS];
#pragma unroll
        for (int pair = 0; pair < AT_ONCE; pair++)
#pragma unroll
            for (int s = 0; s < STEPS; s++) {
                int q = first + 2 * pair + elem[s];
                bool linked = links >> (q % WARP) & 1;
                at[pair][s] = q < count && (linked || third[s] > 0) ? staged.first[row[s]][q] : NOT_OWNED;
                if (at[pair][s] == NOT_OWNED) continue;
                at[pair][s] += look_up(positions, q * NODES * NODES + position[s]);
                sum[pair][s] = third[s] > 0 ? staged.entries[own[s]][q] : 0;
                if (linked && third[s] < 2) sum[pair][s] += staged.entries[before[s]][q - 1];
            }
#pragma unroll
        for (int pair = 0; pair < AT_ONCE; pair++)
#pragma unroll
            for (int s = 0; s < STEPS; s++) {
                if (at[pair][s] != NOT_OWNED) atomicAdd(values + at[pair][s], sum[pair][s]);
            }
    }
}

template <class Position>
INLINE void scatter_warp(const Staged& staged, int count, u32 links, const Position* positions, double* values) {
    add_left_rows(staged, count, links, positions, values);
    // The right rows of elements whose next element in the warp does not include them.
    Place place(1);
    // Lanes whose right rows no linked neighbour has added.
    u32 ends = (count < WARP ? (1u << count) - 1 : ALL_LANES) & ~(links >> 1);
    for (; ends != 0; ends &= ends - 1) {
        int q = __ffs(ends) - 1;
        u64 first = staged.first[place.row][q];
        if (first == NOT_OWNED) continue;
        u32 position = look_up(positions, q * NODES * NODES + place.position);
        atomicAdd(values + (first + position), staged.entries[place.entry][q]);
    }
}

// Adds all elements to their rows, in no fixed order. values and residual are zero on entry.
KERNEL __launch_bounds__(THREADS, BLOCKS)
    scatter_heat(u64 elems, u64 rows, u32 width, const u32*, const u32* elem_node, const void* positions, const u64* row_map,
                 const double* node_coord, const double* temperature, Heat heat, double* values,
                 double* residual_sum) {
    __shared__ Staged of_warp[WARPS];
    Staged& staged = of_warp[threadIdx.x / WARP];
    const u32 lane = lane_index();
    u64 elem = thread_index(), first = elem - lane;
    if (first >= elems) return;
    // Lanes past the end repeat the last element and add nothing, so that warp operations see all lanes.
    bool active = elem < elems;
    int count = int(least(elems - first, u64(WARP)));
    u64 table = first * (NODES * NODES);
    // The copy overlaps the computation of the elements.
    if (width == 1) fetch_positions(staged, count, (const u8*)positions + table);
    u32 nodes[NODES];
    double residual[NODES];
    load_hex(elem_node, least(elem, elems - 1), nodes);
    stage_rows(staged, rows, nodes, row_map);
    auto put = [&](int i, int j, double entry) { staged.entries[packed(i, j)][lane] = entry; };
    element(nodes, node_coord, temperature, heat, put, residual);

    // True if the previous lane's element has this element's left nodes on its right.
    bool linked = lane > 0 && active;
#pragma unroll
    for (int m = 0; m < 4; m++) {
        u32 before = __shfl_up_sync(ALL_LANES, nodes[node_at(1, m % 2, m / 2)], 1);
        linked = linked && before == nodes[node_at(0, m % 2, m / 2)];
    }
    u32 links = __ballot_sync(ALL_LANES, linked);
    bool is_end = !(links >> lane >> 1 & 1);
#pragma unroll
    for (int m = 0; m < 4; m++) {
        const int left = node_at(0, m % 2, m / 2), right = node_at(1, m % 2, m / 2);
        // Shared nodes receive the sum of both elements in one atomic addition.
        double before = __shfl_up_sync(ALL_LANES, residual[right], 1);
        double sum = linked ? residual[left] + before : residual[left];
        if (active && nodes[left] < rows) atomicAdd(residual_sum + nodes[left], sum);
        if (active && is_end && nodes[right] < rows) atomicAdd(residual_sum + nodes[right], residual[right]);
    }
    await_positions();
    __syncwarp();
    if (width == 1) scatter_warp(staged, count, links, &staged.positions[0][0], values);
    else if (width == 2) scatter_warp(staged, count, links, (const u16*)positions + table, values);
    else scatter_warp(staged, count, links, (const u32*)positions + table, values);
}

// Adds the staged elements of a warp, which share no node, with plain additions. All loads of four elements precede their
// stores, so that latencies overlap.
template <class Position>
INLINE void colour_warp(const Staged& staged, int count, u32 elem, const Position* positions, double* values) {
    constexpr int AT_ONCE = 4;
    const Place left(0), right(1);
    for (int first = 0; first < count; first += AT_ONCE) {
        u64 at[AT_ONCE][2];
        double before[AT_ONCE][2];
#pragma unroll
        for (int q = 0; q < AT_ONCE; q++) {
            u64 table = u64(__shfl_sync(ALL_LANES, elem, (first + q) % WARP)) * (NODES * NODES);
#pragma unroll
            for (int side = 0; side < 2; side++) {
                const Place& place = side == 0 ? left : right;
                at[q][side] = first + q < count ? staged.first[place.row][first + q] : NOT_OWNED;
                if (at[q][side] == NOT_OWNED) continue;
                at[q][side] += __ldg(positions + (table + place.position));
                before[q][side] = values[at[q][side]];
            }
        }
#pragma unroll
        for (int q = 0; q < AT_ONCE; q++)
#pragma unroll
            for (int side = 0; side < 2; side++) {
                const Place& place = side == 0 ? left : right;
                if (at[q][side] != NOT_OWNED) {
                    values[at[q][side]] = before[q][side] + staged.entries[place.entry][first + q];
                }
            }
    }
}

// Adds the elements list[0..count] of one colour, which share no node. Each number receives one term per colour, so the
// result has the same bits in every run.
KERNEL __launch_bounds__(THREADS, BLOCKS)
    colour_heat(u64 count, u64 rows, u32 width, const u32* list, const u32* elem_node, const void* positions,
                const u64* row_map, const double* node_coord, const double* temperature, Heat heat,
                double* values, double* residual_sum) {
    __shared__ Staged of_warp[WARPS];
    Staged& staged = of_warp[threadIdx.x / WARP];
    const u32 lane = lane_index();
    u64 item = thread_index(), first = item - lane;
    if (first >= count) return;
    u32 elem = __ldg(list + least(item, count - 1)), nodes[NODES];
    double residual[NODES];
    load_hex(elem_node, elem, nodes);
    stage_rows(staged, rows, nodes, row_map);
    auto put = [&](int i, int j, double entry) { staged.entries[packed(i, j)][lane] = entry; };
    element(nodes, node_coord, temperature, heat, put, residual);
#pragma unroll
    for (int m = 0; m < NODES; m++) {
        if (item < count && nodes[m] < rows) residual_sum[nodes[m]] += residual[m];
    }
    __syncwarp();
    int lanes = int(least(count - first, u64(WARP)));
    if (width == 1) colour_warp(staged, lanes, elem, (const u8*)positions, values);
    else if (width == 2) colour_warp(staged, lanes, elem, (const u16*)positions, values);
    else colour_warp(staged, lanes, elem, (const u32*)positions, values);
}

// out = exact temperature (a (z - zmin) + b)^-2 at each node; twin of src/element/analytic.rs.
KERNEL __launch_bounds__(THREADS)
    inverse_square(u64 count, const double* node_coord, double a, double zmin, double b, double* out) {
    u64 node = thread_index();
    if (node >= count) return;
    double root = __dadd_rn(__dmul_rn(a, node_coord[3 * node + 2] - zmin), b);
    out[node] = 1 / __dmul_rn(root, root);
}
