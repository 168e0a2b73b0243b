// One contraction with sizes known at compile time and cells in shared memory, for layouts in which the terms of a cell are
// adjacent.
//
// LEFT, RIGHT fields, TERMS terms, REAL; CELLS cells per block. Each cell has GROUPS groups of I x J threads with ROWS x
// COLUMNS outputs per thread: thread (i, j) computes the outputs i, i + I, ... by j, j + J, ... . Asynchronous copies bring
// each number of both operands once, in one of two ways. By rows: vectors of VECTOR items, CHUNK terms at a time, one part
// in flight while the products of the other are added; rows and cells are an odd number of vectors apart, so that
// neighbours lie in different banks. FLAT: a cell as one line of numbers, in pieces of 16 bytes wherever its rows begin.
// Group g takes the vectors g, g + GROUPS, ... of a part. The sums of the groups meet in shared memory, are added in group
// order and stored contiguously, STORE items at a time. With one group, terms are added in the order of k, so the bits
// equal those of flat. Bytes: each input once, out once.

constexpr int I = (LEFT + ROWS - 1) / ROWS, J = (RIGHT + COLUMNS - 1) / COLUMNS, OUTPUTS = LEFT * RIGHT;
constexpr int CHUNKS = (TERMS + CHUNK - 1) / CHUNK, STAGES = CHUNKS > 1 ? 2 : 1, VECTORS = CHUNK / VECTOR;
constexpr int LINE = 16 / sizeof(REAL);
// In items, rounded to lines of 16 bytes: distance between rows, distance between cells (including the rows that only fill
// up tiles), and the size of a part.
constexpr int PITCH = FLAT ? TERMS : (VECTORS | 1) * VECTOR;
__device__ constexpr int cell_items(int rows) {
    return FLAT ? (rows * PITCH + 2 * LINE) / LINE * LINE : ((rows * (VECTORS | 1)) | 1) * VECTOR;
}
constexpr int LEFT_CELL = cell_items(I * ROWS), RIGHT_CELL = cell_items(J * COLUMNS);
constexpr int STAGE = CELLS * (LEFT_CELL + RIGHT_CELL);
constexpr int SUMS = OUTPUTS + (I * J + STORE - 1) / STORE * STORE;
static_assert(TERMS % VECTOR == 0 && CHUNK % VECTOR == 0 && OUTPUTS % STORE == 0, "whole vectors");
static_assert(!FLAT || (CHUNKS == 1 && VECTOR == 1), "a cell at once");
static_assert(THREADS == CELLS * GROUPS * I * J, "a thread a tile of each group");

template <int COUNT> struct alignas(sizeof(REAL) * COUNT) Items {
    REAL item[COUNT];
};
using Vector = Items<VECTOR>;

template <int COUNT> INLINE void copy(REAL* to, const REAL* from) {
    u32 place = u32(__cvta_generic_to_shared(to));
    if constexpr (COUNT == LINE) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(place), "l"(from), "n"(int(sizeof(REAL)) * COUNT) : "memory");
    }
}

// Returns the number of items between the preceding multiple of 16 bytes and the first item of a cell.
INLINE int shift(const REAL* cell) { return FLAT ? int(u64(cell) / sizeof(REAL) % LINE) : 0; }

// Copies the terms from `begin` on of all fields of `cells` cells.
template <int FIELDS, int CELL> INLINE void stage(const Operand<REAL>& x, u64 first, int cells, int begin, REAL* to) {
    if constexpr (FLAT) {
        constexpr int ITEMS = FIELDS * TERMS, LINES = (ITEMS + 2 * LINE - 2) / LINE;
        for (int i = threadIdx.x; i < cells * LINES; i += THREADS) {
            int cell = i / LINES, line = i - cell * LINES;
            const REAL* from = row(x, first + cell, 0);
            int at = line * LINE - shift(from);
            REAL* place = to + cell * CELL + line * LINE;
            if (at >= 0 && at + LINE <= ITEMS) {
                copy<LINE>(place, from + at);
            } else {
#pragma unroll
                for (int j = 0; j < LINE; ++j) {
                    if (at + j >= 0 && at + j < ITEMS) copy<1>(place + j, from + at + j);
                }
            }
        }
    } else {
        for (int i = threadIdx.x; i < cells * (FIELDS * VECTORS); i += THREADS) {
            int line = i / VECTORS, vector = i - line * VECTORS, cell = line / FIELDS, field = line - cell * FIELDS;
            int k = begin + vector * VECTOR;
            if (CHUNKS * CHUNK == TERMS || k < TERMS) {
                copy<VECTOR>(to + cell * CELL + field * PITCH + vector * VECTOR, row(x, first + cell, field) + k);
            }
        }
    }
}

