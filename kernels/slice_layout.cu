// Layout of a sparsity pattern in slices of 32 rows; launched by src/sparse/format/slices/slice_layout.rs, which says what the arrays
// hold.
//
// slice_patterns   per slice: union of column - row over its rows, its key (a hash and its length), table or list
// slice_places     hash table of keys; the owner of a key is its lowest slice, whatever the order of the threads
// slice_counts     per slice: its owner; offsets and columns that it adds
// slice_compare    slices whose union differs from their owner's: two unions have one hash
// slice_words      after scans of the counts: offsets and words of the slices; sizes of all arrays
// slice_tables, slice_columns   the tables and the lists
//
// For symmetric matrices, before slice_places:
// slice_mirrors    per slice: offsets of its union that are mirrored, see slices_symmetric.cu
// slice_chains     per slice: table of stored offsets and mirrored entries, and its key

constexpr int THREADS = 256, WARPS = THREADS / WARP;
// Entries of a slice that a warp holds in shared memory; the 32 rows of a box of hexahedra have 864 at most.
constexpr u32 STAGED = 1024;
// Entries of a lane that are loaded together.
constexpr u32 BATCH = 9;
// Offset of a row without further entries. Columns are below it.
constexpr int FAR = 0x7fffffff;
// Longest table with mirrored entries.
constexpr int LONGEST = MIRROR * WIDEST;
// Key of a slice that lists its columns. The lower 7 bits of other keys hold a length of at most LONGEST.
constexpr u64 NO_KEY = ~0ull, LENGTH = 127;
// Items of `sizes`: values, offsets, listed columns, entries of unions that differ.
constexpr int VALUES = 0, OFFSETS = 1, COLUMNS = 2, MISSES = 3;

// The rows of a slice, one per lane, with their columns in shared memory if there is room. Rows past the end are empty.
struct Rows {
    u32 length;
    const u32* columns;
    __device__ Rows(u64 slice, u64 rows, const u64* row_map, const u32* entries, u32* staged) {
        u64 row = slice * SLICE + lane_index();
        u64 start = __ldg(row_map + least(row, rows)), stop = __ldg(row_map + least(row + 1, rows));
        u64 first = __shfl_sync(ALL_LANES, start, 0), last = __shfl_sync(ALL_LANES, stop, WARP - 1);
        length = u32(stop - start), columns = entries + start;
        if (last - first > STAGED) return;
        // The lanes have read the slice before.
        __syncwarp();
        u32 count = u32(last - first);
        for (u32 i = lane_index(); i < count; i += BATCH * WARP) {
            // All loads of a batch precede the stores, so that latencies overlap.
            u32 column[BATCH];
#pragma unroll
            for (u32 b = 0; b < BATCH; b++) column[b] = i + b * WARP < count ? __ldg(entries + first + i + b * WARP) : 0;
#pragma unroll
            for (u32 b = 0; b < BATCH; b++)
                if (i + b * WARP < count) staged[i + b * WARP] = column[b];
        }
        __syncwarp();
        columns = staged + u32(start - first);
    }
};

// Returns the least value of the lanes, in all lanes.
INLINE int least_of_warp(int value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(ALL_LANES, value);
#else
#pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) value = least(value, __shfl_xor_sync(ALL_LANES, value, step));
    return value;
#endif
}

// Returns a hash of offset k of a union; zero beyond the union's length.
INLINE u64 hash_of(u32 k, u32 length, int offset) {
    if (k >= length) return 0;
    u64 bits = (u64(k + 1) << 32 | u32(offset)) * 0x9e3779b97f4a7c15ull;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull;
    return bits ^ bits >> 29;
}

