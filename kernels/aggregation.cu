// Smoothed aggregation of a matrix in CRS with `dofs` unknowns per node; launched by src/solve/aggregation/cuda.rs. Twins of nodes.rs,
// aggregates.rs, tentative.rs, rows.rs and space.rs there.

constexpr int THREADS = 256;
constexpr u32 NONE = 0xffffffffu;
// The state of a root, as in roots.cu.
constexpr u32 ROOT = 2;

struct Matrix {
    u32 dofs;
    const u64* map;
    const u32* entries;
    const double* values;

    // Place of the first entry of row `row` that is not left of column `column`.
    __device__ __forceinline__ u64 find(u64 row, u32 column) const {
        const u64 begin = __ldg(map + row);
        return begin + partition_point(__ldg(map + row + 1) - begin, [&](u64 at) { return __ldg(entries + begin + at) < column; });
    }
    // Squares of the block of nodes i and j, from row `from` of i on, summed by rows and columns.
    __device__ __forceinline__ double block(u64 i, u32 from, u32 j) const {
        double sum = 0;
        for (u32 r = from; r < dofs; r++) {
            const u64 row = i * dofs + r, end = __ldg(map + row + 1);
            for (u64 at = find(row, j * dofs); at < end && __ldg(entries + at) / dofs == j; at++) {
                const double value = __ldg(values + at);
                sum = __dadd_rn(sum, __dmul_rn(value, value));
            }
        }
        return sum;
    }
};

// norms[node] = squares of its diagonal block.
KERNEL __launch_bounds__(THREADS) node_norms(u64 nodes, u32 dofs, const u64* map, const u32* entries, const double* values,
                                             double* norms) {
    const u64 i = thread_index();
    if (i < nodes) norms[i] = Matrix{dofs, map, entries, values}.block(i, 0, u32(i));
}

// Calls f(node, place) for the strongly connected nodes of node i, those of its first row in ascending order; one warp per node. Returns
// their number, and how many of them the first row has. is_fixed and reaches_ghosts are set for the rows, in all lanes.
template <class F>
INLINE u32 strong_nodes(Matrix a, u64 i, u64 nodes, double limit, const double* norms, u8* is_fixed, bool& reaches_ghosts,
                        u32& of_first_row, F f) {
    const u32 lane = lane_index(), dofs = a.dofs;
    u32 found = 0;
    reaches_ghosts = false;
    for (u32 r = 0; r < dofs; r++) {
        const u64 row = i * dofs + r, begin = __ldg(a.map + row), end = __ldg(a.map + row + 1);
        bool is_free = false;
        for (u64 first = begin; first < end; first += WARP) {
            const u64 at = first + lane;
            bool is_strong = false;
            u32 j = 0;
            if (at < end) {
                const u32 column = __ldg(a.entries + at);
                j = column / dofs;
                const bool couples = __ldg(a.values + at) != 0 && column != row;
                is_free |= couples;
                reaches_ghosts |= couples && j >= nodes;
                // A node counts where it is first met.
                bool is_first = j < nodes && j != i && (at == begin || __ldg(a.entries + at - 1) / dofs != j);
                for (u32 before = 0; is_first && before < r; before++) {
                    const u64 place = a.find(i * dofs + before, j * dofs);
                    is_first = place == __ldg(a.map + i * dofs + before + 1) || __ldg(a.entries + place) / dofs != j;
                }
                if (is_first) {
                    const double square = a.block(i, r, j), bound = __dmul_rn(limit, __dmul_rn(norms[i], norms[j]));
                    is_strong = __dmul_rn(square, square) > bound;
                }
            }
            const u32 ones = __ballot_sync(ALL_LANES, is_strong);
            if (is_strong) f(j, found + __popc(ones & ((1u << lane) - 1)));
            found += __popc(ones);
        }
        is_free = __any_sync(ALL_LANES, is_free);
        if (lane == 0 && is_fixed != nullptr) is_fixed[row] = !is_free;
        if (r == 0) of_first_row = found;
    }
    reaches_ghosts = __any_sync(ALL_LANES, reaches_ghosts);
    return found;
}

