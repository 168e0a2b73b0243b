// One contraction with sizes known at compile time and cells in lanes, for layouts in which cells are adjacent.
//
// LEFT, RIGHT fields, OUTER x MIDDLE x INNER terms, tiles of ROWS x COLUMNS outputs per thread, REAL. A thread keeps its
// sums in registers. All loops over a tile and up to UNROLL terms of k are unrolled. With PREFETCH the operands of the next
// term are loaded while the products of this one are added. Large tiles leave no registers for that: with STAGES > 0 each
// thread copies the operands of its own tile asynchronously to shared memory, STAGES - 1 terms in advance, and waits for
// its own copies only, without barriers. Adds in the order of k, so the bits equal those of flat. Strides as given. Bytes:
// left once per column of tiles, right once per row of tiles, out once.

template <int TILE, int FIELDS> INLINE void load(const Operand<REAL>& x, const REAL* row, int rows, REAL (&item)[TILE]) {
#pragma unroll
    for (int i = 0; i < TILE; ++i) item[i] = FIELDS % TILE == 0 || i < rows ? row[i * x.field] : REAL(0);
}

INLINE u64 offset(const Operand<REAL>& x, int k) {
    return k / (MIDDLE * INNER) * x.outer + k / INNER % MIDDLE * x.middle + k % INNER * x.inner;
}

constexpr int TERMS = OUTER * MIDDLE * INNER;

// Copies the operands of a tile at term k to shared memory. Item i of all threads is contiguous, which avoids bank
// conflicts.
template <int TILE, int FIELDS> INLINE void copy(const Operand<REAL>& x, const REAL* row, int rows, REAL* to) {
#pragma unroll
    for (int i = 0; i < TILE; ++i, row += x.field) {
        if (FIELDS % TILE != 0 && i >= rows) continue;
#if __CUDA_ARCH__ >= 800
        u32 address = u32(__cvta_generic_to_shared(to + i * THREADS));
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(row), "n"(sizeof(REAL)) : "memory");
#else
        to[i * THREADS] = *row;
#endif
    }
}
// Ends a group of copies.
INLINE void commit() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits until all groups but the STAGES - 1 newest have arrived.
INLINE void wait() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES > 0 ? STAGES - 1 : 0) : "memory");
#endif
}
template <int TILE, int FIELDS> INLINE void take(const REAL* from, int rows, REAL (&item)[TILE]) {
#pragma unroll
    for (int i = 0; i < TILE; ++i) item[i] = FIELDS % TILE == 0 || i < rows ? from[i * THREADS] : REAL(0);
}

INLINE void add(const REAL (&x)[ROWS], const REAL (&y)[COLUMNS], REAL (&sums)[ROWS][COLUMNS]) {
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) sums[i][j] += x[i] * y[j];
    }
}

// Adds all terms, loaded from memory to registers.
INLINE void directly(const Operand<REAL>& a, const REAL* a0, int rows, const Operand<REAL>& b, const REAL* b0, int columns,
                     REAL (&sums)[ROWS][COLUMNS]) {
    REAL x[ROWS], y[COLUMNS];
    if (PREFETCH) load<ROWS, LEFT>(a, a0, rows, x), load<COLUMNS, RIGHT>(b, b0, columns, y);
#pragma unroll UNROLL
    for (int k = 0; k < TERMS; ++k) {
        REAL next_x[ROWS], next_y[COLUMNS];
        if (!PREFETCH) {
            load<ROWS, LEFT>(a, a0 + offset(a, k), rows, x), load<COLUMNS, RIGHT>(b, b0 + offset(b, k), columns, y);
        } else if (k + 1 < TERMS) {
            load<ROWS, LEFT>(a, a0 + offset(a, k + 1), rows, next_x);
            load<COLUMNS, RIGHT>(b, b0 + offset(b, k + 1), columns, next_y);
        }
        add(x, y, sums);
        if (PREFETCH && k + 1 < TERMS) {
#pragma unroll
            for (int i = 0; i < ROWS; ++i) x[i] = next_x[i];
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) y[j] = next_y[j];
        }
    }
}

// Adds all terms, loaded through shared memory.
INLINE void staged(const Operand<REAL>& a, const REAL* a0, int rows, const Operand<REAL>& b, const REAL* b0, int columns,
                   REAL (&sums)[ROWS][COLUMNS]) {
    extern __shared__ __align__(16) char shared[];
    constexpr int STAGE = (ROWS + COLUMNS) * THREADS;
    REAL* stages = reinterpret_cast<REAL*>(shared) + threadIdx.x;
    constexpr int DEPTH = STAGES > 0 ? STAGES : 1;
    auto request = [&](int k) {
        REAL* stage = stages + k % DEPTH * STAGE;
        if (k < TERMS) {
            copy<ROWS, LEFT>(a, a0 + offset(a, k), rows, stage);
            copy<COLUMNS, RIGHT>(b, b0 + offset(b, k), columns, stage + ROWS * THREADS);
        }
        commit();
    };
#pragma unroll 1
    for (int k = 0; k + 1 < STAGES; ++k) request(k);
#pragma unroll 1
    for (int k = 0; k < TERMS; ++k) {
        request(k + STAGES - 1);
        wait();
        const REAL* stage = stages + k % DEPTH * STAGE;
        REAL x[ROWS], y[COLUMNS];
        take<ROWS, LEFT>(stage, rows, x);
        take<COLUMNS, RIGHT>(stage + ROWS * THREADS, columns, y);
        add(x, y, sums);
    }
}

INLINE void lanes(Sizes n, Operand<REAL> a, Operand<REAL> b, Output<REAL> out) {
    Place at = cells_in_lanes(thread_index(), (LEFT + ROWS - 1) / ROWS, (RIGHT + COLUMNS - 1) / COLUMNS);
    if (at.cell >= n.cells) return;
    int l = int(at.left) * ROWS, r = int(at.right) * COLUMNS, rows = LEFT - l, columns = RIGHT - r;
    const REAL *a0 = row(a, at.cell, l), *b0 = row(b, at.cell, r);
    REAL sums[ROWS][COLUMNS] = {};
    if constexpr (STAGES > 0) {
        staged(a, a0, rows, b, b0, columns, sums);
    } else {
        directly(a, a0, rows, b, b0, columns, sums);
    }
    put_tile(out, at.cell, l, r, rows, columns, sums);
}

VARIANT(contract, REAL, THREADS, BLOCKS, (lanes(n, x, y, z)))
