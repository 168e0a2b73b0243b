// From stored element matrices to matrix values and a residual; twin of
// src/fill/{gather,scatter,colour}.rs. Element matrices are [entry, elem], elements side by side: entry is
// i * nn + j, or `packed` where matrices are symmetric and only row <= column is stored. Residuals are [i, elem].

constexpr u32 THREADS = 256;

// Place of entry (i, j) among those with row <= column.
__device__ constexpr u64 packed(u64 nn, u64 i, u64 j) {
    return i <= j ? i * (2 * nn + 1 - i) / 2 + j - i : packed(nn, j, i);
}

// ---- gather: each row adds its own up

constexpr int ROWS = 128;

// Eight positions, taken in loads of eight bytes.
template <class Position> struct EightPositions {
    u64 words[sizeof(Position)];
    __device__ __forceinline__ void load(const Position* positions, u64 slot) {
#pragma unroll
        for (int w = 0; w < int(sizeof(Position)); w++) {
            words[w] = __ldg((const u64*)positions + slot * sizeof(Position) + w);
        }
    }
    __device__ __forceinline__ u32 get(int j) const {
        constexpr int IN_WORD = 8 / sizeof(Position);
        return Position(words[j / IN_WORD] >> (j % IN_WORD * 8 * sizeof(Position)));
    }
};

// Adds up the slots of one row of elements of eight nodes, FLIGHT slots' loads at once. Returns the residual.
template <class Position, bool SYMMETRIC>
INLINE double sum_eight(u64 slot, u64 end, u64 elems, const u32* slots, const Position* positions, const double* matrices,
                        const double* residuals, double* row) {
    constexpr int NN = 8, FLIGHT = sizeof(Position) < 4 ? 4 : 2;
    double sum = 0;
    for (; slot < end; slot += FLIGHT) {
        EightPositions<Position> place[FLIGHT];
        double terms[FLIGHT][NN], term[FLIGHT];
        u32 from[FLIGHT];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) from[f] = slot + f < end ? __ldg(slots + slot + f) : ~0u;
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) {
            if (from[f] == ~0u) continue;
            u32 elem = from[f] / NN, i = from[f] % NN;
            place[f].load(positions, from[f]);
            term[f] = __ldg(residuals + (i * elems + elem));
#pragma unroll
            for (int j = 0; j < NN; j++) {
                u32 low = least(i, u32(j)), high = most(i, u32(j));
                u32 entry = SYMMETRIC ? low * (2 * NN + 1 - low) / 2 + high - low : i * NN + j;
                terms[f][j] = __ldg(matrices + (entry * elems + elem));
            }
        }
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) {
            if (from[f] == ~0u) continue;
            sum += term[f];
#pragma unroll
            for (int j = 0; j < NN; j++) row[place[f].get(j)] += terms[f][j];
        }
    }
    return sum;
}

// The same for any number of nodes.
template <class Position>
INLINE double sum_any(u64 slot, u64 end, u64 elems, u32 nn, bool symmetric, const u32* slots, const Position* positions,
                      const double* matrices, const double* residuals, double* row) {
    constexpr u32 FLIGHT = 8;
    double sum = 0;
    for (; slot < end; slot++) {
        u32 from = __ldg(slots + slot), elem = from / nn, i = from % nn;
        sum += __ldg(residuals + (i * elems + elem));
        for (u32 first = 0; first < nn; first += FLIGHT) {
            double terms[FLIGHT];
            u32 place[FLIGHT];
#pragma unroll
            for (u32 f = 0; f < FLIGHT; f++) {
                u32 j = first + f;
                if (j >= nn) continue;
                u64 entry = symmetric ? packed(nn, i, j) : u64(i) * nn + j;
                terms[f] = __ldg(matrices + (entry * elems + elem));
                place[f] = __ldg(positions + (u64(from) * nn + j));
            }
#pragma unroll
            for (u32 f = 0; f < FLIGHT; f++) {
                if (first + f < nn) row[place[f]] += terms[f];
            }
        }
    }
    return sum;
}

