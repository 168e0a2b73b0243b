// Loops by hand on a GPU; launched by cuda.rs.

typedef unsigned int u32;
typedef unsigned long long u64;
constexpr int THREADS = 256;

#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)

KERNEL axpby(u64 n, double a, const double* __restrict__ x, double b, double* __restrict__ y) {
    u64 i = u64(blockIdx.x) * THREADS + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b * y[i];
}

KERNEL triad(u64 n, const double* __restrict__ x, double a, const double* __restrict__ y, double* __restrict__ z) {
    u64 i = u64(blockIdx.x) * THREADS + threadIdx.x;
    if (i < n) z[i] = x[i] + a * y[i];
}

// The sum over the block, in thread 0.
static __device__ double block_sum(double sum) {
    __shared__ double of_warp[THREADS / 32];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return 0;
    sum = threadIdx.x < THREADS / 32 ? of_warp[threadIdx.x] : 0;
    for (int step = THREADS / 64; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    return sum;
}

// out[block] = sum of its products.
KERNEL dot(u64 n, const double* __restrict__ x, const double* __restrict__ y, double* out) {
    double sum = 0;
    for (u64 i = u64(blockIdx.x) * THREADS + threadIdx.x; i < n; i += u64(gridDim.x) * THREADS) sum += x[i] * y[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// out[0] = sum of all; one block.
KERNEL total(u64 n, const double* x, double* out) {
    double sum = 0;
    for (u64 i = threadIdx.x; i < n; i += THREADS) sum += x[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[0] = sum;
}

struct Vectors {
    const double* at[16];
};

// Adds the products of 16 vectors with each other: 2048 items per block, 32 of them at a time in shared memory.
KERNEL gram(u64 n, const Vectors vectors, double* products) {
    constexpr int WIDTH = 32, ITEMS = 2048;
    __shared__ double tile[16][WIDTH + 1];
    int i = threadIdx.x / 16, j = threadIdx.x % 16;
    double sum = 0;
    u64 begin = u64(blockIdx.x) * ITEMS, end = begin + ITEMS < n ? begin + ITEMS : n;
    for (; begin < end; begin += WIDTH) {
        for (int k = threadIdx.x; k < 16 * WIDTH; k += THREADS) {
            u64 item = begin + k % WIDTH;
            tile[k / WIDTH][k % WIDTH] = item < end ? vectors.at[k / WIDTH][item] : 0;
        }
        __syncthreads();
        if (i <= j) {
            for (int k = 0; k < WIDTH; k++) sum += tile[i][k] * tile[j][k];
        }
        __syncthreads();
    }
    if (i <= j) atomicAdd(products + 16 * i + j, sum);
}

// y = A x with a matrix in rows, 8 threads per row.
KERNEL spmv(u64 n, const u32* __restrict__ starts, const u32* __restrict__ columns, const double* __restrict__ values,
            const double* __restrict__ x, double* __restrict__ y) {
    constexpr int LANES = 8;
    u64 row = (u64(blockIdx.x) * THREADS + threadIdx.x) / LANES;
    int lane = threadIdx.x % LANES;
    double sum = 0;
    if (row < n) {
        for (u32 k = starts[row] + lane; k < starts[row + 1]; k += LANES) sum += values[k] * x[columns[k]];
    }
    for (int step = LANES / 2; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step, LANES);
    if (row < n && lane == 0) y[row] = sum;
}

KERNEL forces(u64 n, const double* __restrict__ x, const u32* __restrict__ counts, const u32* __restrict__ list, u64 atom_step,
              u64 neighbour_step, double cutoff, double* __restrict__ f) {
    u64 i = u64(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= n) return;
    double here[3] = {x[3 * i], x[3 * i + 1], x[3 * i + 2]}, sum[3] = {0, 0, 0};
    int count = counts[i];
    for (int k = 0; k < count; k++) {
        u64 j = list[i * atom_step + k * neighbour_step];
        double d[3], square = 0;
        for (int axis = 0; axis < 3; axis++) d[axis] = here[axis] - x[3 * j + axis], square += d[axis] * d[axis];
        if (square < cutoff * cutoff) {
            double s2 = 1 / square, s6 = s2 * s2 * s2, force = 48 * s6 * (s6 - 0.5) * s2;
            for (int axis = 0; axis < 3; axis++) sum[axis] += force * d[axis];
        }
    }
    for (int axis = 0; axis < 3; axis++) f[3 * i + axis] = sum[axis];
}

// Adds 1 to 8 cells of a list per thread.
template <class Add> static __device__ void add_to_cells(u64 n, const u32* list, double* cells, Add add) {
    u64 i = u64(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= n) return;
    for (int k = 0; k < 8; k++) add(cells + list[8 * i + k]);
}

KERNEL racy(u64 n, const u32* __restrict__ list, double* cells) {
    add_to_cells(n, list, cells, [](double* cell) { *cell += 1; });
}

KERNEL atomic(u64 n, const u32* __restrict__ list, double* cells) {
    add_to_cells(n, list, cells, [](double* cell) { atomicAdd(cell, 1.0); });
}

KERNEL exchange(u64 n, const u32* __restrict__ list, double* cells) {
    add_to_cells(n, list, cells, [](double* cell) {
        u64 *bits = (u64*)cell, found = *(volatile u64*)bits, before;
        do {
            before = found;
            found = atomicCAS(bits, before, __double_as_longlong(__longlong_as_double(before) + 1));
        } while (found != before);
    });
}