// lengths[slice] = entries that the slice stores per row; keys[slice]; unions[slice * WIDEST + k] = offset k of the union, in
// ascending order, of slices with a table. `hash_mask` selects the bits of the hash. One warp per slice. Rows and columns are
// below 2^31.
KERNEL __launch_bounds__(THREADS) slice_patterns(u64 rows, u64 hash_mask, const u64* row_map, const u32* entries, u32* lengths,
                                                 u64* keys, int* unions) {
    __shared__ u32 staged[WARPS][STAGED];
    u64 slices = (rows + SLICE - 1) / SLICE;
    for (u64 slice = thread_index() / WARP; slice < slices; slice += thread_count() / WARP) {
        Rows own(slice, rows, row_map, entries, staged[threadIdx.x / WARP]);
        const u32 lane = lane_index(), row = u32(slice * SLICE) + lane;
        u32 longest = own.length;
#pragma unroll
        for (int step = WARP / 2; step > 0; step /= 2) longest = most(longest, __shfl_xor_sync(ALL_LANES, longest, step));
        // Lane l keeps the offsets l and l + 32: first those of the slice's first row, in case all rows have them.
        const u32* columns = (const u32*)__shfl_sync(ALL_LANES, u64(own.columns), 0);
        u32 next = 0, width = __shfl_sync(ALL_LANES, own.length, 0);
        int low = lane < width ? int(columns[lane] - u32(slice * SLICE)) : 0;
        int high = lane + WARP < least(width, u32(WIDEST)) ? int(columns[lane + WARP] - u32(slice * SLICE)) : 0;
        bool differs = own.length != width || width > WIDEST;
        if (__any_sync(ALL_LANES, differs)) width = 0;
        for (u32 k = 0; k < width; k++) {
            differs |= int(own.columns[k] - row) != __shfl_sync(ALL_LANES, k < WARP ? low : high, k % WARP);
        }
        differs = __any_sync(ALL_LANES, differs);
        if (differs) width = 0;
        // Otherwise their union, in ascending order.
        int mine = differs && own.length > 0 ? int(own.columns[0] - row) : FAR;
        for (int first; (first = least_of_warp(mine)) != FAR; width++) {
            if (width == WIDEST) {
                width = WIDEST + 1;
                break;
            }
            if (lane == width % WARP) (width < WARP ? low : high) = first;
            if (mine == first) next++, mine = next < own.length ? int(own.columns[next] - row) : FAR;
        }
        bool listed = width > WIDEST || 2 * width > 3 * u64(longest);
        u64 hash = warp_sum(hash_of(lane, width, low) + hash_of(lane + WARP, width, high));
        if (lane == 0) {
            lengths[slice] = listed ? longest : width;
            keys[slice] = listed ? NO_KEY : (hash & hash_mask & ~LENGTH) | width;
        }
        int* out = unions + slice * WIDEST;
        if (!listed && lane < width) out[lane] = low;
        if (!listed && lane + WARP < width) out[lane + WARP] = high;
    }
}

// The two slices in which the partners `row + offset` of a slice's rows lie, or the one, twice.
struct Partners {
    i64 first, second;
    __device__ Partners(u64 slice, int offset) : first((i64(slice * SLICE) + offset) >> 5), second(first + (offset & SLICE - 1 ? 1 : 0)) {}
};
// Returns the position of an offset in the union of a slice, first looked for `from_end` offsets before the last one; -1 if it is not
// there or the slice has no table.
INLINE int position_in(i64 slice, int offset, u32 from_end, const u64* keys, const int* unions) {
    u64 key = slice < 0 ? NO_KEY : __ldg(keys + slice);
    if (key == NO_KEY) return -1;
    const int* own = unions + slice * WIDEST;
    u32 width = u32(key & LENGTH);
    if (from_end < width && __ldg(own + width - 1 - from_end) == offset) return int(width - 1 - from_end);
    u32 k = place_of(offset, own, width);
    return k < width && __ldg(own + k) == offset ? int(k) : -1;
}
INLINE u32 bits_below(u64 mask, u32 k) { return u32(__popcll(mask & (1ull << k) - 1)); }

