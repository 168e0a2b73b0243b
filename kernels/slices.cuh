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
    u32 first = 0;
    while (width > 0) {
        u32 half = width / 2;
        if (table[first + half] < offset) first += half + 1, width -= half + 1;
        else width = half;
    }
    return first;
}

// A table of a symmetric matrix that fits a kernel's arguments; `word` is that of the slices that have it, or NO_WORD.
constexpr u32 MOST_STORED = 14, MOST_MIRRORED = 13;
constexpr u64 NO_WORD = ~0ull;
struct CommonTable {
    u64 word;
    u32 width, mirrored;
    int stored[MOST_STORED], offset[MOST_MIRRORED], first[MOST_MIRRORED], second[MOST_MIRRORED];
};
