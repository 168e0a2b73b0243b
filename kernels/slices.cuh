// Tables of matrices in slices of 32 rows, as kernels/slice_layout.cu lays them out.

constexpr int SLICE = WARP;
// Longest table of offsets.
constexpr int WIDEST = 40;
// Bit of a slice's word whose columns are listed, from the rest of the word on.
constexpr u64 LISTED = 1ull << 63;
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
