// One contraction in f64 on tensor cores with sizes known at compile time, for layouts in which the terms of a cell are
// adjacent.
//
// LEFT, RIGHT fields, TERMS terms. A warp computes 8 ROWS x 8 COLUMNS outputs of a cell. SPLIT warps share
// these outputs: each takes every SPLIT-th step of eight terms, and their sums are then added in a tree by halves. Lane (g,
// t) = (lane / 4, lane % 4) loads two of the eight terms of row g of left and of right: 2 t and 2 t + 1 by one load of 16
// bytes if VECTOR is 2, else t and t + 4. The choice of terms does not matter as long as it is the same for both operands.
// With PREFETCH the loads of a step precede the products of the step before. A lane receives the outputs (g, 2 t) and (g, 2 t
// + 1). Rows and terms past the end are zeros. On sm_90 products have 16 x 8 outputs, twice as fast as 8 x 8. The hardware
// adds the terms of a product in its own order: the bits differ from flat's, but are the same in each run. Bytes: left once
// per column of tiles, right once per row of tiles, repeated reads from cache; out once.

constexpr int I = (LEFT + 8 * ROWS - 1) / (8 * ROWS), J = (RIGHT + 8 * COLUMNS - 1) / (8 * COLUMNS);
constexpr int STEP = 8, WHOLE = TERMS / STEP, WARPS = THREADS / WARP;
static_assert(WARPS % SPLIT == 0 && (SPLIT & (SPLIT - 1)) == 0, "whole teams of a power of two of warps");

// Two adjacent outputs at a multiple of 16 bytes are stored at once. Otherwise the rows of a warp pass through shared
// memory, so that neighbouring lanes store neighbouring outputs.
constexpr bool BY_PAIRS = PAIRS && RIGHT % 2 == 0;
constexpr int ACROSS = J == 1 ? RIGHT : 8 * COLUMNS, DOWN = I == 1 ? LEFT : 8 * ROWS, OF_LANE = 2 * ROWS * COLUMNS;
// Items of shared memory: half of the warps' sums, or the outputs of a cell for each warp that stores.
constexpr int EXCHANGE = SPLIT > 1 ? WARPS / 2 * OF_LANE * WARP : 1, STORED = BY_PAIRS ? 1 : WARPS / SPLIT * (DOWN * ACROSS);

struct alignas(sizeof(double) * VECTOR) Vector {
    double item[VECTOR];
};

// Loads a lane's terms, from k on, of TILES rows that are 8 apart; only `rows` of them exist. `is_whole` tells that all terms
// exist.
template <int FIELDS, int TILES> INLINE void load(u64 field, const double* row, int rows, bool is_whole, int k, double (&item)[TILES][2]) {
    static_assert(TERMS % VECTOR == 0, "whole vectors");
#pragma unroll
    for (int i = 0; i < TILES; ++i) {
        bool is_row = FIELDS % (8 * TILES) == 0 || 8 * i < rows;
#pragma unroll
        for (int v = 0; v < 2; v += VECTOR) {
            Vector x = {};
            int at = k + v * (STEP / 2);
            if (is_row && (is_whole || at < TERMS)) x = *reinterpret_cast<const Vector*>(row + 8 * i * field + at);
#pragma unroll
            for (int j = 0; j < VECTOR; ++j) item[i][v + j] = x.item[j];
        }
    }
}

struct Step {
    double x[ROWS][2], y[COLUMNS][2];
};