// masks[slice] = bits of those offsets of the slice's union that are mirrored: below the diagonal, and both slices of the partner
// rows have the opposite offset. lengths[slice] = the other offsets; as it was for a slice without a table. One warp per slice.
KERNEL __launch_bounds__(THREADS) slice_mirrors(u64 slices, const u64* keys, const int* unions, u64* masks, u32* lengths) {
    for (u64 slice = thread_index() / WARP; slice < slices; slice += thread_count() / WARP) {
        u64 key = __ldg(keys + slice), mask = 0;
        u32 width = key == NO_KEY ? 0 : u32(key & LENGTH);
        for (u32 part = 0; part < WIDEST; part += WARP) {
            u32 k = part + lane_index();
            int offset = k < width ? __ldg(unions + slice * WIDEST + k) : 0;
            bool mirrored = offset < 0;
            if (mirrored) {
                Partners in(slice, offset);
                mirrored = position_in(in.first, -offset, k, keys, unions) >= 0 && position_in(in.second, -offset, k, keys, unions) >= 0;
            }
            mask |= u64(__ballot_sync(ALL_LANES, mirrored)) << part;
        }
        if (lane_index() > 0) continue;
        masks[slice] = mask;
        if (key != NO_KEY) lengths[slice] = width - u32(__popcll(mask));
    }
}

// chains[slice * LONGEST + i] = number i of the table of a slice with mirrored entries; chain_keys[slice], as slice_patterns makes
// keys. slice_starts: the scan of the lengths. near = the least offset of the middle slice that is at least `nearest`. One warp
// per slice.
KERNEL __launch_bounds__(THREADS) slice_chains(u64 slices, u64 hash_mask, int nearest, const u64* keys, const int* unions,
                                               const u64* masks, const u64* slice_starts, u64* chain_keys, int* chains, int* near) {
    for (u64 slice = thread_index() / WARP; slice < slices; slice += thread_count() / WARP) {
        u64 key = __ldg(keys + slice), mask = __ldg(masks + slice), hash = 0;
        u32 width = key == NO_KEY ? 0 : u32(key & LENGTH), mirrored = u32(__popcll(mask)), stored = width - mirrored;
        int* out = chains + slice * LONGEST;
        int least_far = FAR;
        auto put = [&](u32 at, int number) { out[at] = number, hash += hash_of(at, LONGEST, number); };
        // Distance to the values of the opposite offset in a slice of partners.
        auto distance = [&](i64 from, int offset, u32 from_end) {
            u32 k = u32(position_in(from, -offset, from_end, keys, unions));
            return int(i64(__ldg(slice_starts + from) + k - bits_below(__ldg(masks + from), k)) - i64(__ldg(slice_starts + slice)));
        };
        for (u32 k = lane_index(); k < width; k += WARP) {
            int offset = __ldg(unions + slice * WIDEST + k);
            if (offset >= nearest) least_far = least(least_far, offset);
            u32 before = bits_below(mask, k);
            if (mask >> k & 1) {
                Partners in(slice, offset);
                u32 at = stored + MIRROR * before;
                put(at, offset), put(at + 1, distance(in.first, offset, k)), put(at + 2, distance(in.second, offset, k));
            } else {
                put(k - before, offset);
            }
        }
        least_far = least_of_warp(least_far);
        int plane = FAR;
        for (u32 k = lane_index(); k < width && least_far < FAR / 4; k += WARP) {
            int offset = __ldg(unions + slice * WIDEST + k);
            if (offset >= 4 * least_far) plane = least(plane, offset);
        }
        plane = least_of_warp(plane);
        hash = warp_sum(hash);
        if (lane_index() > 0) continue;
        chain_keys[slice] = key == NO_KEY ? NO_KEY : (hash & hash_mask & ~LENGTH) | (stored + MIRROR * mirrored);
        if (slice == slices / 2) near[0] = least_far, near[1] = plane;
    }
}

// lengths[slice] = entries of the slice's longest row. One thread per row.
KERNEL __launch_bounds__(THREADS) slice_lengths(u64 rows, const u64* row_map, u32* lengths) {
    u64 row = thread_index();
    u32 length = warp_max(u32(__ldg(row_map + least(row + 1, rows)) - __ldg(row_map + least(row, rows))));
    if (lane_index() == 0 && row < rows) lengths[row / SLICE] = length;
}

