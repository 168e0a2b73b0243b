// Copies between views of any strides; launched by src/space/cuda/remap.rs, with the host's twin in src/space/remap.rs.
//
// Items are words of 1, 4 or 8 bytes; an item of several words has one index more. Each word is read and written once.

constexpr int THREADS = 256, INDICES = 6, TILE = 32;

// Extents and strides in words, in the order of `to` in memory, the fastest index last. Unused indices come first, with extent 1.
struct Shape {
    u64 extents[INDICES], from[INDICES], to[INDICES];
};

// Takes an index off a number; a division of 32 bits where it suffices costs a fifth.
INLINE u64 take_index(u64& number, u64 extent) {
    if (extent == 1) return 0;
    u64 rest = (number | extent) >> 32 == 0 ? u64(u32(number) / u32(extent)) : number / extent;
    u64 index = number - rest * extent;
    number = rest;
    return index;
}

// One thread per word, in the order of `to`.
template <class T> INLINE void remap_rows(u64 count, const Shape& shape, const T* from, T* to) {
    u64 number = thread_index();
    if (number >= count) return;
    u64 read = 0, write = 0;
#pragma unroll
    for (int d = INDICES - 1; d >= 0; d--) {
        u64 index = take_index(number, shape.extents[d]);
        read += index * shape.from[d], write += index * shape.to[d];
    }
    to[write] = from[read];
}

// For views whose fastest indices differ: that of `to` is the last one, that of `from` the one before. A block reads a tile of both
// along `from` and writes it along `to`.
template <class T> INLINE void remap_tiles(const Shape& shape, const T* from, T* to) {
    __shared__ T tile[TILE][TILE + 1];
    const int A = INDICES - 1, B = INDICES - 2;
    const u64 extent_a = shape.extents[A], extent_b = shape.extents[B];
    u64 number = blockIdx.x;
    const u64 first_a = TILE * take_index(number, (extent_a + TILE - 1) / TILE);
    const u64 first_b = TILE * take_index(number, (extent_b + TILE - 1) / TILE);
    u64 read = 0, write = 0;
#pragma unroll
    for (int d = B - 1; d >= 0; d--) {
        u64 index = take_index(number, shape.extents[d]);
        read += index * shape.from[d], write += index * shape.to[d];
    }
    const int x = threadIdx.x % TILE;
    for (int y = threadIdx.x / TILE; y < TILE; y += THREADS / TILE) {
        u64 a = first_a + y, b = first_b + x;
        if (a < extent_a && b < extent_b) tile[y][x] = from[read + a * shape.from[A] + b * shape.from[B]];
    }
    __syncthreads();
    for (int y = threadIdx.x / TILE; y < TILE; y += THREADS / TILE) {
        u64 a = first_a + x, b = first_b + y;
        if (a < extent_a && b < extent_b) to[write + a * shape.to[A] + b * shape.to[B]] = tile[x][y];
    }
}

#define REMAP(T, ROWS, TILES)                                                              \
    KERNEL __launch_bounds__(THREADS) ROWS(u64 count, Shape shape, const T* from, T* to) { \
        remap_rows(count, shape, from, to);                                                \
    }                                                                                      \
    KERNEL __launch_bounds__(THREADS) TILES(Shape shape, const T* from, T* to) { remap_tiles(shape, from, to); }

REMAP(u8, remap_rows_1, remap_tiles_1)
REMAP(u32, remap_rows_4, remap_tiles_4)
REMAP(u64, remap_rows_8, remap_tiles_8)
