// One contraction of many fields with sizes known at compile time: tiles in shared memory, as in tile8 to tile32, and a
// tile of outputs in the registers of each thread.
//
// LEFT, RIGHT fields, OUTER x MIDDLE x INNER terms, REAL. ACROSS x ACROSS threads (16 or 8) compute ACROSS ROWS x ACROSS
// COLUMNS outputs of a cell, ROWS x COLUMNS per thread: vectors of neighbouring outputs, ACROSS vectors apart, so that
// operands are read as vectors. Slabs of 8 terms of both operands alternate between two buffers of shared memory. While the
// products of one slab are added, the next is loaded into registers and then stored in the other buffer, so a slab costs
// one barrier. Each row of a buffer is padded by 16 bytes: reads remain whole vectors, and the stores of a warp, 8 terms of
// neighbouring lines, hit different banks. Adds in the order of k, so the bits equal those of flat. Any strides. Bytes:
// left once per column of tiles, right once per row of tiles, out once.

constexpr int SLAB = 8, TERMS = OUTER * MIDDLE * INNER, PAD = 16 / sizeof(REAL);
static_assert(THREADS == ACROSS * ACROSS && ACROSS % 8 == 0, "warps of 4 x 8 threads");

// Vectors that make up COUNT rows of a thread: the longest that fits 16 bytes and divides COUNT.
template <int COUNT> struct Of {
    static constexpr int VECTOR = COUNT % PAD == 0 ? PAD : COUNT % 2 == 0 ? 2 : 1;
    struct alignas(sizeof(REAL) * VECTOR) Vector {
        REAL item[VECTOR];
    };
    // Row i of thread t.
    static __device__ __forceinline__ int row(int t, int i) { return (i / VECTOR * ACROSS + t) * VECTOR + i % VECTOR; }
    static __device__ __forceinline__ void read(const REAL* line, int t, REAL (&item)[COUNT]) {
#pragma unroll
        for (int i = 0; i < COUNT; i += VECTOR) {
            Vector some = *reinterpret_cast<const Vector*>(line + row(t, i));
#pragma unroll
            for (int v = 0; v < VECTOR; ++v) item[i + v] = some.item[v];
        }
    }
};

INLINE u64 offset(const Operand<REAL>& x, int k) {
    if (OUTER * MIDDLE == 1) return k * x.inner;
    return k / (MIDDLE * INNER) * x.outer + k / INNER % MIDDLE * x.middle + k % INNER * x.inner;
}

// A slab of SIDE rows, loaded by all threads from memory to registers and stored from registers to shared memory. A thread
// handles one term of the slab in each LINES-th row.
template <int SIDE> struct Slab {
    static constexpr int LINES = THREADS / SLAB, LOADS = (SIDE + LINES - 1) / LINES, PITCH = SIDE + PAD;
    REAL item[LOADS];

    __device__ __forceinline__ void load(const Operand<REAL>& x, const REAL* row, int rows, int first) {
        int k = first + threadIdx.x % SLAB, line = threadIdx.x / SLAB;
        const REAL* from = row + line * x.field + offset(x, k);
#pragma unroll
        for (int i = 0; i < LOADS; ++i, from += LINES * x.field) {
            item[i] = k < TERMS && line + i * LINES < rows ? *from : REAL(0);
        }
    }
    __device__ __forceinline__ void store(REAL* shared) const {
        int line = threadIdx.x / SLAB;
#pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            if (SIDE % LINES == 0 || line + i * LINES < SIDE) shared[threadIdx.x % SLAB * PITCH + line + i * LINES] = item[i];
        }
    }
};

INLINE void blocked(Sizes n, Operand<REAL> a, Operand<REAL> b, Output<REAL> out) {
    constexpr int HEIGHT = ACROSS * ROWS, WIDTH = ACROSS * COLUMNS;
    using X = Slab<HEIGHT>;
    using Y = Slab<WIDTH>;
    // Two slabs, each with left in front of right.
    constexpr int BEHIND = SLAB * X::PITCH;
    __shared__ __align__(16) REAL slabs[2][BEHIND + SLAB * Y::PITCH];
    constexpr int I = (LEFT + HEIGHT - 1) / HEIGHT, J = (RIGHT + WIDTH - 1) / WIDTH;
    Place at = outputs_in_lanes(blockIdx.x, I, J);
    int l = int(at.left) * HEIGHT, r = int(at.right) * WIDTH, warp = threadIdx.x / WARP;
    int i0 = warp / (ACROSS / 8) * 4 + lane_index() / 8, j0 = warp % (ACROSS / 8) * 8 + lane_index() % 8;
    const REAL *a0 = row(a, at.cell, l), *b0 = row(b, at.cell, r);
    X x;
    Y y;
    x.load(a, a0, LEFT - l, 0);
    y.load(b, b0, RIGHT - r, 0);
    x.store(slabs[0]);
    y.store(slabs[0] + BEHIND);
    __syncthreads();
    REAL sums[ROWS][COLUMNS] = {};
#pragma unroll 1
    for (int first = 0; first < TERMS; first += SLAB) {
        const REAL* slab = slabs[first / SLAB % 2];
        x.load(a, a0, LEFT - l, first + SLAB);
        y.load(b, b0, RIGHT - r, first + SLAB);
#pragma unroll
        for (int k = 0; k < SLAB; ++k) {
            REAL p[ROWS], q[COLUMNS];
            Of<ROWS>::read(slab + k * X::PITCH, i0, p);
            Of<COLUMNS>::read(slab + BEHIND + k * Y::PITCH, j0, q);
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
#pragma unroll
                for (int j = 0; j < COLUMNS; ++j) sums[i][j] += p[i] * q[j];
            }
        }
        REAL* next = slabs[1 - first / SLAB % 2];
        x.store(next);
        y.store(next + BEHIND);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            int row = l + Of<ROWS>::row(i0, i), column = r + Of<COLUMNS>::row(j0, j);
            if (row < LEFT && column < RIGHT) finish(out, at.cell, row, column, sums[i][j]);
        }
    }
}

VARIANT(contract, REAL, THREADS, BLOCKS, (blocked(n, x, y, z)))