// counts[node] = number of its strong connections; whether it depends on another node, and which of its rows are fixed.
KERNEL __launch_bounds__(THREADS, 4) strong_count(u64 nodes, u32 dofs, const u64* map, const u32* entries, const double* values,
                                               double limit, const double* norms, u32* counts, u8* is_coupled, u8* is_fixed) {
    const u64 i = thread_index() / WARP;
    if (i >= nodes) return;
    bool reaches_ghosts;
    u32 of_first_row;
    const u32 found = strong_nodes(Matrix{dofs, map, entries, values}, i, nodes, limit, norms, is_fixed, reaches_ghosts,
                                   of_first_row, [](u32, u32) {});
    if (lane_index() == 0) counts[i] = found, is_coupled[i] = found > 0 || reaches_ghosts;
}

// strong = the strong connections of each node, ascending.
KERNEL __launch_bounds__(THREADS, 4) strong_fill(u64 nodes, u32 dofs, const u64* map, const u32* entries, const double* values,
                                              double limit, const double* norms, const u64* strong_map, u32* strong) {
    const u64 i = thread_index() / WARP;
    if (i >= nodes) return;
    bool reaches_ghosts;
    u32 of_first_row, *out = strong + __ldg(strong_map + i);
    const u32 found = strong_nodes(Matrix{dofs, map, entries, values}, i, nodes, limit, norms, nullptr, reaches_ghosts,
                                   of_first_row, [&](u32 j, u32 place) { out[place] = j; });
    __syncwarp();
    // Rows of a node mostly have the columns of the first one, so that nothing is left to sort.
    if (lane_index() != 0) return;
    for (u32 k = of_first_row; k < found; k++) {
        const u32 node = out[k];
        u32 place = k;
        for (; place > 0 && out[place - 1] > node; place--) out[place] = out[place - 1];
        out[place] = node;
    }
}

// ---- Aggregates. The mark of a node is ~root of its aggregate, 0 for none, so that the largest mark is that of the first root.

// joined = the marks, where nodes without one take that of most neighbours among their strong neighbours' marks: strong neighbours count
// twice, weak ones once, and of equals the first root wins. A flag per root, and per coupled node that is left. One warp per node.
KERNEL __launch_bounds__(THREADS) join_aggregates(u64 nodes, u32 dofs, const u64* graph_map, const u32* graph_entries, const u64* map,
                                                  const u32* strong, const u8* is_coupled, const u32* mark, const u32* state, u32* joined, u32* roots,
                                                  u32* alone) {
    const u64 i = thread_index() / WARP;
    if (i >= nodes) return;
    u32 own = __ldg(mark + i);
    if (own == 0) {
        const u64 begin = __ldg(map + i), end = __ldg(map + i + 1);
        const u64 first = __ldg(graph_map + i * dofs), last = __ldg(graph_map + i * dofs + 1);
        u64 best = 0;
        for (u64 at = begin + lane_index(); at < end; at += WARP) {
            const u32 candidate = __ldg(mark + __ldg(strong + at));
            if (candidate == 0) continue;
            u32 count = 0;
            for (u64 other = begin; other < end; other++) count += __ldg(mark + __ldg(strong + other)) == candidate;
            for (u64 other = first; other < last; other += dofs) {
                const u32 node = __ldg(graph_entries + other) / dofs;
                count += node < nodes && __ldg(mark + node) == candidate;
            }
            best = most(best, u64(count) << 32 | candidate);
        }
        own = u32(warp_max(best));
    }
    if (lane_index() != 0) return;
    joined[i] = own;
    roots[i] = __ldg(state + i) == ROOT;
    alone[i] = own == 0 && is_coupled[i];
}

// of_node = number of the aggregate: roots in their order, then nodes that are alone.
KERNEL __launch_bounds__(THREADS) number_aggregates(u64 nodes, const u32* joined, const u64* of_root, const u64* of_alone,
                                                    const u32* alone, u32* of_node) {
    const u64 i = thread_index();
    if (i >= nodes) return;
    const u32 mark = joined[i];
    of_node[i] = mark != 0 ? u32(__ldg(of_root + ~mark)) : alone[i] ? u32(of_root[nodes] + of_alone[i]) : NONE;
}

