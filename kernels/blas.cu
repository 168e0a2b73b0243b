// Vector operations of the iterative solvers; twins of src/blas/host.rs. Memory-bound: two doubles a load.
//
// Scalars of a CG solve, see `cg_slot` in src/blas/mod.rs. The kernels of an iteration do nothing once `STATE` is not 0, so
// that iterations can be queued ahead of the host's look at them.

constexpr int THREADS = 256;
constexpr int PQ = 2, TARGET = 3, LIMIT = 4, COUNT = 5, STATE = 6, RHS = 7;
constexpr double CONVERGED = 1, BREAKDOWN = 2, NOT_FINITE = 3, LIMIT_REACHED = 4;

// Calls f(i) for each i below n, neighbouring threads on neighbouring items; pairs come as one call of f2(pair).
template <class F2, class F> INLINE void for_pairs(u64 n, F2 f2, F f) {
    for (u64 pair = thread_index(); pair < n / 2; pair += thread_count()) f2(pair);
    if (n % 2 == 1 && thread_index() == 0) f(n - 1);
}

// scalars[slot] = x.y
KERNEL __launch_bounds__(THREADS) dot(u64 n, const double* x, const double* y, double* partials, u32 slot, double* scalars,
                                      u32* ticket) {
    const double2 *x2 = (const double2*)x, *y2 = (const double2*)y;
    double sum = 0, total;
    for_pairs(n, [&](u64 i) { double2 a = x2[i], b = y2[i]; sum += a.x * b.x + a.y * b.y; }, [&](u64 i) { sum += x[i] * y[i]; });
    if (grid_sum<THREADS>(sum, partials, ticket, total)) scalars[slot] = total;
}

// partials[0] = max |x|, NaN when an item is; zero before.
KERNEL __launch_bounds__(THREADS) max_abs(u64 n, const double* x, double* partials) {
    // Larger bits are larger numbers for what is not negative, and NaNs are larger than all.
    u64 largest = 0;
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        largest = most(largest, u64(__double_as_longlong(fabs(x[i]))));
    }
#pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) largest = most(largest, __shfl_down_sync(ALL_LANES, largest, step));
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

// STREAM's triad: a = b + factor c
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

// The state that r.r says, before an iteration: 0 where it is to go on.
INLINE double state_of(double rr, double target, double count, double limit) {
    if (!isfinite(rr)) return NOT_FINITE;
    if (sqrt(rr) <= target) return CONVERGED;
    return count >= limit ? LIMIT_REACHED : 0.0;
}

// scalars[slot] is b.b: norm and target follow, the count and the state are 0.
KERNEL cg_begin(double tolerance, double limit, u32 slot, double* scalars) {
    double rhs = sqrt(scalars[slot]);
    scalars[RHS] = rhs;
    scalars[TARGET] = tolerance * rhs;
    scalars[LIMIT] = limit;
    scalars[COUNT] = 0;
    scalars[STATE] = isfinite(rhs) ? 0 : NOT_FINITE;
}

// The state from r.r before the first iteration.
KERNEL cg_check(u32 rr, double* scalars) {
    if (scalars[STATE] == 0) scalars[STATE] = state_of(scalars[rr], scalars[TARGET], scalars[COUNT], scalars[LIMIT]);
}

// alpha = rr / p.q; x += alpha p, r -= alpha q; scalars[rr_new] = r.r
KERNEL __launch_bounds__(THREADS) cg_step(u64 n, u32 rr, u32 rr_new, const double* p, const double* q, double* x, double* r,
                                          double* partials, double* scalars, u32* ticket) {
    double pq = __ldcg(scalars + PQ);
    if (__ldcg(scalars + STATE) != 0 || !(pq > 0) || !isfinite(pq)) {
        // Blocks agree on this without the state, so one of them may set it meanwhile.
        if (thread_index() == 0 && __ldcg(scalars + STATE) == 0) scalars[STATE] = isfinite(pq) ? BREAKDOWN : NOT_FINITE;
        return;
    }
    double alpha = __ldcg(scalars + rr) / pq, sum = 0, total;
    const double2 *p2 = (const double2*)p, *q2 = (const double2*)q;
    double2 *x2 = (double2*)x, *r2 = (double2*)r;
    for_pairs(
        n,
        [&](u64 i) {
            double2 a = p2[i], b = q2[i], c = x2[i], d = r2[i];
            c.x += alpha * a.x, c.y += alpha * a.y;
            d.x -= alpha * b.x, d.y -= alpha * b.y;
            x2[i] = c, r2[i] = d;
            sum += d.x * d.x + d.y * d.y;
        },
        [&](u64 i) {
            x[i] += alpha * p[i], r[i] -= alpha * q[i];
            sum += r[i] * r[i];
        });
    if (grid_sum<THREADS>(sum, partials, ticket, total)) scalars[rr_new] = total;
}

// beta = rr / rr_old; p = r + beta p; one iteration more is done.
KERNEL __launch_bounds__(THREADS) cg_direction(u64 n, u32 rr, u32 rr_old, const double* r, double* p, double* scalars) {
    // One block changes count and state while others may still read the state: it sets only what stops them anyway, or the
    // limit, after which p is of no use.
    double now = __ldcg(scalars + rr);
    if (__ldcg(scalars + STATE) != 0) return;
    double state = state_of(now, scalars[TARGET], 0, 1);
    if (thread_index() == 0) {
        double count = scalars[COUNT] + 1;
        scalars[COUNT] = count;
        scalars[STATE] = state_of(now, scalars[TARGET], count, scalars[LIMIT]);
    }
    if (state != 0) return;
    double beta = now / __ldcg(scalars + rr_old);
    const double2* r2 = (const double2*)r;
    double2* p2 = (double2*)p;
    for_pairs(
        n, [&](u64 i) { double2 a = r2[i], b = p2[i]; p2[i] = make_double2(a.x + beta * b.x, a.y + beta * b.y); },
        [&](u64 i) { p[i] = r[i] + beta * p[i]; });
}
