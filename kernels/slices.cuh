// Tables of matrices in slices of 32 rows, as kernels/slice_layout.cu lays them out.

constexpr int SLICE = WARP;
// Longest table of offsets.
constexpr int WIDEST = 40;
// Bit of a slice's word whose columns are listed, from the rest of the word on.
constexpr u64 LISTED = 1ull << 63;
// Position of the number of mirrored entries in the word of a slice with a table, below which the word is the table's index; the
// numbers of such an entry in the table.
constexpr int MIRRORED = 40;
constexpr u64 TABLE = (1ull << MIRRORED) - 1;
constexpr u32 MIRROR = 3;
// Column of a padded entry of a list.
constexpr u32 NO_COLUMN = 0xffffffffu;

// Returns the position of an offset in an ascending table of `width` offsets, or the position where it would be inserted.
INLINE u32 place_of(i64 offset, const int* table, u32 width) {
    return partition_point(width, [&](u32 k) { return table[k] < offset; });
}

// A slice's table of offsets: `width` stored ones, ascending, then `mirrored` entries, see slices_symmetric.cu.
struct Table {
    const int* from;
    u32 width, mirrored;
    __device__ __forceinline__ Table(const int* offsets, u64 word, u32 width)
        : from(offsets + (word & TABLE)), width(width), mirrored(u32(word >> MIRRORED)) {}
    __device__ __forceinline__ int offset(u32 k) const { return __ldg(from + width + MIRROR * k); }
    // Distance to the partner's value in the first or the second slice.
    __device__ __forceinline__ int distance(u32 k, bool second) const { return __ldg(from + width + MIRROR * k + 1 + second); }
    // Of a row's mirrored entry.
    __device__ __forceinline__ int distance_of(u32 k, u32 row) const {
        return distance(k, row % SLICE + u32(offset(k)) % SLICE >= SLICE);
    }
    // Returns the number of the mirrored entry with this offset, or of the first one with a larger offset.
    __device__ __forceinline__ u32 mirror_of(i64 of) const {
        return partition_point(mirrored, [&](u32 k) { return offset(k) < of; });
    }
};

// A table of a symmetric matrix that fits a kernel's arguments; `word` is that of the slices that have it, or NO_WORD.
constexpr u32 MOST_STORED = 14, MOST_MIRRORED = 13;
constexpr u64 NO_WORD = ~0ull;
struct CommonTable {
    u64 word;
    u32 width, mirrored;
    int stored[MOST_STORED], offset[MOST_MIRRORED], first[MOST_MIRRORED], second[MOST_MIRRORED];
};
