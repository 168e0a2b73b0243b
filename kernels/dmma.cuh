// Products of 8 x 8 and 16 x 8 outputs over eight terms in f64 on tensor cores.
//
// Lane (g, t) = (lane / 4, lane % 4) supplies two terms of row g of each operand and holds the outputs (g, 2 t) and (g, 2 t
// + 1); with 16 rows, also the operand e and the outputs d of the lower eight. All lanes with the same t supply the same
// two of the eight terms. The hardware adds the terms in its own order, the same in each run. From sm_90 on, 16 x 8 is one
// instruction and twice as fast.

INLINE void multiply(double (&c)[2], const double (&a)[2], const double (&b)[2]) {
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(c[0]), "+d"(c[1]) : "d"(a[v]), "d"(b[v]));
    }
}
INLINE void multiply(double (&c)[2], double (&d)[2], const double (&a)[2], const double (&e)[2], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(d[0]), "+d"(d[1])
        : "d"(a[0]), "d"(e[0]), "d"(a[1]), "d"(e[1]), "d"(b[0]), "d"(b[1]));
#else
    multiply(c, a, b), multiply(d, e, b);
#endif
}
// Products over four terms, one per lane: `multiply` with half of the operands.
INLINE void multiply_half(double (&c)[2], double (&d)[2], double a, double e, double b) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(d[0]), "+d"(d[1])
        : "d"(a), "d"(e), "d"(b));
#else
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(c[0]), "+d"(c[1]) : "d"(a), "d"(b));
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(d[0]), "+d"(d[1]) : "d"(e), "d"(b));
#endif
}