INLINE void dmma(Sizes n, Operand<double> a, Operand<double> b, Output<double> out) {
    __shared__ double memory[EXCHANGE > STORED ? EXCHANGE : STORED];
    u64 team = thread_index() / (WARP * SPLIT), cell = team / (I * J);
    int part = threadIdx.x / WARP % SPLIT, tile = int(team % (I * J)), g = lane_index() / 4, t = lane_index() % 4;
    int l = tile / J * (8 * ROWS) + g, r = tile % J * (8 * COLUMNS), rows = LEFT - l, columns = RIGHT - r - g;
    // Without shared sums, a warp past the last cell may leave. With shared sums it must stay for the barriers.
    if (SPLIT == 1 && cell >= n.cells) return;
    double sums[ROWS][COLUMNS][2] = {};
    const u64 known = least(cell, n.cells - 1);
    const double *left = row(a, known, l), *right = row(b, known, r + g);
    auto load_step = [&](bool is_whole, int step, Step& s) {
        int k = step * STEP + VECTOR * t;
        load<LEFT>(a.field, left, rows, is_whole, k, s.x);
        load<RIGHT>(b.field, right, columns, is_whole, k, s.y);
    };
    auto multiply_step = [&](const Step& s) {
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
#pragma unroll
            for (int i = 0; i + 1 < ROWS; i += 2) multiply(sums[i][j], sums[i + 1][j], s.x[i], s.x[i + 1], s.y[j]);
            if (ROWS % 2 == 1) multiply(sums[ROWS - 1][j], s.x[ROWS - 1], s.y[j]);
        }
    };
    Step now;
    if (PREFETCH && part < WHOLE) load_step(true, part, now);
#pragma unroll UNROLL
    for (int step = part; step < WHOLE; step += SPLIT) {
        Step next;
        if (!PREFETCH) load_step(true, step, now);
        else if (step + SPLIT < WHOLE) load_step(true, step + SPLIT, next);
        multiply_step(now);
        if (PREFETCH) now = next;
    }
    if (TERMS % STEP != 0 && part == WHOLE % SPLIT) {
        load_step(false, WHOLE, now);
        multiply_step(now);
    }
#pragma unroll
    for (int half = SPLIT / 2; half > 0; half /= 2) {
        double *sum = &sums[0][0][0], *place = memory + (threadIdx.x / WARP / SPLIT * (SPLIT / 2) + part % half) * (OF_LANE * WARP) + lane_index();
        if (part >= half && part < 2 * half) {
#pragma unroll
            for (int i = 0; i < OF_LANE; ++i) place[i * WARP] = sum[i];
        }
        __syncthreads();
        if (part < half) {
#pragma unroll
            for (int i = 0; i < OF_LANE; ++i) sum[i] += place[i * WARP];
        }
        __syncthreads();
    }
    double* stored = memory + threadIdx.x / WARP / SPLIT * (DOWN * ACROSS);
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        if (part > 0 || cell >= n.cells || (LEFT % (8 * ROWS) != 0 && 8 * i >= rows)) break;
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            int column = 8 * j + 2 * t;
            double* sum = sums[i][j];
            if (BY_PAIRS) {
                if (RIGHT % (8 * COLUMNS) != 0 && r + column >= RIGHT) continue;
                double2* pair = reinterpret_cast<double2*>(out.data + cell * out.cell + (l + 8 * i) * out.left + (r + column));
                double2 old = out.into ? *pair : double2{0, 0};
                *pair = out.into ? double2{old.x + sum[0], old.y + sum[1]} : double2{sum[0], sum[1]};
            } else {
#pragma unroll
                for (int v = 0; v < 2; ++v) {
                    if (column + v < ACROSS) stored[(8 * i + g) * ACROSS + column + v] = sum[v];
                }
            }
        }
    }
    if (BY_PAIRS) return;
    // All warps of the team store.
    if (SPLIT > 1) __syncthreads();
    else __syncwarp();
    double* line = out.data + cell * out.cell + (l - g) * out.left + r * out.right;
#pragma unroll 4
    for (int i = part * WARP + lane_index(); i < DOWN * ACROSS; i += SPLIT * WARP) {
        int row = i / ACROSS, column = i % ACROSS;
        bool is_in = cell < n.cells && (I == 1 || l - g + row < LEFT) && (J == 1 || r + column < RIGHT);
        double* item = line + row * out.left + column * out.right;
        if (is_in) put(out, item, out.into ? *item : 0.0, stored[i]);
    }
}

VARIANT(contract, double, THREADS, BLOCKS, (dmma(n, x, y, z)))
