// Sums of the rows of element matrices, of fill.cu: where stored matrices and values lie, and one row by a thread, several lanes or a warp.

constexpr u32 THREADS = 256;

// Returns the index of entry (i, j) among the entries with row <= column.
__device__ constexpr u64 packed(u64 nn, u64 i, u64 j) {
    return i <= j ? i * (2 * nn + 1 - i) / 2 + j - i : packed(nn, j, i);
}

// ---- gather: each row sums its own parts

constexpr int ROWS = 128;
// Lanes per row of elements with other than eight nodes, at least.
constexpr int TEAM = 2;

// Stored element matrices: those of `capacity` consecutive elements, element e in column e % capacity. `base` is the multiple
// of `capacity` at or below the first of them.
struct Elements {
    u32 base;
    u64 capacity;
    const double *matrices, *residuals;
    // Returns the column of a stored element, without a division.
    __device__ __forceinline__ u64 column(u32 elem) const {
        u32 at = elem - base;
        return at >= u32(capacity) ? at - u32(capacity) : at;
    }
};

// Layout of the values: value k of row r is starts[r >> SHIFT] + r % 2^SHIFT + (k << SHIFT). CRS has SHIFT 0, slices of 32
// rows have 5; a layout of -1 reads the shift from memory.
template <int SHIFT> struct Values {
    u32 shift;
    const u64* starts;
    __device__ __forceinline__ u32 bits() const { return SHIFT < 0 ? shift : u32(SHIFT); }
    __device__ __forceinline__ u32 in_slice(u64 row) const { return u32(row) & ((1u << bits()) - 1); }
    __device__ __forceinline__ u64 first(u64 row) const { return __ldg(starts + (row >> bits())) + in_slice(row); }
    // Start of the slice of row `row`, a multiple of the slice.
    __device__ __forceinline__ u64 begin(u64 row) const { return __ldg(starts + (row >> bits())); }
    // End of the slice of row `last` - 1.
    __device__ __forceinline__ u64 end(u64 last) const { return __ldg(starts + ((last + (1u << bits()) - 1) >> bits())); }
    __device__ __forceinline__ u64 step(u32 place) const { return u64(place) << bits(); }
};

// Whether a position is none: a matrix in symmetric halves stores the entry in another row.
template <class Position> INLINE bool is_none(u32 place) { return place == Position(~0u); }

// Eight positions, read in loads of eight bytes.
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

// Sums the slots of one row for elements of eight nodes, with the loads of FLIGHT slots in flight at once. Returns the residual.
//
// HALVES: less the entries that other rows store. In their place it reads the element's diagonal, which it needs anyhow: no load waits
// in a branch, and all rows together read each entry of an element matrix once. The positions say which, and therefore come first:
// those of AHEAD slots.
template <class Position, bool SYMMETRIC, bool HALVES, int SHIFT>
INLINE double sum_eight(u64 slot, u64 end, const Elements& stored, const Values<SHIFT>& layout, const u32* slots,
                        const Position* positions, double* row) {
    constexpr int NN = 8, FLIGHT = sizeof(Position) < 4 ? 4 : 2, AHEAD = HALVES && sizeof(Position) == 1 ? 8 : FLIGHT;
    double sum = 0;
    for (; slot < end; slot += AHEAD) {
        EightPositions<Position> place[AHEAD];
        u32 from[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; a++) from[a] = slot + a < end ? __ldg(slots + slot + a) : ~0u;
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            if (HALVES && from[a] != ~0u) place[a].load(positions, from[a]);
        }
#pragma unroll
        for (int first = 0; first < AHEAD; first += FLIGHT) {
            double terms[FLIGHT][NN], term[FLIGHT];
#pragma unroll
            for (int f = 0; f < FLIGHT; f++) {
                if (from[first + f] == ~0u) continue;
                u64 column = stored.column(from[first + f] / NN);
                u32 i = from[first + f] % NN;
                if (!HALVES) place[first + f].load(positions, from[first + f]);
                term[f] = __ldg(stored.residuals + (i * stored.capacity + column));
#pragma unroll
                for (int j = 0; j < NN; j++) {
                    u32 of = HALVES && is_none<Position>(place[first + f].get(j)) ? i : j, low = least(i, of), high = most(i, of);
                    u32 entry = SYMMETRIC ? low * (2 * NN + 1 - low) / 2 + high - low : i * NN + j;
                    terms[f][j] = __ldg(stored.matrices + (entry * stored.capacity + column));
                }
            }
#pragma unroll
            for (int f = 0; f < FLIGHT; f++) {
                if (from[first + f] == ~0u) continue;
                sum += term[f];
#pragma unroll
                for (int j = 0; j < NN; j++) {
                    u32 at = place[first + f].get(j);
                    if (!HALVES || !is_none<Position>(at)) row[u32(layout.step(at))] += terms[f][j];
                }
            }
        }
    }
    return sum;
}

