// Loops with functions of a user; twin of src/space/loops.rs. The text in front states
//     Statement    the struct of the functions, whose numbers are `parameters`
//     NUMBERS      how many numbers, at least 2
//     ARRAYS       the arrays of the loop as parameters, `, const Item* in0, ...`
// and by what is called
//     READ, OWN, WRITE         of for_items: items of the inputs and of the outputs, and `out0[i] = y[0]; ...`
//     CALL                     of for_indices: the arguments behind the index
//     TEAM, READ, OF, CELLS    of for_teams: threads of a team; arrays of numbers, of indices, and cells
//     TILE_LANES, TILE_ITEMS   of for_tiles: threads of a block, numbers of its scratch; and READ, OF, CELLS
//     READ, COMMUTES           of reduce_items and scan_items: items of the inputs; 1 if the order does not count, undefined for a scan

constexpr int THREADS = 256;

struct Parameters {
    double number[NUMBERS];
};

static_assert(sizeof(Statement) <= sizeof(Parameters), "NUMBERS is less than the struct has");

INLINE const Statement& statement(const Parameters& parameters) { return *(const Statement*)&parameters; }

#ifdef WRITE

using Item = Statement::Item;

KERNEL __launch_bounds__(THREADS) for_items(u64 n, const __grid_constant__ Parameters parameters ARRAYS) {
    u64 i = thread_index();
    if (i >= n) return;
    auto y = statement(parameters).item(int(i), READ, OWN);
    WRITE
}

#elif defined(CALL)

KERNEL __launch_bounds__(THREADS) for_indices(u64 n, const __grid_constant__ Parameters parameters ARRAYS) {
    u64 i = thread_index();
    if (i < n) statement(parameters).at(int(i), CALL);
}

#elif defined(TEAM)

using Value = Statement::Value;

// Consecutive threads are a team; their values meet in shared memory, where neighbours join.
KERNEL __launch_bounds__(THREADS) for_teams(u64 n, const __grid_constant__ Parameters parameters ARRAYS) {
    __shared__ Value values[THREADS];
    const Statement& f = statement(parameters);
    u64 i = thread_index() / TEAM;
    int lane = threadIdx.x % TEAM;
    Value sum = f.identity();
    if (i < n) {
        auto range = f.range(int(i), OF);
        for (int k = range[0] + lane; k < range[1]; k += TEAM) sum = f.join(sum, f.value(int(i), k, READ, OF));
    }
    Value* own = values + threadIdx.x;
    *own = sum;
    for (int step = 1; step < TEAM; step *= 2) {
        __syncwarp();
        if (lane % (2 * step) == 0) *own = f.join(own[0], own[step]);
    }
    if (i < n && lane == 0) f.at(int(i), *own, CELLS);
}

#elif defined(TILE_LANES)

// A block is a team. The lanes wait for each other before they read the scratch, and before they fill it again.
KERNEL __launch_bounds__(TILE_LANES) for_tiles(const __grid_constant__ Parameters parameters ARRAYS) {
    __shared__ double scratch[TILE_ITEMS];
    const Statement& f = statement(parameters);
    const auto numbers = READ;
    int team = int(blockIdx.x), lane = threadIdx.x, phases = f.phases(team, OF);
    auto value = f.start();
    for (int phase = 0; phase < phases; phase++) {
        for (int k = lane; k < TILE_ITEMS; k += TILE_LANES) scratch[k] = f.load(team, phase, k, numbers, OF);
        __syncthreads();
        value = f.step(lane, value, Slice<Scratch>{scratch, TILE_ITEMS});
        __syncthreads();
    }
    f.at(team, lane, value, CELLS);
}

#else

using Item = Statement::Item;
using Value = Statement::Value;

// As in src/space/cuda/loops.rs.
constexpr int ITEMS = sizeof(Value) < 64 ? 64 / sizeof(Value) : 1, TILE = THREADS * ITEMS;

// The values of a block in shared memory, with the identity behind the last one. Consecutive threads make consecutive values; the
// padding puts the values of a warp's threads in different banks. A thread then takes neighbouring ones: values keep their order.
struct Tile {
    Value values[THREADS][ITEMS + 1];
};

template <class Load> INLINE void load_tile(Tile& tile, const Statement& f, u64 n, Load load) {
    u64 first = u64(blockIdx.x) * TILE;
    for (int k = threadIdx.x; k < TILE; k += THREADS) {
        tile.values[k / ITEMS][k % ITEMS] = first + k < n ? load(first + k) : f.identity();
    }
    __syncthreads();
}

#ifdef COMMUTES

INLINE Value of_thread(const Tile& tile, const Statement& f) {
    Value sum = tile.values[threadIdx.x][0];
    for (int k = 1; k < ITEMS; k++) sum = f.join(sum, tile.values[threadIdx.x][k]);
    return sum;
}

// Returns the values of the threads joined, in thread 0; neighbours join, the lower one first.
INLINE Value join_threads(const Statement& f, Value sum) {
    __shared__ Value sums[THREADS];
    __syncthreads();
    sums[threadIdx.x] = sum;
    for (int step = 1; step < THREADS; step *= 2) {
        __syncthreads();
        if (threadIdx.x % (2 * step) == 0) sums[threadIdx.x] = f.join(sums[threadIdx.x], sums[threadIdx.x + step]);
    }
    // Its own item, which no other thread writes.
    return sums[threadIdx.x];
}

