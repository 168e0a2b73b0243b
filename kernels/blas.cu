// Vector operations (BLAS level 1); twins of src/blas/host.rs. Memory-bound: each load is two doubles.

// scalars[slot] = x.y, summed over all ranks if `ranks` is not null; nothing once *stop is not 0.
KERNEL __launch_bounds__(THREADS) dot(u64 n, const double* x, const double* y, const double* stop, const u64* ranks,
                                      double* partials, u32 slot, double* scalars, u32* ticket) {
    if (is_stopped(stop)) return;
    double sum = for_items(n, [](double x, double y) { return x * y; }, x, y), total;
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
    for_items(n, [&](double& y) { return y = value; }, y);
}

// z = alpha x + beta y; z may be x or y.
KERNEL __launch_bounds__(THREADS) axpby(u64 n, double alpha, const double* x, double beta, const double* y, double* z) {
    for_items(n, [&](double x, double y, double& z) { return z = alpha * x + beta * y; }, x, y, z);
}

// x = 1 / x
KERNEL __launch_bounds__(THREADS) reciprocals(u64 n, double* x) {
    for_items(n, [](double& x) { return x = 1 / x; }, x);
}

// y += alpha x
KERNEL __launch_bounds__(THREADS) axpy(u64 n, double alpha, const double* x, double* y) {
    for_items(n, [&](double x, double& y) { return y += alpha * x; }, x, y);
}

// d = alpha d + beta w (b - y), x += d; if y is null, x = d = beta w b.
KERNEL __launch_bounds__(THREADS) relax(u64 n, double alpha, double beta, const double* w, const double* b, const double* y,
                                        double* d, double* x) {
    if (y == nullptr) {
        for_items(n, [&](double w, double b, double& d, double& x) { return d = x = beta * w * b; }, w, b, d, x);
        return;
    }
    auto step = [&](double w, double b, double y, double& d, double& x) {
        d = alpha * d + beta * w * (b - y);
        return x += d;
    };
    for_items(n, step, w, b, y, d, x);
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
