// Loops with functions of a user; twin of src/space/loops.rs. The text in front states
//     Statement    the struct of the functions, whose numbers are `parameters`
//     ARRAYS       the parameters of for_items, `const double* in0, ..., double* out0, ...`
//     READ, WRITE  `in0[i], ...` and `out0[i] = y[0]; ...`
//     INPUTS       their number, at least 1
// A joiner is associative only, so that items are joined in their order: a thread takes neighbouring items.

constexpr int THREADS = 256, ITEMS = 8, TILE = THREADS * ITEMS;

#ifdef ARRAYS

KERNEL __launch_bounds__(THREADS) for_items(u64 n, const double* parameters, ARRAYS) {
    u64 i = thread_index();
    if (i >= n) return;
    const Statement f = *(const Statement*)parameters;
    Array<double, INPUTS> x = {{READ}};
    auto y = f.item(int(i), x);
    WRITE
}

#else

// The tile of a block in shared memory, with the identity behind the last item. Consecutive threads load consecutive items; the
// padding puts the items of a warp's threads in different banks.
struct Tile {
    double items[THREADS][ITEMS + 1];
};

INLINE void load_tile(Tile& tile, const Statement& joiner, u64 n, const double* x) {
    u64 first = u64(blockIdx.x) * TILE;
    for (int k = threadIdx.x; k < TILE; k += THREADS) {
        tile.items[k / ITEMS][k % ITEMS] = first + k < n ? x[first + k] : joiner.identity();
    }
    __syncthreads();
}

// out[block] = the items of its tile joined.
KERNEL __launch_bounds__(THREADS) reduce_items(u64 n, const double* parameters, const double* x, double* out) {
    __shared__ Tile tile;
    __shared__ double of_thread[THREADS];
    const Statement joiner = *(const Statement*)parameters;
    load_tile(tile, joiner, n, x);
    double sum = tile.items[threadIdx.x][0];
    for (int k = 1; k < ITEMS; k++) sum = joiner.join(sum, tile.items[threadIdx.x][k]);
    of_thread[threadIdx.x] = sum;
    // Neighbours join, the lower one first.
    for (int step = 1; step < THREADS; step *= 2) {
        __syncthreads();
        if (threadIdx.x % (2 * step) == 0) {
            of_thread[threadIdx.x] = joiner.join(of_thread[threadIdx.x], of_thread[threadIdx.x + step]);
        }
    }
    if (threadIdx.x == 0) out[blockIdx.x] = of_thread[0];
}

// out[i] = the items of the tile up to i joined; totals[block] = all of them.
KERNEL __launch_bounds__(THREADS) scan_tiles(u64 n, const double* parameters, const double* x, double* out, double* totals) {
    __shared__ Tile tile;
    __shared__ double of_thread[2][THREADS];
    const Statement joiner = *(const Statement*)parameters;
    load_tile(tile, joiner, n, x);
    double(&own)[ITEMS + 1] = tile.items[threadIdx.x];
    for (int k = 1; k < ITEMS; k++) own[k] = joiner.join(own[k - 1], own[k]);
    // Of the threads up to this one (Hillis and Steele 1986); two copies, so that a step reads what the one before has written.
    int now = 0;
    of_thread[now][threadIdx.x] = own[ITEMS - 1];
    for (int step = 1; step < THREADS; step *= 2, now = 1 - now) {
        __syncthreads();
        double sum = of_thread[now][threadIdx.x];
        if (int(threadIdx.x) >= step) sum = joiner.join(of_thread[now][threadIdx.x - step], sum);
        of_thread[1 - now][threadIdx.x] = sum;
    }
    __syncthreads();
    if (threadIdx.x > 0) {
        double before = of_thread[now][threadIdx.x - 1];
        for (int k = 0; k < ITEMS; k++) own[k] = joiner.join(before, own[k]);
    }
    if (threadIdx.x == 0) totals[blockIdx.x] = of_thread[now][THREADS - 1];
    __syncthreads();
    u64 first = u64(blockIdx.x) * TILE;
    for (int k = threadIdx.x; k < TILE && first + k < n; k += THREADS) out[first + k] = tile.items[k / ITEMS][k % ITEMS];
}

// out[i] = the totals of all tiles before that of i joined with out[i]; totals[tile] holds them up to and including the tile.
KERNEL __launch_bounds__(THREADS) scan_add(u64 n, const double* parameters, const double* totals, double* out) {
    u64 i = thread_index();
    if (i >= n || i < TILE) return;
    const Statement joiner = *(const Statement*)parameters;
    out[i] = joiner.join(totals[i / TILE - 1], out[i]);
}

#endif
