// Fused vector updates of CG; twins of src/solve/krylov/cg/host.rs. Memory-bound: each load is two doubles.
//
// The kernels of an iteration do nothing once scalars[STATE] is not 0, so the host can enqueue iterations before it has checked
// convergence. Old and new r.r have slots of their own, so cg_step never overwrites a scalar that another block still reads.

// scalars[slot] is b.b: norm and target follow, the count and the state are 0. An absolute tolerance of 0 stands for none.
KERNEL cg_begin(double tolerance, double absolute, double limit, u32 slot, double* scalars) {
    double square = scalars[slot], rhs = sqrt(square);
    scalars[RHS] = rhs;
    scalars[TARGET] = absolute > 0 ? fmax(tolerance * rhs, absolute) : tolerance * rhs;
    scalars[LIMIT] = limit;
    scalars[COUNT] = 0;
    scalars[STATE] = !isfinite(rhs) ? NOT_FINITE : fmax(square, absolute * absolute) < SMALLEST_SQUARE ? UNDERFLOW_REACHED : 0;
}

// The state from r.r before the first iteration.
KERNEL cg_check(u32 rr, double* scalars) {
    double target = scalars[TARGET];
    if (scalars[STATE] == 0) scalars[STATE] = judged(state_of(scalars[rr], target, scalars[COUNT], scalars[LIMIT]), target);
}

// alpha = r.z / p.q; x += alpha p, r -= alpha q; scalars[rr_new] = r.r, summed over all ranks if `ranks` is not null
//
// p.q <= 0 shows that A is not positive definite: alpha would not minimise along p, so the solve breaks down.
KERNEL __launch_bounds__(THREADS, 8) cg_step(u64 n, u32 rz, u32 rr_new, const double* p, const double* q, double* x, double* r,
                                          const u64* ranks, double* partials, double* scalars, u32* ticket) {
    double pq = __ldcg(scalars + PQ);
    if (__ldcg(scalars + STATE) != 0 || !(pq > 0) || !isfinite(pq)) {
        // Blocks agree on this without the state, so one of them may set it meanwhile.
        if (thread_index() == 0 && __ldcg(scalars + STATE) == 0) scalars[STATE] = isfinite(pq) ? BREAKDOWN : NOT_FINITE;
        return;
    }
    // Every block divides by itself: one more launch for a single division would cost more.
    double alpha = __ldcg(scalars + rz) / pq, sum = 0, total;
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
    if (grid_sum_of_ranks<THREADS>(sum, partials, ticket, ranks, total)) scalars[rr_new] = total;
}

// beta = r.z / old r.z; p = z + beta p; counts the iteration.
KERNEL __launch_bounds__(THREADS) cg_direction(u64 n, u32 rr, u32 top, u32 bottom, const double* z, double* p,
                                               double* scalars) {
    // One block changes count and state while others may still read the state: it sets only what stops them anyway, or the
    // limit, after which p is of no use.
    double now = __ldcg(scalars + rr);
    if (__ldcg(scalars + STATE) != 0) return;
    // Iteration 0 of 1: all but the limit.
    double target = scalars[TARGET], state = state_of(now, target, 0, 1);
    if (thread_index() == 0) {
        double count = scalars[COUNT] + 1;
        scalars[COUNT] = count;
        scalars[STATE] = judged(state_of(now, target, count, scalars[LIMIT]), target);
    }
    if (state != 0) return;
    double beta = __ldcg(scalars + top) / __ldcg(scalars + bottom);
    const double2* z2 = (const double2*)z;
    double2* p2 = (double2*)p;
    // From the end: the L2 still holds the last items of r and p from cg_step, and holds the first of p for the product.
    for_pairs_from_end(
        n, [&](u64 i) { double2 a = z2[i], b = p2[i]; p2[i] = make_double2(a.x + beta * b.x, a.y + beta * b.y); },
        [&](u64 i) { p[i] = z[i] + beta * p[i]; });
}
