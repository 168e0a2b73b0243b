// Element matrices of the heat equation, computed from nodes (element.cuh) and then stored or added to the matrix; twin of
// src/fill/host/kernel/fused.rs with src/fill/host/{gather,sums}.rs. Storing is bound by arithmetic, scattering by the rate
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
};

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

// Adds the staged elements of a warp; without atomicity by a load, an addition and a store in the place of each atomic addition.
template <class Position, bool ATOMIC>
INLINE void add_warp(const Staged& staged, int count, u32 elem, const Position* positions, double* values) {
    constexpr int AT_ONCE = 4;
    const Place left(0), right(1);
    for (int first = 0; first < count; first += AT_ONCE) {
        u64 at[AT_ONCE][2];
#pragma unroll
        for (int q = 0; q < AT_ONCE; q++) {
            u64 table = u64(__shfl_sync(ALL_LANES, elem, (first + q) % WARP)) * (NODES * NODES);
#pragma unroll
            for (int side = 0; side < 2; side++) {
                const Place& place = side == 0 ? left : right;
                at[q][side] = first + q < count ? staged.first[place.row][first + q] : NOT_OWNED;
                if (at[q][side] == NOT_OWNED) continue;
                at[q][side] += __ldg(positions + (table + place.position));
            }
        }
#pragma unroll
        for (int q = 0; q < AT_ONCE; q++)
#pragma unroll
            for (int side = 0; side < 2; side++) {
                const Place& place = side == 0 ? left : right;
                if (at[q][side] == NOT_OWNED) continue;
                double term = staged.entries[place.entry][first + q];
                if (ATOMIC) atomicAdd(values + at[q][side], term);
                else values[at[q][side]] += term;
            }
    }
}

template <bool ATOMIC>
INLINE void add_heat(u64 elems, u64 rows, u32 width, const u32* elem_node, const void* positions, const u64* row_map,
                     const double* node_coord, const double* temperature, Heat heat, double* values, double* residual_sum) {
    __shared__ Staged of_warp[WARPS];
    Staged& staged = of_warp[threadIdx.x / WARP];
    const u32 lane = lane_index();
    u64 item = thread_index(), first = item - lane;
    if (first >= elems) return;
    // Lanes past the end repeat the last element and add nothing, so that warp operations see all lanes.
    u32 elem = u32(least(item, elems - 1)), nodes[NODES];
    double residual[NODES];
    load_hex(elem_node, elem, nodes);
    stage_rows(staged, rows, nodes, row_map);
    auto put = [&](int i, int j, double entry) { staged.entries[packed(i, j)][lane] = entry; };
    element(nodes, node_coord, temperature, heat, put, residual);
#pragma unroll
    for (int m = 0; m < NODES; m++) {
        if (item >= elems || nodes[m] >= rows) continue;
        if (ATOMIC) atomicAdd(residual_sum + nodes[m], residual[m]);
        else residual_sum[nodes[m]] += residual[m];
    }
    __syncwarp();
    int lanes = int(least(elems - first, u64(WARP)));
    if (width == 1) add_warp<u8, ATOMIC>(staged, lanes, elem, (const u8*)positions, values);
    else if (width == 2) add_warp<u16, ATOMIC>(staged, lanes, elem, (const u16*)positions, values);
    else add_warp<u32, ATOMIC>(staged, lanes, elem, (const u32*)positions, values);
}

// Adds all elements to their rows. values and residual_sum are zero on entry.
#define ADD_HEAT(name, ATOMIC)                                                                                             \
    KERNEL __launch_bounds__(THREADS, BLOCKS)                                                                              \
        name(u64 elems, u64 rows, u32 width, const u32* elem_node, const void* positions, const u64* row_map,              \
             const double* node_coord, const double* temperature, Heat heat, double* values, double* residual_sum) {       \
        add_heat<ATOMIC>(elems, rows, width, elem_node, positions, row_map, node_coord, temperature, heat, values,         \
                         residual_sum);                                                                                    \
    }
// In no fixed order.
ADD_HEAT(scatter_heat, true)
// Wrong results: what the atomic additions of scatter_heat cost.
ADD_HEAT(racy_heat, false)

// out = exact temperature (a (z - zmin) + b)^-2 at each node; twin of src/element/analytic.rs.
KERNEL __launch_bounds__(THREADS)
    inverse_square(u64 count, const double* node_coord, double a, double zmin, double b, double* out) {
    u64 node = thread_index();
    if (node >= count) return;
    double root = __dadd_rn(__dmul_rn(a, node_coord[3 * node + 2] - zmin), b);
    out[node] = 1 / __dmul_rn(root, root);
}
