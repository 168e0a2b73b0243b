// Peak rates: chains of fused multiply-adds in registers. The kernels read no memory and write only what the compiler
// cannot remove.
//
// fma: each thread has 8 independent sums and takes `rounds` x 16 steps: 2 x 8 x 16 x rounds operations per thread.
// mma: f64 tensor cores. Each warp has 4 independent tiles of 16 x 8 and takes `rounds` x 4 steps of 8 terms: 2048
// operations per tile and step.
//
// 4 blocks of 256 threads per multiprocessor: 32 warps hide the latency of the 8 (fma) or 4 (mma) chains.

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
    // The sums are never negative, but the compiler cannot know this and keeps them.
    if (sum < 0) *never = sum;
}

KERNEL __launch_bounds__(256, 4) fma_f32(u64 rounds, float factor, float* never) { fma_chains(rounds, factor, never); }

KERNEL __launch_bounds__(256, 4) fma_f64(u64 rounds, double factor, double* never) {
    fma_chains(rounds, factor, never);
}

// Uses products of 16 x 8 x 8 on sm_90 and later, where they are twice as fast as those of 8 x 8 x 4.
KERNEL __launch_bounds__(256, 4) mma_f64(u64 rounds, double factor, double* never) {
    double sums[4][4];
#pragma unroll
    for (int i = 0; i < 4; ++i) sums[i][0] = sums[i][1] = sums[i][2] = sums[i][3] = double(threadIdx.x + i);
#pragma unroll 1
    for (u64 round = 0; round < rounds; ++round) {
#pragma unroll
        for (int step = 0; step < 4; ++step) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#if __CUDA_ARCH__ >= 900
                asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
                             : "+d"(sums[i][0]), "+d"(sums[i][1]), "+d"(sums[i][2]), "+d"(sums[i][3])
                             : "d"(factor));
#else
#pragma unroll
                for (int part = 0; part < 8; part += 2) {
                    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%2}, {%0, %1};"
                                 : "+d"(sums[i][part % 4]), "+d"(sums[i][part % 4 + 1])
                                 : "d"(factor));
                }
#endif
            }
        }
    }
    double sum = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) sum += sums[i][0] + sums[i][1] + sums[i][2] + sums[i][3];
    if (sum < 0) *never = sum;
}
