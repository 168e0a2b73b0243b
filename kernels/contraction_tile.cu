// The nine contractions through shared memory, as in the clinic report; launched by src/contraction/cuda.
//
// slicing   a block holds a few rows of a cell's left operand, its slices, in shared memory; one thread per output of these
// tile      a block computes a square tile of a cell's outputs; squares of both operands pass through shared memory
// Each output adds its products in the order of k, so all variants have the bits of flat. Bytes: slicing reads the right
// operand once per block of slices; tiling reads left once per column of tiles and right once per row. Caches may reduce
// both.

template <class T> INLINE void slicing(Sizes n, u32 slices, Operand<T> a, Operand<T> b, Output<T> out) {
    extern __shared__ double shared[];
    T* slice = reinterpret_cast<T*>(shared);
    u32 count = terms(n);
    u64 parts = (n.left + slices - 1) / slices;
    for (u64 team = blockIdx.x; team < n.cells * parts; team += gridDim.x) {
        u64 cell = divide(team, parts), first = (team - cell * parts) * slices;
        u32 rows = u32(least(u64(slices), n.left - first));
        for (u32 i = threadIdx.x; i < rows * count; i += blockDim.x) {
            u32 l = i / count;
            slice[i] = term(n, i - l * count).of(a, row(a, cell, first + l));
        }
        __syncthreads();
        for (u64 i = threadIdx.x; i < rows * n.right; i += blockDim.x) {
            u64 l = divide(i, n.right), r = i - l * n.right;
            const T *x = slice + l * count, *b0 = row(b, cell, r);
            T sum = 0;
            for (u64 p = 0; p < n.outer; ++p, b0 += b.outer) {
                const T* b1 = b0;
                for (u64 m = 0; m < n.middle; ++m, b1 += b.middle) {
                    const T* b2 = b1;
#pragma unroll 4
                    for (u64 j = 0; j < n.inner; ++j, b2 += b.inner) sum += *x++ * *b2;
                }
            }
            finish(out, cell, first + l, r, sum);
        }
        __syncthreads();
    }
}

// Rows of a tile are padded by one item, so that the items of a column lie in different banks.
template <int TILE, class T> INLINE void tile(Sizes n, Operand<T> a, Operand<T> b, Output<T> out) {
    __shared__ T left[TILE][TILE + 1], right[TILE][TILE + 1];
    u32 i = threadIdx.x / TILE, j = threadIdx.x % TILE, count = terms(n);
    u64 rows = (n.left + TILE - 1) / TILE, columns = (n.right + TILE - 1) / TILE;
    for (u64 team = blockIdx.x; team < n.cells * rows * columns; team += gridDim.x) {
        Place at = outputs_in_lanes(team, rows, columns);
        u64 l = at.left * TILE + i, r = at.right * TILE + i;
        T sum = 0;
        for (u32 first = 0; first < count; first += TILE) {
            Term k = term(n, first + j);
            bool is_in = first + j < count;
            left[i][j] = is_in && l < n.left ? k.of(a, row(a, at.cell, l)) : T(0);
            right[i][j] = is_in && r < n.right ? k.of(b, row(b, at.cell, r)) : T(0);
            __syncthreads();
#pragma unroll
            for (int step = 0; step < TILE; ++step) sum += left[i][step] * right[j][step];
            __syncthreads();
        }
        r = at.right * TILE + j;
        if (l < n.left && r < n.right) finish(out, at.cell, l, r, sum);
    }
}

// Tiles: as many blocks as fill the 2048 threads of a multiprocessor, on sm_80 too. f64 tiles of 32 need more than 32
// registers.
VARIANTS(slicing_f32, slicing_f64, 256, 6, 6, (slicing(n, option, x, y, z)))
VARIANTS(tile8_f32, tile8_f64, 64, 20, 16, (tile<8>(n, x, y, z)))
VARIANTS(tile16_f32, tile16_f64, 256, 6, 4, (tile<16>(n, x, y, z)))
VARIANTS(tile32_f32, tile32_f64, 1024, 1, 1, (tile<32>(n, x, y, z)))