// Sums the slots of one row for any number of nodes, with the `team` lanes of a row side by side along its columns and FLIGHT loads
// of each in flight, of one slot or several. All lanes of a warp call it together. Column nn stands for the residual, which lane nn %
// team returns.
template <class Position, int SHIFT>
INLINE double sum_any(u64 slot, u64 end, const Elements& stored, const Values<SHIFT>& layout, u32 nn, bool symmetric, u32 team,
                      const u32* slots, const Position* positions, double* row) {
    constexpr u32 FLIGHT = 8;
    const u32 lane = lane_index() % team, reciprocal = ~0u / nn;
    u32 j = lane;
    double sum = 0;
    while (__any_sync(ALL_LANES, slot < end)) {
        double terms[FLIGHT];
        u32 from[FLIGHT], column[FLIGHT], place[FLIGHT];
        // What each load is of: a column of a slot, ~0 for none.
#pragma unroll
        for (u32 f = 0; f < FLIGHT; f++) {
            column[f] = slot < end && j <= nn ? j : ~0u;
            if (slot < end) from[f] = __ldg(slots + slot);
            j += team;
            if (j - lane > nn) j = lane, slot++;
        }
#pragma unroll
        for (u32 f = 0; f < FLIGHT; f++) {
            if (column[f] == ~0u) continue;
            // The quotient is `guess` or one more.
            u32 guess = __umulhi(from[f], reciprocal), elem = guess + (from[f] - guess * nn >= nn), i = from[f] - elem * nn;
            u64 at = stored.column(elem);
            if (column[f] == nn) {
                terms[f] = __ldg(stored.residuals + (i * stored.capacity + at));
                continue;
            }
            u32 low = least(i, column[f]), high = most(i, column[f]);
            u32 entry = symmetric ? low * (2 * nn + 1 - low) / 2 + high - low : i * nn + column[f];
            terms[f] = __ldg(stored.matrices + (entry * stored.capacity + at));
            place[f] = __ldg(positions + (u64(from[f]) * nn + column[f]));
        }
#pragma unroll
        for (u32 f = 0; f < FLIGHT; f++) {
            if (column[f] == nn) sum += terms[f];
            else if (column[f] != ~0u && !is_none<Position>(place[f])) row[u32(layout.step(place[f]))] += terms[f];
            // Another lane may hold the same column in the next slot.
            __syncwarp();
        }
    }
    return sum;
}

// Sums a row of any length with one warp, one lane per column, in device memory. Returns the residual.
template <class Position, int SHIFT>
INLINE double sum_long(u64 slot, u64 end, const Elements& stored, const Values<SHIFT>& layout, u32 nn, bool symmetric,
                       const u32* slots, const Position* positions, double* row) {
    double sum = 0;
    for (; slot < end; slot++) {
        u32 from = __ldg(slots + slot), i = from % nn;
        u64 column = stored.column(from / nn);
        sum += __ldg(stored.residuals + (i * stored.capacity + column));
        for (u32 j = lane_index(); j < nn; j += WARP) {
            u64 entry = symmetric ? packed(nn, i, j) : u64(i) * nn + j;
            double term = __ldg(stored.matrices + (entry * stored.capacity + column));
            u32 place = __ldg(positions + (u64(from) * nn + j));
            if (!is_none<Position>(place)) row[layout.step(place)] += term;
        }
        // Another lane may hold the same column in the next slot.
        __syncwarp();
    }
    return sum;
}