// ---- Tentative prolongator

// counts[row] = `width` for rows that take part.
KERNEL __launch_bounds__(THREADS) tentative_count(u64 rows, u32 dofs, u32 width, const u32* of_node, const u8* is_fixed, u32* counts) {
    const u64 row = thread_index();
    if (row < rows) counts[row] = __ldg(of_node + row / dofs) != NONE && !is_fixed[row] ? width : 0;
}

// Columns of the row's aggregate, and the near-null vectors of the row.
KERNEL __launch_bounds__(THREADS) tentative_fill(u64 rows, u32 dofs, u32 width, const u32* of_node, const u64* row_map,
                                                 const double* near_null, u32* entries, double* values) {
    const u64 row = thread_index();
    if (row >= rows) return;
    const u64 begin = __ldg(row_map + row);
    if (__ldg(row_map + row + 1) == begin) return;
    for (u32 p = 0; p < width; p++) {
        entries[begin + p] = __ldg(of_node + row / dofs) * width + p;
        values[begin + p] = near_null[row * width + p];
    }
}

// Makes the vectors of each aggregate orthonormal by modified Gram-Schmidt, twice: values = Q, coarse = R, which is 0 on entry. A vector
// that depends on those before it becomes 0, and its flag is set. One warp per aggregate; keys name the aggregate's rows of values.
KERNEL __launch_bounds__(THREADS) orthonormalise(u64 count, u32 width, double dependent, const u64* starts, const u64* keys,
                                                 double* values, double* coarse, u8* is_empty) {
    const u64 g = thread_index() / WARP;
    if (g >= count) return;
    const u64 begin = __ldg(starts + g) + lane_index(), end = __ldg(starts + g + 1);
    const auto row = [&](u64 at) { return values + u64(u32(__ldg(keys + at))) * width; };
    const auto dot = [&](u32 p, u32 q) {
        double sum = 0;
        for (u64 at = begin; at < end; at += WARP) sum += row(at)[p] * row(at)[q];
        return __shfl_sync(ALL_LANES, warp_sum(sum), 0);
    };
    double* r = coarse + g * width * width;
    for (u32 q = 0; q < width; q++) {
        const double before = sqrt(dot(q, q));
        for (int pass = 0; pass < 2; pass++) {
            for (u32 p = 0; p < q; p++) {
                const double along = dot(p, q);
                if (lane_index() == 0) r[p * width + q] += along;
                for (u64 at = begin; at < end; at += WARP) row(at)[q] -= along * row(at)[p];
            }
        }
        const double norm = sqrt(dot(q, q));
        const bool is_zero = norm <= dependent * before;
        const double scale = is_zero ? 0 : 1 / norm;
        for (u64 at = begin; at < end; at += WARP) row(at)[q] *= scale;
        if (lane_index() == 0) r[q * width + q] = is_zero ? 0 : norm, is_empty[g * width + q] = is_zero;
    }
}

// P = P0 + factor D^-1 P; LANES threads per row.
constexpr int LANES = 8;
KERNEL __launch_bounds__(THREADS) smooth(u64 rows, u32 width, const u64* map, const u32* entries, const u64* p0_map,
                                         const u32* p0_entries, const double* p0_values, const double* inverse, double factor,
                                         double* values) {
    const u64 row = thread_index() / LANES;
    if (row >= rows) return;
    const u64 end = __ldg(map + row + 1), given = __ldg(p0_map + row);
    const bool has_own = __ldg(p0_map + row + 1) > given;
    const u32 first = has_own ? __ldg(p0_entries + given) : 0;
    const double scale = __dmul_rn(factor, __ldg(inverse + row));
    for (u64 at = __ldg(map + row) + threadIdx.x % LANES; at < end; at += LANES) {
        const u32 behind = __ldg(entries + at) - first;
        const double value = __dmul_rn(values[at], scale);
        values[at] = has_own && behind < width ? __dadd_rn(value, __ldg(p0_values + given + behind)) : value;
    }
}

