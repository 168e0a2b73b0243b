// One contraction with its sizes known to the compiler, small cells in shared memory: for layouts that have a cell's terms
// side by side.
//
// LEFT, RIGHT fields, TERMS terms, REAL; CELLS cells a block, a thread ROWS x COLUMNS outputs of a cell. Both operands of the
// cells come by asynchronous copies of 16 bytes (VECTOR items; by plain loads where VECTOR is 1), each number once; rows begin
// an odd number of copies apart, so that neighbouring rows lie in other banks. Thread (i, j) has the outputs i, i + I, ... by
// j, j + J, ... . Adds in the order of k: the bits of flat. Bytes: each input once, out once.

constexpr int I = (LEFT + ROWS - 1) / ROWS, J = (RIGHT + COLUMNS - 1) / COLUMNS;
constexpr int VECTORS = (TERMS + VECTOR - 1) / VECTOR, PITCH = (VECTORS | 1) * VECTOR;
static_assert(TERMS % VECTOR == 0 && THREADS == CELLS * I * J, "whole vectors, a thread a tile");

struct alignas(sizeof(REAL) * VECTOR) Vector {
    REAL item[VECTOR];
};

INLINE void copy(REAL* to, const REAL* from) {
    if constexpr (sizeof(Vector) == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(u32(__cvta_generic_to_shared(to))), "l"(from) : "memory");
    } else {
        *reinterpret_cast<Vector*>(to) = *reinterpret_cast<const Vector*>(from);
    }
}

template <int FIELDS> INLINE void stage(const Operand<REAL>& x, u64 first, int cells, REAL* to) {
    for (int i = threadIdx.x; i < cells * (FIELDS * VECTORS); i += THREADS) {
        int line = i / VECTORS, vector = i - line * VECTORS, cell = line / FIELDS;
        copy(to + line * PITCH + vector * VECTOR, row(x, first + cell, line - cell * FIELDS) + vector * VECTOR);
    }
}

INLINE void staged(Sizes n, Operand<REAL> a, Operand<REAL> b, Output<REAL> out) {
    extern __shared__ __align__(16) char shared[];
    REAL *left = reinterpret_cast<REAL*>(shared), *right = left + CELLS * LEFT * PITCH;
    u64 first = u64(blockIdx.x) * CELLS;
    int cells = int(least(u64(CELLS), n.cells - first));
    stage<LEFT>(a, first, cells, left);
    stage<RIGHT>(b, first, cells, right);
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    int cell = threadIdx.x / (I * J), tile = threadIdx.x % (I * J), i0 = tile / J, j0 = tile % J;
    if (cell >= cells) return;
    left += (cell * LEFT + i0) * PITCH;
    right += (cell * RIGHT + j0) * PITCH;
    REAL sums[ROWS][COLUMNS] = {};
#pragma unroll UNROLL
    for (int k = 0; k < TERMS; k += VECTOR) {
        Vector x[ROWS], y[COLUMNS];
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            if (LEFT % I == 0 || i0 + i * I < LEFT) x[i] = *reinterpret_cast<const Vector*>(left + i * I * PITCH + k);
            else x[i] = {};
        }
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            if (RIGHT % J == 0 || j0 + j * J < RIGHT) y[j] = *reinterpret_cast<const Vector*>(right + j * J * PITCH + k);
            else y[j] = {};
        }
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) {
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
#pragma unroll
                for (int j = 0; j < COLUMNS; ++j) sums[i][j] += x[i].item[v] * y[j].item[v];
            }
        }
    }
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        REAL *item = out.data + (first + cell) * out.cell + (i0 + i * I) * out.left + j0 * out.right, old[COLUMNS];
        // All old numbers of a row first: a load behind a store would wait for it.
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            bool is_in = i0 + i * I < LEFT && j0 + j * J < RIGHT;
            old[j] = out.into && is_in ? item[j * J * out.right] : REAL(0);
        }
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            if (i0 + i * I < LEFT && j0 + j * J < RIGHT) put(out, item + j * J * out.right, old[j], sums[i][j]);
        }
    }
}

VARIANT(contract, REAL, THREADS, BLOCKS, (staged(n, x, y, z)))