// A row of any length by one warp, a lane a column, in device memory.
template <class Position>
INLINE double sum_long(u64 slot, u64 end, u64 elems, u32 nn, bool symmetric, const u32* slots, const Position* positions,
                       const double* matrices, const double* residuals, double* row) {
    double sum = 0;
    for (; slot < end; slot++) {
        u32 from = __ldg(slots + slot), elem = from / nn, i = from % nn;
        sum += __ldg(residuals + (i * elems + elem));
        for (u32 j = lane_index(); j < nn; j += WARP) {
            u64 entry = symmetric ? packed(nn, i, j) : u64(i) * nn + j;
            double term = __ldg(matrices + (entry * elems + elem));
            row[__ldg(positions + (u64(from) * nn + j))] += term;
        }
        // Another lane may have this column next.
        __syncwarp();
    }
    return sum;
}

// A thread a row; the block's rows are added up in shared memory, laid out as in the matrix, and stored once. Rows of a
// block that are longer together than `capacity` are added up in device memory. Elements ascend in each row, additions
// are separate: the bits are those of the host's gather.
template <class Position, int KIND>
INLINE void gather(u64 rows, u64 elems, u32 nn, u32 capacity, u32 symmetric, const u64* slot_map, const u32* slots,
                   const Position* positions, const u64* row_map, const double* matrices, const double* residuals,
                   double* values, double* residual) {
    extern __shared__ double sums[];
    u64 first = u64(blockIdx.x) * ROWS, last = least(first + ROWS, rows), row = first + threadIdx.x;
    u64 begin = __ldg(row_map + first), span = __ldg(row_map + last) - begin;
    values += begin;
    if (span > capacity) {
        for (u64 i = threadIdx.x; i < span; i += ROWS) values[i] = 0;
        __syncthreads();
        for (row = first + threadIdx.x / WARP; row < last; row += ROWS / WARP) {
            u64 slot = __ldg(slot_map + row), end = __ldg(slot_map + row + 1);
            double sum = sum_long(slot, end, elems, nn, symmetric, slots, positions, matrices, residuals,
                                  values + (__ldg(row_map + row) - begin));
            if (lane_index() == 0) residual[row] = sum;
        }
        return;
    }
    for (u32 i = threadIdx.x; i < u32(span); i += ROWS) sums[i] = 0;
    __syncthreads();
    if (row < last) {
        u64 slot = __ldg(slot_map + row), end = __ldg(slot_map + row + 1);
        double* own = sums + u32(__ldg(row_map + row) - begin);
        if constexpr (KIND == 0) {
            residual[row] = sum_eight<Position, true>(slot, end, elems, slots, positions, matrices, residuals, own);
        } else if constexpr (KIND == 1) {
            residual[row] = sum_eight<Position, false>(slot, end, elems, slots, positions, matrices, residuals, own);
        } else {
            residual[row] = sum_any(slot, end, elems, nn, symmetric, slots, positions, matrices, residuals, own);
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < u32(span); i += ROWS) __stcs(values + i, sums[i]);
}

// Four blocks leave 128 registers a thread, enough for the loads of four slots at once; more warps with fewer loads each
// read element matrices again from device memory before their neighbours have used them (measured).
#define GATHER(name, Position, KIND)                                                                                       \
    KERNEL __launch_bounds__(ROWS, 4)                                                                                      \
        name(u64 rows, u64 elems, u32 nn, u32 capacity, u32 symmetric, const u64* slot_map, const u32* slots,              \
             const Position* positions, const u64* row_map, const double* matrices, const double* residuals,               \
             double* values, double* residual) {                                                                           \
        gather<Position, KIND>(rows, elems, nn, capacity, symmetric, slot_map, slots, positions, row_map, matrices,        \
                               residuals, values, residual);                                                               \
    }
GATHER(gather_symmetric8_u8, u8, 0)
GATHER(gather_symmetric8_u16, u16, 0)
GATHER(gather_symmetric8_u32, u32, 0)
GATHER(gather_full8_u8, u8, 1)
GATHER(gather_full8_u16, u16, 1)
GATHER(gather_full8_u32, u32, 1)
GATHER(gather_any_u8, u8, 2)
GATHER(gather_any_u16, u16, 2)
GATHER(gather_any_u32, u32, 2)

// largest = most entries of the rows of one block that fit in `limit`; zero before.
KERNEL __launch_bounds__(THREADS) largest_span(u64 rows, u64 limit, const u64* row_map, u32* largest) {
    u64 first = thread_index() * ROWS;
    if (first >= rows) return;
    u64 span = row_map[least(first + ROWS, rows)] - row_map[first];
    if (span <= limit) atomicMax(largest, u32(span));
}

// ---- scatter and colour: elements add to their rows

// A tile of 32 elements and 64 entries passes through shared memory: lanes lie along elements where it is read, along the
// columns of a row where it is added. Elements are list[0..count], or 0..count without a list.
template <class Position, bool ATOMIC>
INLINE void add_matrices(u64 count, u64 elems, u64 rows, u32 nn, u32 symmetric, const u32* list, const u32* elem_node,
                         const Position* positions, const u64* row_map, const double* matrices, const double* residuals,
                         double* values, double* residual) {
    constexpr u32 ENTRIES = 64, ELEMS = WARP;
    __shared__ double tile[ENTRIES][ELEMS + 1];
    auto add = [](double* to, double term) { if (ATOMIC) atomicAdd(to, term); else *to += term; };
    const u64 square = u64(nn) * nn, tiles = (square + ENTRIES - 1) / ENTRIES;
    const u64 first = blockIdx.x / tiles * ELEMS, first_entry = blockIdx.x % tiles * ENTRIES;
    auto elem_of = [&](u64 item) { return list ? u64(__ldg(list + item)) : item; };

    u64 item = first + lane_index();
    u64 elem = item < count ? elem_of(item) : 0;
    for (u32 k = threadIdx.x / WARP; k < ENTRIES; k += THREADS / WARP) {
        u64 entry = first_entry + k;
        if (item >= count || entry >= square) continue;
        u64 stored = symmetric ? packed(nn, entry / nn, entry % nn) : entry;
        tile[k][lane_index()] = __ldg(matrices + (stored * elems + elem));
    }
    if (first_entry == 0 && item < count) {
        for (u32 i = threadIdx.x / WARP; i < nn; i += THREADS / WARP) {
            u32 row = __ldg(elem_node + (elem * nn + i));
            if (row < rows) add(residual + row, __ldg(residuals + (i * elems + elem)));
        }
    }
    __syncthreads();
    const u32 k = threadIdx.x % ENTRIES;
    const u64 entry = first_entry + k;
    if (entry >= square) return;
    for (u32 e = threadIdx.x / ENTRIES; e < ELEMS && first + e < count; e += THREADS / ENTRIES) {
        u64 elem = elem_of(first + e);
        u32 row = __ldg(elem_node + (elem * nn + entry / nn));
        if (row >= rows) continue;
        add(values + (__ldg(row_map + row) + __ldg(positions + (elem * square + entry))), tile[k][e]);
    }
}

#define ADD_MATRICES(name, Position, ATOMIC)                                                                               \
    KERNEL __launch_bounds__(THREADS, 6)                                                                                   \
        name(u64 count, u64 elems, u64 rows, u32 nn, u32 symmetric, const u32* list, const u32* elem_node,                 \
             const Position* positions, const u64* row_map, const double* matrices, const double* residuals,               \
             double* values, double* residual) {                                                                           \
        add_matrices<Position, ATOMIC>(count, elems, rows, nn, symmetric, list, elem_node, positions, row_map, matrices,   \
                                       residuals, values, residual);                                                       \
    }
ADD_MATRICES(scatter_u8, u8, true)
ADD_MATRICES(scatter_u16, u16, true)
ADD_MATRICES(scatter_u32, u32, true)
ADD_MATRICES(colour_u8, u8, false)
ADD_MATRICES(colour_u16, u16, false)
ADD_MATRICES(colour_u32, u32, false)
