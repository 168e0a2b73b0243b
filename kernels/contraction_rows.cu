// One contraction with its sizes known to the compiler, terms in lanes: for layouts that have a cell's terms side by side.
//
// LEFT, RIGHT fields, TERMS terms, REAL. GROUP neighbouring lanes share an output: each loads vectors of VECTOR items of both
// rows, BATCH outputs' loads in flight at once, then shuffles add up in a tree. Needs terms in one line with stride 1 and
// rows that begin at multiples of a vector. Bytes: every row once where outputs do not share it (data_data, the fields of
// data_field); what they share comes from the cache.

struct alignas(sizeof(REAL) * VECTOR) Vector {
    REAL item[VECTOR];
};

INLINE void rows(Sizes n, Operand<REAL> a, Operand<REAL> b, Output<REAL> out) {
    constexpr int VECTORS = TERMS / VECTOR, STEPS = (VECTORS + GROUP - 1) / GROUP, OF_WARP = WARP / GROUP;
    static_assert(TERMS % VECTOR == 0 && WARP % GROUP == 0, "whole vectors, whole groups");
    u64 outputs = n.cells * (LEFT * RIGHT), first = thread_index() / WARP * (OF_WARP * BATCH) + lane_index() / GROUP;
    int lane = lane_index() % GROUP;
    REAL sums[BATCH] = {};
    const Vector *left[BATCH], *right[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; ++i) {
        Place at = outputs_in_lanes(least(first + i * OF_WARP, outputs - 1), LEFT, RIGHT);
        left[i] = reinterpret_cast<const Vector*>(row(a, at.cell, at.left)) + lane;
        right[i] = reinterpret_cast<const Vector*>(row(b, at.cell, at.right)) + lane;
    }
#pragma unroll UNROLL
    for (int step = 0; step < STEPS; ++step) {
        Vector x[BATCH], y[BATCH];
        bool is_in = VECTORS % GROUP == 0 || step * GROUP + lane < VECTORS;
#pragma unroll
        for (int i = 0; i < BATCH; ++i) {
            if (is_in) x[i] = left[i][step * GROUP], y[i] = right[i][step * GROUP];
        }
#pragma unroll
        for (int i = 0; i < BATCH; ++i) {
#pragma unroll
            for (int j = 0; j < VECTOR; ++j) {
                if (is_in) sums[i] += x[i].item[j] * y[i].item[j];
            }
        }
    }
#pragma unroll
    for (int i = 0; i < BATCH; ++i) {
        REAL sum = lanes_sum(sums[i], GROUP);
        u64 output = first + i * OF_WARP;
        if (lane == 0 && output < outputs) {
            Place at = outputs_in_lanes(output, LEFT, RIGHT);
            finish(out, at.cell, at.left, at.right, sum);
        }
    }
}

VARIANT(contract, REAL, THREADS, BLOCKS, (rows(n, x, y, z)))
