// Turns positions in rows of CRS into places in rows of slices; launched by src/fill/cuda/places.rs. Value `place` of a row is
// at slice_offsets[slice] + 32 place + row % 32. In slices with listed columns, places are positions; in slices with a table
// they are the column's position in it, which differs in rows that lack some of the table's offsets. In symmetric halves, entries that
// other rows store have no place, NONE.

constexpr u32 THREADS = 256;

// Returns the place of a stored offset, `width` for any other.
INLINE u32 stored_place(const Table& table, i64 offset) {
    u32 at = place_of(offset, table.from, table.width);
    return at < table.width && __ldg(table.from + at) == offset ? at : table.width;
}

// positions[slot, j] = place of node j of the slot's element in the row of the slot's node. One thread per slot. In tables without
// mirrored entries most rows have all offsets, and their positions are left as they are.
KERNEL __launch_bounds__(THREADS)
    places(u64 slots, u32 nn, u64 rows, const u32* elem_node, const u64* row_map, const u64* slice_offsets, const u64* words,
           const int* offsets, u32 width, void* positions) {
    const Positions all{positions, width};
    const u32 none = all.none();
    u64 slot = thread_index();
    if (slot >= slots) return;
    u32 row = __ldg(elem_node + slot);
    if (row >= rows) return;
    u64 slice = row / WARP, word = __ldg(words + slice);
    if (word & LISTED) return;
    Table table(offsets, word, u32((__ldg(slice_offsets + slice + 1) - __ldg(slice_offsets + slice)) / WARP));
    bool whole = __ldg(row_map + row + 1) - __ldg(row_map + row) == table.width + table.mirrored;
    if (whole && table.mirrored == 0) return;
    // A row with all offsets whose mirrored ones are the first.
    bool ordered = whole && table.width > 0 && __ldg(table.from) >= 0;
    const u32* nodes = elem_node + slot / nn * nn;
    auto place = [&](u32 j, u32 position) {
        if (ordered) return position < table.mirrored ? none : position - table.mirrored;
        u32 at = stored_place(table, i64(__ldg(nodes + j)) - i64(row));
        return at < table.width ? at : none;
    };
    if (width == 1 && nn == 8) {
        // The eight positions of a slot in one access.
        u64* of_slot = (u64*)positions + slot;
        u64 old = *of_slot, word = 0;
#pragma unroll
        for (u32 j = 0; j < 8; j++) word |= u64(u8(place(j, u8(old >> 8 * j)))) << 8 * j;
        *of_slot = word;
        return;
    }
    for (u32 j = 0; j < nn; j++) all.set(slot * nn + j, place(j, all.get(slot * nn + j)));
}

// list[i] = index in the slices of the value that is entry list[i] of CRS: for a mirrored entry, that of its partner.
KERNEL __launch_bounds__(THREADS) listed_places(u64 count, u64 rows, const u64* row_map, const u32* entries,
                                                const u64* slice_offsets, const u64* words, const int* offsets, u64* list) {
    u64 i = thread_index();
    if (i >= count) return;
    // The last row that begins at or before the entry; row_map[rows] is above every entry.
    u64 entry = list[i], row = partition_point(rows, [&](u64 at) { return __ldg(row_map + at) <= entry; }) - 1;
    u64 slice = row / WARP, word = __ldg(words + slice), begin = __ldg(slice_offsets + slice);
    u32 place = u32(entry - __ldg(row_map + row));
    if (!(word & LISTED)) {
        Table table(offsets, word, u32((__ldg(slice_offsets + slice + 1) - begin) / WARP));
        u32 column = __ldg(entries + entry);
        i64 offset = i64(column) - i64(row);
        place = stored_place(table, offset);
        if (place == table.width) {
            list[i] = begin + i64(table.distance_of(table.mirror_of(offset), u32(row))) * WARP + column % WARP;
            return;
        }
    }
    list[i] = begin + u64(place) * WARP + row % WARP;
}