// places[slice] = place of its key in the hash table of `capacity` places, a power of two; table_owners[place] = the lowest
// slice with this key. All bits of both tables are 1 on entry.
KERNEL __launch_bounds__(THREADS) slice_places(u64 slices, u64 capacity, const u64* keys, u64* table_keys, u32* table_owners,
                                               u32* places) {
    u64 slice = thread_index();
    u64 key = slice < slices ? __ldg(keys + slice) : NO_KEY;
    // Most slices of a warp have one key: its first lane, which has the lowest slice, inserts it for all.
    u32 leader = __ffs(__match_any_sync(ALL_LANES, key)) - 1, place = 0;
    if (key != NO_KEY && lane_index() == leader) {
        place = u32((key * 0x9e3779b97f4a7c15ull) >> 32) & u32(capacity - 1);
        for (;; place = (place + 1) & u32(capacity - 1)) {
            u64 found = __ldcg(table_keys + place);
            // Plain read before the CAS: a few keys are inserted by many warps.
            if (found == NO_KEY) found = atomicCAS(table_keys + place, NO_KEY, key);
            if (found == NO_KEY || found == key) break;
        }
        if (__ldcg(table_owners + place) > slice) atomicMin(table_owners + place, u32(slice));
    }
    place = __shfl_sync(ALL_LANES, place, leader);
    if (slice < slices) places[slice] = place;
}

// owners[slice] = the slice whose table it uses: by the hash table, or each slice its own without one. added_offsets and
// added_columns: offsets (of owners) and columns per row (of lists) that the slice adds.
KERNEL __launch_bounds__(THREADS) slice_counts(u64 slices, const u64* keys, const u32* lengths, const u32* table_owners,
                                               const u32* places, u32* owners, u32* added_offsets, u32* added_columns) {
    u64 slice = thread_index();
    if (slice >= slices) return;
    bool listed = keys[slice] == NO_KEY;
    u32 owner = table_owners == nullptr || listed ? u32(slice) : table_owners[places[slice]];
    owners[slice] = owner;
    added_offsets[slice] = !listed && owner == slice ? u32(keys[slice] & LENGTH) : 0;
    added_columns[slice] = listed ? lengths[slice] : 0;
}

// sizes[MISSES] += number of offsets that differ from the owner's. One warp per slice.
KERNEL __launch_bounds__(THREADS) slice_compare(u64 slices, u32 widest, const u64* keys, const u32* owners, const int* unions,
                                                u64* sizes) {
    for (u64 slice = thread_index() / WARP; slice < slices; slice += thread_count() / WARP) {
        u64 key = __ldg(keys + slice), owner = __ldg(owners + slice);
        if (key == NO_KEY || owner == slice) continue;
        const int *own = unions + slice * widest, *others = unions + owner * widest;
        u32 misses = 0;
        for (u32 k = lane_index(); k < (key & LENGTH); k += WARP) misses += __ldg(own + k) != __ldg(others + k);
        if (__any_sync(ALL_LANES, misses > 0)) {
            misses = warp_sum(misses);
            if (lane_index() == 0) atomicAdd(sizes + MISSES, u64(misses));
        }
    }
}

// slice_offsets, on entry the scan of the lengths: times 32. words: index of the table of a slice's owner, from the scan of
// added_offsets, and the number of bits of its mask, if there are masks; or LISTED and the index of its first column, from the scan
// of added_columns. Without tables all slices are listed, and their columns lie as their values. One thread more than slices.
KERNEL __launch_bounds__(THREADS) slice_words(u64 slices, const u64* keys, const u32* owners, const u64* masks,
                                              const u64* table_starts, const u64* list_starts, u64* slice_offsets, u64* words,
                                              u64* sizes) {
    u64 slice = thread_index();
    if (slice > slices) return;
    u64 first = SLICE * slice_offsets[slice], listed = keys == nullptr ? first : SLICE * list_starts[slice];
    slice_offsets[slice] = first;
    if (slice == slices) {
        sizes[VALUES] = first, sizes[OFFSETS] = keys == nullptr ? 0 : table_starts[slices], sizes[COLUMNS] = listed;
    } else if (keys == nullptr || keys[slice] == NO_KEY) {
        words[slice] = LISTED | listed;
    } else {
        words[slice] = table_starts[owners[slice]] | (masks == nullptr ? 0 : u64(__popcll(masks[slice])) << MIRRORED);
    }
}