// ---- Rows sent and rows received

// ends = places of the first entry of each listed row, and behind the last.
KERNEL __launch_bounds__(THREADS) ends_of_rows(u64 rows, const u32* list, const u64* map, u64* ends) {
    const u64 i = thread_index();
    if (i < rows) ends[2 * i] = __ldg(map + list[i]), ends[2 * i + 1] = __ldg(map + list[i] + 1);
}

// out = the items of row i, which begin at ends[2 * i], from out_map[i] on; LANES threads per row.
KERNEL __launch_bounds__(THREADS) pick_entries(u64 rows, const u64* ends, const u64* out_map, const u32* items, u32* out) {
    const u64 i = thread_index() / LANES;
    if (i >= rows) return;
    const u64 begin = __ldg(ends + 2 * i), count = __ldg(ends + 2 * i + 1) - begin, to = __ldg(out_map + i);
    for (u64 k = threadIdx.x % LANES; k < count; k += LANES) out[to + k] = __ldg(items + begin + k);
}

// out = the offsets of the first `rows` rows of `map`, which have `kept` entries, and behind them those of more_map.
KERNEL __launch_bounds__(THREADS) extend_map(u64 offsets, u64 rows, u64 kept, const u64* map, const u64* more_map, u64* out) {
    const u64 i = thread_index();
    if (i < offsets) out[i] = i <= rows ? __ldg(map + i) : kept + __ldg(more_map + (i - rows));
}

// out = the first `kept` entries, whose groups of `width` columns behind the `owned` ones get the numbers `ghosts`, then those of `more`.
KERNEL __launch_bounds__(THREADS) extend_entries(u64 n, u64 kept, const u32* entries, const u32* more, u32 owned, u32 width,
                                                 const u32* ghosts, u32* out) {
    const u64 i = thread_index();
    if (i >= n) return;
    const u32 column = i < kept ? __ldg(entries + i) : __ldg(more + (i - kept));
    // `owned` is a multiple of `width`.
    const bool is_ghost = i < kept && column >= owned;
    out[i] = is_ghost ? __ldg(ghosts + (column - owned) / width) * width + column % width : column;
}

// ---- Diagonals

// inverse = reciprocals of the diagonal; *is_bad is set where one is not positive and finite.
KERNEL __launch_bounds__(THREADS) invert_diagonal(u64 rows, const u64* map, const u32* entries, const double* values, double* inverse,
                                                  u32* is_bad) {
    const u64 row = thread_index();
    if (row >= rows) return;
    const u64 at = Matrix{1, map, entries, values}.find(row, u32(row));
    const bool is_there = at < __ldg(map + row + 1) && __ldg(entries + at) == row;
    const double found = is_there ? 1 / __ldg(values + at) : not_a_number();
    if (!(found > 0 && found <= 1.7976931348623157e308)) *is_bad = 1;
    inverse[row] = found;
}

// x[i] = a number in (-1, 1) from id first + i, by the finaliser of SplitMix64.
KERNEL __launch_bounds__(THREADS) random_start(u64 n, u64 first, double* x) {
    const u64 i = thread_index();
    if (i >= n) return;
    u64 mixed = first + i + 0x9e3779b97f4a7c15ull;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ull;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebull;
    x[i] = double((mixed ^ mixed >> 31) >> 11) / double(1ull << 52) - 1;
}

// A[row, row] = 1 for the rows listed.
KERNEL __launch_bounds__(THREADS) set_diagonal(u64 count, const u32* listed, u64 rows, const u64* map, const u32* entries, double* values) {
    const u64 i = thread_index();
    if (i >= count) return;
    const u32 row = __ldg(listed + i);
    if (row >= rows) return;
    const u64 at = Matrix{1, map, entries, values}.find(row, row);
    if (at < __ldg(map + row + 1) && __ldg(entries + at) == row) values[at] = 1;
}
