// One contraction in f64 with its sizes known to the compiler, on tensor cores: for layouts that have a cell's terms side by
// side.
//
// LEFT, RIGHT fields, TERMS terms. A warp makes 8 ROWS x 8 COLUMNS outputs of each of CELLS cells, by m8n8k4 products: lane
// (g, t) = (lane / 4, lane % 4) gives row g and term t of left, and row g and term t of right, and gets outputs (g, 2 t) and
// (g, 2 t + 1). Which four terms meet in a product does not matter, as long as they are the same of both: where VECTOR is 2 a
// lane loads terms 2 t and 2 t + 1 of eight together, for two products. Rows and terms past the end are zeros. A product adds
// its four terms in an order of its own: not the bits of flat, but the same at each run.
// Bytes: left once for each column of tiles, right once for each row, from cache where they were there; out once.

constexpr int I = (LEFT + 8 * ROWS - 1) / (8 * ROWS), J = (RIGHT + 8 * COLUMNS - 1) / (8 * COLUMNS);
constexpr int STEP = 4 * VECTOR, STEPS = (TERMS + STEP - 1) / STEP;

struct alignas(sizeof(double) * VECTOR) Vector {
    double item[VECTOR];
};

INLINE void multiply(double (&c)[2], double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(c[0]), "+d"(c[1]) : "d"(a), "d"(b));
}

// Terms k to k + VECTOR of TILES rows, 8 apart, of which `rows` are there.
template <int FIELDS, int TILES> INLINE void load(const Operand<double>& x, const double* row, int rows, int k, Vector (&item)[TILES]) {
    static_assert(TERMS % VECTOR == 0, "whole vectors");
#pragma unroll
    for (int i = 0; i < TILES; ++i) {
        bool is_in = (FIELDS % (8 * TILES) == 0 || 8 * i < rows) && (TERMS % STEP == 0 || k < TERMS);
        if (is_in) item[i] = *reinterpret_cast<const Vector*>(row + 8 * i * x.field + k);
        else item[i] = {};
    }
}

INLINE void dmma(Sizes n, Operand<double> a, Operand<double> b, Output<double> out) {
    u64 warp = thread_index() / WARP, group = warp / (I * J);
    int tile = int(warp % (I * J)), g = lane_index() / 4, t = lane_index() % 4;
    int l = tile / J * (8 * ROWS) + g, r = tile % J * (8 * COLUMNS), rows = LEFT - l, columns = RIGHT - r - g;
    u64 first = group * CELLS;
    // Whole warps leave together: the products are theirs.
    if (first >= n.cells) return;
    double sums[CELLS][ROWS][COLUMNS][2] = {};
    const double *left[CELLS], *right[CELLS];
#pragma unroll
    for (int c = 0; c < CELLS; ++c) {
        u64 cell = least(first + c, n.cells - 1);
        left[c] = row(a, cell, l), right[c] = row(b, cell, r + g);
    }
#pragma unroll UNROLL
    for (int step = 0; step < STEPS; ++step) {
        int k = step * STEP + t * VECTOR;
        Vector x[CELLS][ROWS], y[CELLS][COLUMNS];
#pragma unroll
        for (int c = 0; c < CELLS; ++c) {
            load<LEFT>(a, left[c], rows, k, x[c]);
            load<RIGHT>(b, right[c], columns, k, y[c]);
        }
#pragma unroll
        for (int c = 0; c < CELLS; ++c) {
#pragma unroll
            for (int v = 0; v < VECTOR; ++v) {
#pragma unroll
                for (int i = 0; i < ROWS; ++i) {
#pragma unroll
                    for (int j = 0; j < COLUMNS; ++j) multiply(sums[c][i][j], x[c][i].item[v], y[c][j].item[v]);
                }
            }
        }
    }
#pragma unroll
    for (int c = 0; c < CELLS; ++c) {
        if (first + c >= n.cells) break;
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            if (LEFT % (8 * ROWS) != 0 && 8 * i >= rows) break;
            double* line = out.data + (first + c) * out.cell + (l + 8 * i) * out.left;
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) {
                int column = r + 8 * j + 2 * t;
                double *sum = sums[c][i][j], *item = line + column * out.right;
                // Two outputs in one store where they are side by side at a multiple of 16 bytes.
                if (PAIRS && RIGHT % 2 == 0) {
                    if (RIGHT % (8 * COLUMNS) != 0 && column >= RIGHT) continue;
                    double2* pair = reinterpret_cast<double2*>(item);
                    double2 old = out.into ? *pair : double2{0, 0};
                    *pair = out.into ? double2{old.x + sum[0], old.y + sum[1]} : double2{sum[0], sum[1]};
                } else {
#pragma unroll
                    for (int v = 0; v < 2; ++v, item += out.right) {
                        if (column + v < RIGHT) put(out, item, out.into ? *item : 0.0, sum[v]);
                    }
                }
            }
        }
    }
}

VARIANT(contract, double, THREADS, BLOCKS, (dmma(n, x, y, z)))