#if COMMUTES

// out[0] = the values of all items joined. A thread joins those of every gridDim-th item, and the last block to arrive those of the
// blocks, which are 64 bytes behind `ticket`. That is 0 on entry and on exit.
KERNEL __launch_bounds__(THREADS) reduce_items(u64 n, const __grid_constant__ Parameters parameters, u32* ticket, Value* out ARRAYS) {
    __shared__ bool is_last;
    const Statement f = statement(parameters);
    Value* partials = (Value*)(ticket + 16);
    Value sum = f.identity();
    for (u64 i = thread_index(); i < n; i += u64(gridDim.x) * THREADS) sum = f.join(sum, f.value(int(i), READ));
    sum = join_threads(f, sum);
    if (gridDim.x > 1) {
        if (threadIdx.x == 0) {
            partials[blockIdx.x] = sum;
            // Makes the value visible before the ticket.
            __threadfence();
            is_last = atomicAdd(ticket, 1u) == gridDim.x - 1;
        }
        __syncthreads();
        if (!is_last) return;
        // Reads below see what other blocks wrote before their tickets.
        __threadfence();
        sum = f.identity();
        for (u32 k = threadIdx.x; k < gridDim.x; k += THREADS) sum = f.join(sum, partials[k]);
        sum = join_threads(f, sum);
        if (threadIdx.x == 0) *ticket = 0;
    }
    if (threadIdx.x == 0) out[0] = sum;
}

#else

// out[block] = the values of its tile joined.
KERNEL __launch_bounds__(THREADS) reduce_items(u64 n, const __grid_constant__ Parameters parameters, Value* out ARRAYS) {
    __shared__ Tile tile;
    const Statement f = statement(parameters);
    load_tile(tile, f, n, [=](u64 i) { return f.value(int(i), READ); });
    Value sum = join_threads(f, of_thread(tile, f));
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// As above for values that are joined already.
KERNEL __launch_bounds__(THREADS) reduce_values(u64 n, const __grid_constant__ Parameters parameters, const Value* x, Value* out) {
    __shared__ Tile tile;
    const Statement f = statement(parameters);
    load_tile(tile, f, n, [=](u64 i) { return x[i]; });
    Value sum = join_threads(f, of_thread(tile, f));
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

#endif

#else

// out[i] = the values of the tile up to i joined; totals[block] = all of them.
INLINE void scan_tile(Tile& tile, const Statement& f, u64 n, Value* out, Value* totals) {
    __shared__ Value sums[2][THREADS];
    Value(&own)[ITEMS + 1] = tile.values[threadIdx.x];
    for (int k = 1; k < ITEMS; k++) own[k] = f.join(own[k - 1], own[k]);
    // Of the threads up to this one (Hillis and Steele 1986); two copies, so that a step reads what the one before has written.
    int now = 0;
    sums[now][threadIdx.x] = own[ITEMS - 1];
    for (int step = 1; step < THREADS; step *= 2, now = 1 - now) {
        __syncthreads();
        Value sum = sums[now][threadIdx.x];
        if (int(threadIdx.x) >= step) sum = f.join(sums[now][threadIdx.x - step], sum);
        sums[1 - now][threadIdx.x] = sum;
    }
    __syncthreads();
    if (threadIdx.x > 0) {
        Value before = sums[now][threadIdx.x - 1];
        for (int k = 0; k < ITEMS; k++) own[k] = f.join(before, own[k]);
    }
    if (threadIdx.x == 0) totals[blockIdx.x] = sums[now][THREADS - 1];
    __syncthreads();
    u64 first = u64(blockIdx.x) * TILE;
    for (int k = threadIdx.x; k < TILE && first + k < n; k += THREADS) out[first + k] = tile.values[k / ITEMS][k % ITEMS];
}

KERNEL __launch_bounds__(THREADS) scan_items(u64 n, const __grid_constant__ Parameters parameters, Value* out, Value* totals ARRAYS) {
    __shared__ Tile tile;
    const Statement f = statement(parameters);
    load_tile(tile, f, n, [=](u64 i) { return f.value(int(i), READ); });
    scan_tile(tile, f, n, out, totals);
}

KERNEL __launch_bounds__(THREADS) scan_values(u64 n, const __grid_constant__ Parameters parameters, Value* out, Value* totals, const Value* x) {
    __shared__ Tile tile;
    const Statement f = statement(parameters);
    load_tile(tile, f, n, [=](u64 i) { return x[i]; });
    scan_tile(tile, f, n, out, totals);
}

// out[i] = the totals of all tiles before that of i joined with out[i]; totals[tile] holds them up to and including the tile.
KERNEL __launch_bounds__(THREADS) scan_add(u64 n, const __grid_constant__ Parameters parameters, const Value* totals, Value* out) {
    u64 i = thread_index();
    if (i >= n || i < TILE) return;
    out[i] = statement(parameters).join(totals[i / TILE - 1], out[i]);
}

#endif
#endif
