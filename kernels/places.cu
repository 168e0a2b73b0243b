// Turns positions in rows of CRS into places in rows of slices; launched by src/fill/cuda/places.rs. Value `place` of a row is
// at slice_offsets[slice] + 32 place + row % 32. In slices with listed columns, places are positions; in slices with a table
// they are the column's position in it, which differs in rows that lack some of the table's offsets.

constexpr u32 THREADS = 256;

// positions[slot, j] = place of node j of the slot's element in the row of the slot's node. One thread per slot; most slots
// belong to rows with all offsets of their table and are left as they are.
template <class Position>
INLINE void places(u64 slots, u32 nn, u64 rows, const u32* elem_node, const u64* row_map, const u64* slice_offsets,
                   const u64* words, const int* offsets, Position* positions) {
    u64 slot = thread_index();
    if (slot >= slots) return;
    u32 row = __ldg(elem_node + slot);
    if (row >= rows) return;
    u64 slice = row / WARP, word = __ldg(words + slice);
    u32 width = u32((__ldg(slice_offsets + slice + 1) - __ldg(slice_offsets + slice)) / WARP);
    if (word & LISTED || __ldg(row_map + row + 1) - __ldg(row_map + row) == width) return;
    const u32* nodes = elem_node + slot / nn * nn;
    for (u32 j = 0; j < nn; j++) {
        positions[slot * nn + j] = Position(place_of(i64(__ldg(nodes + j)) - i64(row), offsets + word, width));
    }
}
#define PLACES(name, Position)                                                                                              \
    KERNEL __launch_bounds__(THREADS)                                                                                       \
        name(u64 slots, u32 nn, u64 rows, const u32* elem_node, const u64* row_map, const u64* slice_offsets,               \
             const u64* words, const int* offsets, Position* positions) {                                                   \
        places(slots, nn, rows, elem_node, row_map, slice_offsets, words, offsets, positions);                              \
    }
PLACES(places_u8, u8)
PLACES(places_u16, u16)
PLACES(places_u32, u32)

// list[i] = index in the slices of the value that is entry list[i] of CRS.
KERNEL __launch_bounds__(THREADS) listed_places(u64 count, u64 rows, const u64* row_map, const u32* entries,
                                                const u64* slice_offsets, const u64* words, const int* offsets, u64* list) {
    u64 i = thread_index();
    if (i >= count) return;
    u64 entry = list[i], row = 0, above = rows;
    // The last row that begins at or before the entry; row_map[rows] is above every entry.
    while (above - row > 1) {
        u64 middle = row + (above - row) / 2;
        if (__ldg(row_map + middle) <= entry) row = middle;
        else above = middle;
    }
    u64 slice = row / WARP, word = __ldg(words + slice), begin = __ldg(slice_offsets + slice);
    u32 width = u32((__ldg(slice_offsets + slice + 1) - begin) / WARP), place = u32(entry - __ldg(row_map + row));
    if (!(word & LISTED)) place = place_of(i64(__ldg(entries + entry)) - i64(row), offsets + word, width);
    list[i] = begin + u64(place) * WARP + row % WARP;
}
