// Peak rates: chains of fused products and sums in registers; nothing is read, and written only what cannot be.
//
// fma:  each thread has 8 independent sums, `rounds` x 16 steps: 2 x 8 x 16 x rounds operations a thread.
// mma:  f64 tensor cores, tiles of 8 x 8 x 4: each warp has 8 independent tiles, `rounds` x 8 steps of 512 operations each.
//
// 256 threads, 4 blocks of them on a multiprocessor: 32 warps hide the latency of 8 chains.

template <class T> INLINE void fma_chains(u64 rounds, T factor, T* never) {
    T sums[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) sums[i] = T(threadIdx.x + i);
    for (u64 round = 0; round < rounds; ++round) {
#pragma unroll
        for (int step = 0; step < 16; ++step) {
#pragma unroll
            for (int i = 0; i < 8; ++i) sums[i] = sums[i] * factor + T(1);
        }
    }
    T sum = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += sums[i];
    // The sums are not negative, which the compiler does not know.
    if (sum < 0) *never = sum;
}

KERNEL __launch_bounds__(256, 4) fma_f32(u64 rounds, float factor, float* never) { fma_chains(rounds, factor, never); }

KERNEL __launch_bounds__(256, 4) fma_f64(u64 rounds, double factor, double* never) {
    fma_chains(rounds, factor, never);
}

KERNEL __launch_bounds__(256, 4) mma_f64(u64 rounds, double factor, double* never) {
    double sums[8][2];
#pragma unroll
    for (int i = 0; i < 8; ++i) sums[i][0] = sums[i][1] = double(threadIdx.x + i);
    for (u64 round = 0; round < rounds; ++round) {
#pragma unroll
        for (int step = 0; step < 8; ++step) {
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%2}, {%0, %1};"
                             : "+d"(sums[i][0]), "+d"(sums[i][1])
                             : "d"(factor));
            }
        }
    }
    double sum = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += sums[i][0] + sums[i][1];
    if (sum < 0) *never = sum;
}
