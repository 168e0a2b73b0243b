// Vector operations (BLAS level 1); twins of src/blas/host.rs. Memory-bound: each load is two doubles.

// scalars[slot] = x.y, summed over all ranks if `ranks` is not null; nothing once *stop is not 0.
KERNEL __launch_bounds__(THREADS) dot(u64 n, const double* x, const double* y, const double* stop, const u64* ranks,
                                      double* partials, u32 slot, double* scalars, u32* ticket) {
    if (is_stopped(stop)) return;
    const double2 *x2 = (const double2*)x, *y2 = (const double2*)y;
    double sum = 0, total;
    for_pairs(n, [&](u64 i) { double2 a = x2[i], b = y2[i]; sum += a.x * b.x + a.y * b.y; }, [&](u64 i) { sum += x[i] * y[i]; });
    if (grid_sum_of_ranks<THREADS>(sum, partials, ticket, ranks, total)) scalars[slot] = total;
}

// partials[0] = max |x|, NaN when an item is; zero before.
KERNEL __launch_bounds__(THREADS) max_abs(u64 n, const double* x, double* partials) {
    // Larger bits are larger numbers for what is not negative, and NaNs are larger than all.
    u64 largest = 0;
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        largest = most(largest, u64(__double_as_longlong(fabs(x[i]))));
    }
    largest = warp_max(largest);
    // A maximum does not depend on the order, so the bits are the same in every run.
    if (lane_index() == 0) atomicMax((u64*)partials, largest);
}

// y = value
KERNEL __launch_bounds__(THREADS) fill(u64 n, double value, double* y) {
    double2* y2 = (double2*)y;
    for_pairs(n, [&](u64 i) { y2[i] = make_double2(value, value); }, [&](u64 i) { y[i] = value; });
}

// z = alpha x + beta y; z may be x or y.
KERNEL __launch_bounds__(THREADS) axpby(u64 n, double alpha, const double* x, double beta, const double* y, double* z) {
    const double2 *x2 = (const double2*)x, *y2 = (const double2*)y;
    double2* z2 = (double2*)z;
    for_pairs(
        n,
        [&](u64 i) { double2 a = x2[i], b = y2[i]; z2[i] = make_double2(alpha * a.x + beta * b.x, alpha * a.y + beta * b.y); },
        [&](u64 i) { z[i] = alpha * x[i] + beta * y[i]; });
}

// y += alpha x
KERNEL __launch_bounds__(THREADS) axpy(u64 n, double alpha, const double* x, double* y) {
    const double2* x2 = (const double2*)x;
    double2* y2 = (double2*)y;
    for_pairs(
        n,
        [&](u64 i) { double2 a = x2[i], b = y2[i]; y2[i] = make_double2(b.x + alpha * a.x, b.y + alpha * a.y); },
        [&](u64 i) { y[i] += alpha * x[i]; });
}

// d = alpha d + beta w (b - y), x += d; if y is null, x = d = beta w b.
KERNEL __launch_bounds__(THREADS) relax(u64 n, double alpha, double beta, const double* w, const double* b, const double* y,
                                        double* d, double* x) {
    const double2 *w2 = (const double2*)w, *b2 = (const double2*)b, *y2 = (const double2*)y;
    double2 *d2 = (double2*)d, *x2 = (double2*)x;
    if (y == nullptr) {
        for_pairs(
            n,
            [&](u64 i) { double2 u = w2[i], v = b2[i]; d2[i] = x2[i] = make_double2(beta * u.x * v.x, beta * u.y * v.y); },
            [&](u64 i) { d[i] = x[i] = beta * w[i] * b[i]; });
        return;
    }
    for_pairs(
        n,
        [&](u64 i) {
            double2 u = w2[i], v = b2[i], a = y2[i], e = d2[i], z = x2[i];
            e.x = alpha * e.x + beta * u.x * (v.x - a.x), e.y = alpha * e.y + beta * u.y * (v.y - a.y);
            d2[i] = e, x2[i] = make_double2(z.x + e.x, z.y + e.y);
        },
        [&](u64 i) { d[i] = alpha * d[i] + beta * w[i] * (b[i] - y[i]), x[i] += d[i]; });
}

// STREAM's triad: a = b + factor c. Two loads per array are in flight in each thread; no item is used twice, so the accesses are
// marked as streaming.
KERNEL __launch_bounds__(THREADS) triad(u64 n, const double* b, double factor, const double* c, double* a) {
    const double2 *b2 = (const double2*)b, *c2 = (const double2*)c;
    double2* a2 = (double2*)a;
    u64 first = u64(blockIdx.x) * THREADS * 2 + threadIdx.x;
    double2 u[2], v[2];
#pragma unroll
    for (int k = 0; k < 2; k++) {
        u64 i = first + k * THREADS;
        if (i < n / 2) u[k] = __ldcs(b2 + i), v[k] = __ldcs(c2 + i);
    }
#pragma unroll
    for (int k = 0; k < 2; k++) {
        u64 i = first + k * THREADS;
        if (i < n / 2) __stcs(a2 + i, make_double2(u[k].x + factor * v[k].x, u[k].y + factor * v[k].y));
    }
    if (n % 2 == 1 && first == 0) a[n - 1] = b[n - 1] + factor * c[n - 1];
}
