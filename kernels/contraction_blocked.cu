// One contraction of many fields with its sizes known to the compiler: tiles in shared memory as tile8 to tile32 have them,
// and in each thread a tile of them in registers.
//
// LEFT, RIGHT fields, OUTER x MIDDLE x INNER terms, REAL. 16 x 16 threads make 16 ROWS x 16 COLUMNS outputs of a cell, each
// ROWS x COLUMNS of them, 16 apart; slabs of 8 terms of both operands go through shared memory, the next one on its way to
// registers while the products of this one are added. Adds in the order of k: the bits of flat. Any strides.
// Bytes: left once for each column of tiles, right once for each row of tiles, out once.

constexpr int SLAB = 8, TERMS = OUTER * MIDDLE * INNER;

INLINE u64 offset(const Operand<REAL>& x, int k) {
    return k / (MIDDLE * INNER) * x.outer + k / INNER % MIDDLE * x.middle + k % INNER * x.inner;
}

// A slab of SIDE rows, by all threads: from memory to registers, from registers to shared memory.
template <int SIDE> struct Slab {
    static constexpr int ITEMS = SIDE * SLAB, LOADS = (ITEMS + THREADS - 1) / THREADS, PITCH = SIDE + 1;
    REAL item[LOADS];

    __device__ __forceinline__ void load(const Operand<REAL>& x, const REAL* row, int rows, int first) {
#pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            int at = threadIdx.x + i * THREADS, k = first + at % SLAB, line = at / SLAB;
            bool is_in = at < ITEMS && line < rows && k < TERMS;
            item[i] = is_in ? row[line * x.field + offset(x, k)] : REAL(0);
        }
    }
    __device__ __forceinline__ void store(REAL* shared) const {
#pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            int at = threadIdx.x + i * THREADS;
            if (at < ITEMS) shared[at % SLAB * PITCH + at / SLAB] = item[i];
        }
    }
};

INLINE void blocked(Sizes n, Operand<REAL> a, Operand<REAL> b, Output<REAL> out) {
    constexpr int HEIGHT = 16 * ROWS, WIDTH = 16 * COLUMNS;
    __shared__ REAL left[SLAB * (HEIGHT + 1)], right[SLAB * (WIDTH + 1)];
    constexpr int I = (LEFT + HEIGHT - 1) / HEIGHT, J = (RIGHT + WIDTH - 1) / WIDTH;
    Place at = outputs_in_lanes(blockIdx.x, I, J);
    int l = int(at.left) * HEIGHT, r = int(at.right) * WIDTH, i0 = threadIdx.x / 16, j0 = threadIdx.x % 16;
    const REAL *a0 = row(a, at.cell, l), *b0 = row(b, at.cell, r);
    Slab<HEIGHT> x;
    Slab<WIDTH> y;
    x.load(a, a0, LEFT - l, 0);
    y.load(b, b0, RIGHT - r, 0);
    REAL sums[ROWS][COLUMNS] = {};
#pragma unroll 1
    for (int first = 0; first < TERMS; first += SLAB) {
        x.store(left);
        y.store(right);
        __syncthreads();
        x.load(a, a0, LEFT - l, first + SLAB);
        y.load(b, b0, RIGHT - r, first + SLAB);
#pragma unroll
        for (int k = 0; k < SLAB; ++k) {
            REAL p[ROWS], q[COLUMNS];
#pragma unroll
            for (int i = 0; i < ROWS; ++i) p[i] = left[k * (HEIGHT + 1) + i0 + 16 * i];
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) q[j] = right[k * (WIDTH + 1) + j0 + 16 * j];
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
#pragma unroll
                for (int j = 0; j < COLUMNS; ++j) sums[i][j] += p[i] * q[j];
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            int row = l + i0 + 16 * i, column = r + j0 + 16 * j;
            if (row < LEFT && column < RIGHT) finish(out, at.cell, row, column, sums[i][j]);
        }
    }
}

VARIANT(contract, REAL, THREADS, BLOCKS, (blocked(n, x, y, z)))
