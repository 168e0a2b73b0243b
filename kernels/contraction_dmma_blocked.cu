// One contraction of many fields in f64 on tensor cores with sizes known at compile time, for layouts in which the terms of
// a cell are adjacent.
//
// LEFT, RIGHT fields, TERMS terms. A block computes HEIGHT x WIDTH outputs of a cell, 8 ROWS x 8 COLUMNS per warp.
// Asynchronous copies of VECTOR items bring CHUNK terms of both operands at a time to shared memory, DEPTH parts in
// advance. A part consists of blocks of eight terms [block][row][term], which lanes read as 16 bytes without bank
// conflicts. Rows past the end are not copied and their outputs not stored; terms past the end are zeros. Sums as in
// contraction_dmma. Bytes: left once per column of blocks, right once per row of blocks, out once.

constexpr int HEIGHT = 8 * ROWS * WARPS_DOWN, WIDTH = 8 * COLUMNS * WARPS_ACROSS, EIGHT = 8;
constexpr int I = (LEFT + HEIGHT - 1) / HEIGHT, J = (RIGHT + WIDTH - 1) / WIDTH;
constexpr int CHUNKS = (TERMS + CHUNK - 1) / CHUNK, PART = (HEIGHT + WIDTH) * CHUNK, STAGES = DEPTH + 1;
// Distance between rows of the sums in shared memory, padded against bank conflicts.
constexpr int LINE = WIDTH + 4;
static_assert(CHUNK % EIGHT == 0 && TERMS % VECTOR == 0 && THREADS == WARPS_DOWN * WARPS_ACROSS * WARP, "whole blocks and warps");

// Copies the terms from `begin` on of `rows` of SIDE rows.
template <int SIDE> INLINE void stage(const double* from, u64 field, int rows, int begin, double* to) {
    constexpr int VECTORS = CHUNK / VECTOR;
#pragma unroll
    for (int i = threadIdx.x; i < SIDE * VECTORS; i += THREADS) {
        int line = i / VECTORS, k = i % VECTORS * VECTOR;
        if (line >= rows) break;
        u32 place = u32(__cvta_generic_to_shared(to + (k / EIGHT * SIDE + line) * EIGHT + k % EIGHT));
        const double* item = from + line * field + (begin + k < TERMS ? begin + k : 0);
        u32 bytes = begin + k < TERMS ? 8 * VECTOR : 0;
        if constexpr (VECTOR == 2) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(item), "r"(bytes) : "memory");
        else asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(place), "l"(item), "r"(bytes) : "memory");
    }
    asm volatile("" ::: "memory");
}

template <int TILES> INLINE void load(const double* row, double (&item)[TILES][2]) {
#pragma unroll
    for (int i = 0; i < TILES; ++i) {
        double2 x = *reinterpret_cast<const double2*>(row + 8 * i * EIGHT);
        item[i][0] = x.x, item[i][1] = x.y;
    }
}

INLINE void dmma_blocked(Sizes n, Operand<double> a, Operand<double> b, Output<double> out) {
    extern __shared__ __align__(16) double shared[];
    Place at = outputs_in_lanes(blockIdx.x, I, J);
    int warp = threadIdx.x / WARP, g = lane_index() / 4, t = lane_index() % 4;
    int l0 = int(at.left) * HEIGHT, r0 = int(at.right) * WIDTH, down = warp / WARPS_ACROSS * (8 * ROWS), across = warp % WARPS_ACROSS * (8 * COLUMNS);
    const double *left = row(a, at.cell, l0), *right = row(b, at.cell, r0);
    auto copy = [&](int chunk) {
        if (chunk < CHUNKS) {
            double* to = shared + chunk % STAGES * PART;
            stage<HEIGHT>(left, a.field, LEFT - l0, chunk * CHUNK, to);
            stage<WIDTH>(right, b.field, RIGHT - r0, chunk * CHUNK, to + HEIGHT * CHUNK);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    double sums[ROWS][COLUMNS][2] = {};
#pragma unroll
    for (int chunk = 0; chunk < DEPTH; ++chunk) copy(chunk);
#pragma unroll 1
    for (int chunk = 0; chunk < CHUNKS; ++chunk) {
        asm volatile("cp.async.wait_group %0;" ::"n"(DEPTH - 1) : "memory");
        // After the barrier this part has arrived for all threads, and all have finished the part before, whose place the
        // next copies take.
        __syncthreads();
        copy(chunk + DEPTH);
        const double* part = shared + chunk % STAGES * PART;
#pragma unroll
        for (int eight = 0; eight < CHUNK / EIGHT; ++eight) {
            if (TERMS % CHUNK != 0 && chunk * CHUNK + eight * EIGHT >= TERMS) break;
            double x[ROWS][2], y[COLUMNS][2];
            load(part + (eight * HEIGHT + down + g) * EIGHT + 2 * t, x);
            load(part + HEIGHT * CHUNK + (eight * WIDTH + across + g) * EIGHT + 2 * t, y);
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) {
#pragma unroll
                for (int i = 0; i + 1 < ROWS; i += 2) multiply(sums[i][j], sums[i + 1][j], x[i], x[i + 1], y[j]);
                if (ROWS % 2 == 1) multiply(sums[ROWS - 1][j], x[ROWS - 1], y[j]);
            }
        }
    }
    // The sums are stored in shared memory in the layout of the outputs, so that neighbouring threads store neighbouring
    // outputs.
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            double* sum = shared + (down + 8 * i + g) * LINE + across + 8 * j + 2 * t;
            sum[0] = sums[i][j][0], sum[1] = sums[i][j][1];
        }
    }
    __syncthreads();
    int rows = min(LEFT - l0, HEIGHT), columns = min(RIGHT - r0, WIDTH);
    for (int l = warp; l < rows; l += THREADS / WARP) {
        for (int r = lane_index(); r < columns; r += WARP) finish(out, at.cell, l0 + l, r0 + r, shared[l * LINE + r]);
    }
}

VARIANT(contract, double, THREADS, BLOCKS, (dmma_blocked(n, x, y, z)))
