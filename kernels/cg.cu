// Fused vector updates of CG; twins of src/solve/krylov/cg/host.rs. Memory-bound: each load is two doubles.
//
// The kernels of an iteration do nothing once scalars[STATE] is not 0, so the host can enqueue iterations before it has checked
// convergence. Old and new r.r have slots of their own, so cg_step never overwrites a scalar that another block still reads.

// scalars[slot] is b.b: norm and target follow, the count and the state are 0.
KERNEL cg_begin(double tolerance, double limit, u32 slot, double* scalars) {
    double square = scalars[slot], rhs = sqrt(square);
    scalars[RHS] = rhs;
    scalars[TARGET] = tolerance * rhs;
    scalars[LIMIT] = limit;
    scalars[COUNT] = 0;
    scalars[STATE] = !isfinite(rhs) ? NOT_FINITE : square < SMALLEST_SQUARE ? UNDERFLOW_REACHED : 0;
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
    for_pairs(
        n, [&](u64 i) { double2 a = z2[i], b = p2[i]; p2[i] = make_double2(a.x + beta * b.x, a.y + beta * b.y); },
        [&](u64 i) { p[i] = z[i] + beta * p[i]; });
}

// The same; items of p that other ranks read go to them at once. Either all blocks send or none, since the last of them begins the
// exchange: a state that ends the solve may be set at once, as blocks that read it late come to the same decision; the count is
// raised by the last block.
KERNEL __launch_bounds__(THREADS, 8) cg_direction_sending(u64 n, u32 rr, u32 top, u32 bottom, const double* z, double* p,
                                                          u64* exchange, double* scalars) {
    if (__ldcg(scalars + STATE) != 0) return;
    const double target = scalars[TARGET], count = __ldcg(scalars + COUNT) + 1;
    const double state = judged(state_of(__ldcg(scalars + rr), target, count, scalars[LIMIT]), target);
    if (state != 0) {
        if (thread_index() == 0) scalars[COUNT] = count, scalars[STATE] = state;
        return;
    }
    const double beta = __ldcg(scalars + top) / __ldcg(scalars + bottom);
    Exchange& out = *(Exchange*)exchange;
    const u32 turn = out.now_at() + 1;
    const u64 first = out.first, half = n / 2, odd = turn & 1;
    const double2* z2 = (const double2*)z;
    double2* p2 = (double2*)p;
    bool has_sent = false;
    // From the end: items that other ranks read come last in the numbering of a part, and their transfer overlaps the remaining updates.
    if (n % 2 == 1 && thread_index() == 0) {
        out.send(n - 1, p[n - 1] = z[n - 1] + beta * p[n - 1], odd);
        has_sent = true;
    }
    u64 done = thread_index();
    for (; done < half && 2 * (half - 1 - done) + 1 >= first; done += thread_count()) {
        u64 pair = half - 1 - done;
        double2 a = z2[pair], b = p2[pair];
        b = make_double2(a.x + beta * b.x, a.y + beta * b.y);
        p2[pair] = b;
        out.send(2 * pair, b.x, odd), out.send(2 * pair + 1, b.y, odd);
        has_sent = true;
    }
    for (; done < half; done += thread_count()) {
        u64 pair = half - 1 - done;
        double2 a = z2[pair], b = p2[pair];
        p2[pair] = make_double2(a.x + beta * b.x, a.y + beta * b.y);
    }
    if (out.finish(turn, has_sent)) scalars[COUNT] += 1;
}