INLINE void staged(Sizes n, Operand<REAL> a, Operand<REAL> b, Output<REAL> out) {
    extern __shared__ __align__(16) char memory[];
    REAL* shared = reinterpret_cast<REAL*>(memory);
    u64 first = u64(blockIdx.x) * CELLS;
    int cells = int(least(u64(CELLS), n.cells - first));
    int cell = threadIdx.x / (GROUPS * I * J), group = threadIdx.x / (I * J) % GROUPS, tile = threadIdx.x % (I * J);
    int i0 = tile / J, j0 = tile % J;
    auto load = [&](int chunk) {
        REAL* to = shared + chunk % STAGES * STAGE;
        stage<LEFT, LEFT_CELL>(a, first, cells, chunk * CHUNK, to);
        stage<RIGHT, RIGHT_CELL>(b, first, cells, chunk * CHUNK, to + CELLS * LEFT_CELL);
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    int mine = min(cell, cells - 1), left_shift = shift(row(a, first + mine, 0)), right_shift = shift(row(b, first + mine, 0));
    REAL sums[ROWS][COLUMNS] = {};
    load(0);
#pragma unroll 1
    for (int chunk = 0; chunk < CHUNKS; ++chunk) {
        if (chunk + 1 < CHUNKS) {
            load(chunk + 1);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        }
        __syncthreads();
        const REAL* left = shared + chunk % STAGES * STAGE + cell * LEFT_CELL + left_shift + i0 * PITCH;
        const REAL* right = shared + chunk % STAGES * STAGE + CELLS * LEFT_CELL + cell * RIGHT_CELL + right_shift + j0 * PITCH;
        int count = CHUNKS * CHUNK == TERMS ? VECTORS : (min(TERMS - chunk * CHUNK, CHUNK)) / VECTOR;
#pragma unroll UNROLL
        for (int v = group; v < count; v += GROUPS) {
            Vector x[ROWS], y[COLUMNS];
#pragma unroll
            for (int i = 0; i < ROWS; ++i) x[i] = *reinterpret_cast<const Vector*>(left + i * I * PITCH + v * VECTOR);
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) y[j] = *reinterpret_cast<const Vector*>(right + j * J * PITCH + v * VECTOR);
#pragma unroll
            for (int k = 0; k < VECTOR; ++k) {
#pragma unroll
                for (int i = 0; i < ROWS; ++i) {
#pragma unroll
                    for (int j = 0; j < COLUMNS; ++j) sums[i][j] += x[i].item[k] * y[j].item[k];
                }
            }
        }
        // All threads have read this part before copies or sums overwrite it.
        __syncthreads();
    }
    REAL* parts = reinterpret_cast<REAL*>(memory);
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            int l = i0 + i * I, r = j0 + j * J;
            if ((I * ROWS == LEFT || l < LEFT) && (J * COLUMNS == RIGHT || r < RIGHT)) {
                parts[(group * CELLS + cell) * SUMS + l * RIGHT + r] = sums[i][j];
            }
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < cells * (OUTPUTS / STORE); i += THREADS) {
        int c = i / (OUTPUTS / STORE), output = (i - c * (OUTPUTS / STORE)) * STORE, l = output / RIGHT;
        using Stored = Items<STORE>;
        Stored sum = *reinterpret_cast<Stored*>(parts + c * SUMS + output);
#pragma unroll 4
        for (int g = 1; g < GROUPS; ++g) {
            Stored part = *reinterpret_cast<Stored*>(parts + (g * CELLS + c) * SUMS + output);
#pragma unroll
            for (int j = 0; j < STORE; ++j) sum.item[j] += part.item[j];
        }
        if constexpr (STORE > 1) {
            // The outputs have the layout of the sums.
            Stored* item = reinterpret_cast<Stored*>(out.data + (first + c) * out.cell + output);
            Stored old = {};
            if (out.into) old = *item;
#pragma unroll
            for (int j = 0; j < STORE; ++j) sum.item[j] = out.into ? old.item[j] + sum.item[j] : sum.item[j];
            *item = sum;
        } else {
            finish(out, first + c, l, output - l * RIGHT, sum.item[0]);
        }
    }
}

VARIANT(contract, REAL, THREADS, BLOCKS, (staged(n, x, y, z)))