// offsets = the tables, one of each owner. One warp per slice.
KERNEL __launch_bounds__(THREADS) slice_tables(u64 slices, u32 widest, const u64* keys, const u32* owners, const int* unions,
                                               const u64* words, int* offsets) {
    for (u64 slice = thread_index() / WARP; slice < slices; slice += thread_count() / WARP) {
        if (__ldg(owners + slice) != slice) continue;
        u64 key = __ldg(keys + slice);
        if (key == NO_KEY) continue;
        int* table = offsets + (__ldg(words + slice) & TABLE);
        for (u32 k = lane_index(); k < (key & LENGTH); k += WARP) table[k] = unions[slice * widest + k];
    }
}

// columns = those of the slices that list them. One warp per slice.
KERNEL __launch_bounds__(THREADS) slice_columns(u64 rows, const u64* row_map, const u32* entries, const u64* slice_offsets,
                                                const u64* words, u32* columns) {
    __shared__ u32 staged[WARPS][STAGED];
    u64 slices = (rows + SLICE - 1) / SLICE;
    for (u64 slice = thread_index() / WARP; slice < slices; slice += thread_count() / WARP) {
        u64 word = __ldg(words + slice);
        if (!(word & LISTED)) continue;
        u32 length = u32((__ldg(slice_offsets + slice + 1) - __ldg(slice_offsets + slice)) / SLICE);
        Rows own(slice, rows, row_map, entries, staged[threadIdx.x / WARP]);
        u32* out = columns + (word & ~LISTED) + lane_index();
        for (u32 k = 0; k < length; k++) out[u64(k) * SLICE] = k < own.length ? own.columns[k] : NO_COLUMN;
    }
}

// *usual = the most frequent table of THREADS slices, drawn by a hash, if it fits; behind it, the two numbers of slice_chains. One block.
KERNEL __launch_bounds__(THREADS) slice_usual(u64 slices, const u64* slice_offsets, const u64* words, const int* offsets,
                                              const int* near, u64* numbers) {
    __shared__ u64 drawn[THREADS];
    __shared__ u32 best;
    const u32 k = threadIdx.x;
    const u64 own = ((k * 0x9e3779b97f4a7c15ull) >> 32) * slices >> 32;
    drawn[k] = slices > 0 ? words[own] : NO_WORD;
    if (k == 0) best = 0;
    __syncthreads();
    u32 equal = 0;
    for (u32 other = 0; other < THREADS; other++) equal += drawn[other] == drawn[k];
    // Of equal counts, the first thread's.
    if (!(drawn[k] & LISTED)) atomicMax(&best, equal * THREADS + (THREADS - 1 - k));
    __syncthreads();
    const u32 chosen = THREADS - 1 - best % THREADS;
    const u64 slice = ((chosen * 0x9e3779b97f4a7c15ull) >> 32) * slices >> 32, word = drawn[chosen];
    CommonTable& usual = *(CommonTable*)numbers;
    const bool listed = word & LISTED;
    const u32 width = listed ? 0 : u32((slice_offsets[slice + 1] - slice_offsets[slice]) / SLICE);
    const u32 mirrored = listed ? 0 : u32(word >> MIRRORED);
    const bool fits = !listed && width <= MOST_STORED && mirrored <= MOST_MIRRORED;
    const int* table = offsets + (word & TABLE);
    if (k < 2) ((int*)(&usual + 1))[k] = near[k];
    if (k == 0) usual.word = fits ? word : NO_WORD, usual.width = width, usual.mirrored = mirrored;
    if (k < MOST_STORED) usual.stored[k] = fits && k < width ? table[k] : 0;
    if (k < MOST_MIRRORED) {
        const int* mirror = table + width + MIRROR * k;
        bool has = fits && k < mirrored;
        usual.offset[k] = has ? mirror[0] : 0, usual.first[k] = has ? mirror[1] : 0, usual.second[k] = has ? mirror[2] : 0;
    }
}
