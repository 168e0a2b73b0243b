// Definitions shared by the kernel files of the nine contractions: out[c, l, r] = or += sum_k left[c, l, k] right[c, r, k].
//
// k runs over three nested extents in the order (p, i, j). Any strides. All kernels have the parameters listed in
// `VARIANT`; `option` is a parameter specific to the variant. Contractions of data have one field.

struct Sizes {
    u64 cells, left, right, outer, middle, inner;
};

// An operand with its strides along cells, fields and the three parts of k.
template <class T> struct Operand {
    const T* data;
    u64 cell, field, outer, middle, inner;
};

template <class T> struct Output {
    T* data;
    u64 cell, left, right;
    bool into;
};

template <class T> INLINE void put(const Output<T>& out, T* item, T old, T sum) { *item = out.into ? old + sum : sum; }

// The first output of a thread or tile, from the warp number and lane: cells in lanes, or outputs of a cell in lanes.
struct Place {
    u64 cell, left, right;
};

// Returns n / by, in 32 bits if both fit: a 64-bit division takes five times as long.
INLINE u64 divide(u64 n, u64 by) { return ((n | by) >> 32) == 0 ? u32(n) / u32(by) : n / by; }

// Each warp takes 32 cells and one of `left` x `right` blocks of outputs. Neighbouring warps take the blocks of the same
// cells, whose inputs are then in cache.
INLINE Place cells_in_lanes(u64 thread, u64 left, u64 right) {
    u64 warp = thread / WARP, chunk = divide(warp, left * right), block = warp - chunk * (left * right);
    u64 l = divide(block, right);
    return {chunk * WARP + thread % WARP, l, block - l * right};
}

// Neighbouring threads take neighbouring outputs of a cell.
INLINE Place outputs_in_lanes(u64 thread, u64 left, u64 right) {
    u64 row = divide(thread, right), cell = divide(row, left);
    return {cell, row - cell * left, thread - row * right};
}

// Returns the sum over k in the order (p, i, j) for the output whose operands begin at `a0` and `b0`.
template <class T> INLINE T dot(const Sizes& n, const Operand<T>& a, const T* a0, const Operand<T>& b, const T* b0) {
    T sum = 0;
    for (u64 p = 0; p < n.outer; ++p, a0 += a.outer, b0 += b.outer) {
        const T *a1 = a0, *b1 = b0;
        for (u64 i = 0; i < n.middle; ++i, a1 += a.middle, b1 += b.middle) {
            const T *a2 = a1, *b2 = b1;
#pragma unroll 4
            for (u64 j = 0; j < n.inner; ++j, a2 += a.inner, b2 += b.inner) sum += *a2 * *b2;
        }
    }
    return sum;
}

// Returns the first item of a field of an operand.
template <class T> INLINE const T* row(const Operand<T>& x, u64 cell, u64 field) { return x.data + cell * x.cell + field * x.field; }

// Stores or adds the sum of an output.
template <class T> INLINE void finish(const Output<T>& out, u64 cell, u64 left, u64 right, T sum) {
    T* item = out.data + cell * out.cell + left * out.left + right * out.right;
    put(out, item, out.into ? *item : T(0), sum);
}

// Stores the sums of rows x columns outputs from (l, r) on; the tile may be larger.
template <class T, int BL, int BR>
INLINE void put_tile(const Output<T>& out, u64 cell, u64 l, u64 r, int rows, int columns, const T (&sums)[BL][BR]) {
    T* row = out.data + cell * out.cell + l * out.left + r * out.right;
#pragma unroll
    for (int i = 0; i < BL; ++i, row += out.left) {
        // Loads all old values of a row first: a load behind a store would wait for it.
        T old[BR];
#pragma unroll
        for (int j = 0; j < BR; ++j) old[j] = out.into && i < rows && j < columns ? row[j * out.right] : T(0);
#pragma unroll
        for (int j = 0; j < BR; ++j) {
            if (i < rows && j < columns) put(out, row + j * out.right, old[j], sums[i][j]);
        }
    }
}

// Returns the number of terms. The launchers of the variants that call it check that it is below 2^31.
INLINE u32 terms(const Sizes& n) { return u32(n.outer * n.middle * n.inner); }

// Term k in the order (p, i, j).
struct Term {
    u32 outer, middle, inner;
    template <class T> __device__ __forceinline__ const T& of(const Operand<T>& x, const T* row) const {
        return row[outer * x.outer + middle * x.middle + inner * x.inner];
    }
};
INLINE Term term(const Sizes& n, u32 k) {
    if (n.outer * n.middle == 1) return {0, 0, k};
    u32 inner = u32(n.inner), line = k / inner, middle = u32(n.middle), p = line / middle;
    return {p, line - p * middle, k - line * inner};
}

// Returns the sum over `lanes` neighbouring lanes, a power of two, in the first of them.
template <class T> INLINE T lanes_sum(T value, u32 lanes) {
    for (u32 step = lanes / 2; step > 0; step /= 2) value += __shfl_down_sync(ALL_LANES, value, step, lanes);
    return value;
}

// Defines the entry point of a variant: packs its parameters into the structs and runs `call`.
#define VARIANT(name, T, THREADS, BLOCKS, call)                                                                             \
    KERNEL __launch_bounds__(THREADS, BLOCKS)                                                                               \
        name(u64 cells, u64 left, u64 right, u64 outer, u64 middle, u64 inner, u32 option, u32 into,                      \
             const T* a, u64 a_cell, u64 a_field, u64 a_outer, u64 a_middle, u64 a_inner,                                   \
             const T* b, u64 b_cell, u64 b_field, u64 b_outer, u64 b_middle, u64 b_inner,                                   \
             T* out, u64 out_cell, u64 out_left, u64 out_right) {                                                           \
        Sizes n = {cells, left, right, outer, middle, inner};                                                               \
        Operand<T> x = {a, a_cell, a_field, a_outer, a_middle, a_inner}, y = {b, b_cell, b_field, b_outer, b_middle, b_inner}; \
        Output<T> z = {out, out_cell, out_left, out_right, into != 0};                                                      \
        (void)option, (void)x, (void)y;                                                                                     \
        call;                                                                                                               \
    }

// A variant in both scalar types.
#define VARIANTS(name_f32, name_f64, THREADS, BLOCKS_F32, BLOCKS_F64, call)                                                 \
    VARIANT(name_f32, float, THREADS, BLOCKS_F32, call)                                                                     \
    VARIANT(name_f64, double, THREADS, BLOCKS_F64, call)
