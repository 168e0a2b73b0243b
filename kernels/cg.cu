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
    scalars[US] = scalars[PS] = scalars[UPDATES] = scalars[FRESH] = 0;
    scalars[STATE] = !isfinite(rhs) ? NOT_FINITE : fmax(square, absolute * absolute) < SMALLEST_SQUARE ? UNDERFLOW_REACHED : 0;
}

// The state from r.r of an r that was computed from x: at the start, and where r is replaced.
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
    double alpha = __ldcg(scalars + rz) / pq, total;
    auto step = [&](double p, double q, double& x, double& r) {
        x += alpha * p, r -= alpha * q;
        return r * r;
    };
    double sum = for_items(n, step, p, q, x, r);
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
    // From the end: the L2 still holds the last items of r and p from cg_step, and holds the first of p for the product.
    for_items_from_end(n, [&](double z, double& p) { return p = z + beta * p; }, z, p);
}
