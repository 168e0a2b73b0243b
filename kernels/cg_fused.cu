// Fused vector updates of single-reduction and pipelined CG; twins of src/solve/krylov/cg/fused/host.rs. Memory-bound: each load is
// two doubles, and all loads of a pair are issued before its first store.
//
// A step reads scalars at its start and writes them at its end, in the last block to finish: all blocks see the same scalars, so
// all of them update or none does. It does nothing once scalars[STATE] is not 0.

// Slots as in FusedSlot.
constexpr int GAMMA = 10, RR = 11, DELTA = 12, US = 13, PS = 14, UPDATES = 15, FRESH = 16, GAMMA_BEFORE = 17, ALPHA_BEFORE = 18;
constexpr double DRIFTED = 6;
// Blocks per multiprocessor, which leaves 64 registers to a thread: all loads of a pair are in flight.
constexpr int BLOCKS = 4;

// No update is done; p and s are 0.
KERNEL fused_begin(double* scalars) { scalars[US] = scalars[PS] = scalars[UPDATES] = scalars[FRESH] = 0; }

// s = A p was computed after the updates done so far.
KERNEL fused_refresh(u32 resume, double* scalars) {
    if (resume) scalars[STATE] = 0;
    if (scalars[STATE] == 0) scalars[FRESH] = scalars[UPDATES];
}

// The scalar part of a step.
struct Step {
    double count, rr, gamma, alpha, beta, curvature;
    // The state after the step; the vectors change only if it is 0.
    double state;
};

// Returns the step that follows from sums over all ranks.
INLINE Step step_of(int gamma_slot, const double* scalars) {
    double count = __ldcg(scalars + UPDATES), rr = __ldcg(scalars + RR), target = __ldcg(scalars + TARGET);
    Step step = {count, rr, 0, 0, 0, 0, judged(state_of(rr, target, count, __ldcg(scalars + LIMIT)), target)};
    if (step.state != 0) return step;
    double gamma = __ldcg(scalars + gamma_slot), delta = __ldcg(scalars + DELTA);
    bool is_fresh = __ldcg(scalars + FRESH) == count;
    if (is_fresh) {
        double us = __ldcg(scalars + US), ps = __ldcg(scalars + PS);
        // p is 0 before the first update. A negative p.s shows that A is not positive definite.
        step.beta = ps > 0 ? -us / ps : 0.0;
        step.curvature = ps == 0 ? delta : ps > 0 ? delta - us / ps * us : ps;
    } else {
        step.beta = gamma / __ldcg(scalars + GAMMA_BEFORE);
        step.curvature = delta - step.beta * gamma / __ldcg(scalars + ALPHA_BEFORE);
    }
    step.gamma = gamma, step.alpha = gamma / step.curvature;
    bool is_positive = isfinite(step.curvature) && step.curvature > 0;
    if (!is_positive) step.state = !is_fresh ? DRIFTED : isfinite(step.curvature) ? BREAKDOWN : NOT_FINITE;
    return step;
}

// Ends a step whose blocks have the partial sums `sums`: the last block stores their totals in `slots`, and the scalars
// of the step.
template <int N> INLINE void end(const Step& step, const double (&sums)[N], const int (&slots)[N], double* partials, double* scalars,
                                 u32* ticket) {
    __shared__ bool is_last;
#pragma unroll
    for (int k = 0; k < N; k++) {
        double part = block_sum<THREADS>(sums[k]);
        if (threadIdx.x == 0) partials[k * gridDim.x + blockIdx.x] = part;
    }
    if (threadIdx.x == 0) {
        __threadfence();
        // The fence above makes the partial sums visible before the ticket.
        is_last = atomicAdd(ticket, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    bool is_one = threadIdx.x == 0, goes_on = step.state == 0;
#pragma unroll
    for (int k = 0; k < N; k++) {
        double sum = 0;
        // Read past the L1 cache, which may hold old values.
        for (u32 block = threadIdx.x; block < gridDim.x; block += THREADS) sum += __ldcg(partials + k * gridDim.x + block);
        sum = block_sum<THREADS>(sum);
        if (is_one && goes_on) scalars[slots[k]] = sum;
    }
    if (!is_one) return;
    // Ready for the next launch, without a memset between.
    *ticket = 0;
    // Where the host reads r.r: the slot of the parity of the count.
    scalars[u64(step.count) % 2] = step.rr, scalars[PQ] = step.curvature;
    scalars[COUNT] = step.count, scalars[STATE] = step.state;
    if (goes_on) scalars[UPDATES] = step.count + 1, scalars[GAMMA_BEFORE] = step.gamma, scalars[ALPHA_BEFORE] = step.alpha;
}

INLINE double2 combined(double2 x, double beta, double2 y) { return make_double2(x.x + beta * y.x, x.y + beta * y.y); }
INLINE double combined(double x, double beta, double y) { return x + beta * y; }
INLINE double product(double2 x, double2 y) { return x.x * y.x + x.y * y.y; }
INLINE double product(double x, double y) { return x * y; }

// Item or pair i: p = u + beta p, s = w + beta s, x += alpha p, r -= alpha s; adds r.r. u is r itself if IDENTITY.
template <bool IDENTITY, class T>
INLINE void single_at(u64 i, const Step& step, const T* u, const T* w, T* p, T* s, T* x, T* r, double (&sums)[1]) {
    T r_i = r[i], w_i = w[i], p_i = p[i], s_i = s[i], x_i = x[i], u_i = r_i;
    if constexpr (!IDENTITY) u_i = u[i];
    p_i = combined(u_i, step.beta, p_i), s_i = combined(w_i, step.beta, s_i);
    x_i = combined(x_i, step.alpha, p_i), r_i = combined(r_i, -step.alpha, s_i);
    p[i] = p_i, s[i] = s_i, x[i] = x_i, r[i] = r_i;
    sums[0] += product(r_i, r_i);
}

template <bool IDENTITY>
INLINE void single(u64 n, const double* u, const double* w, double* p, double* s, double* x, double* r, double* partials,
                   double* scalars, u32* ticket) {
    if (__ldcg(scalars + STATE) != 0) return;
    Step step = step_of(IDENTITY ? RR : GAMMA, scalars);
    double sums[1] = {0};
    if (step.state == 0) {
        const double2 *u2 = (const double2*)u, *w2 = (const double2*)w;
        double2 *p2 = (double2*)p, *s2 = (double2*)s, *x2 = (double2*)x, *r2 = (double2*)r;
        for_pairs(
            n, [&](u64 i) { single_at<IDENTITY>(i, step, u2, w2, p2, s2, x2, r2, sums); },
            [&](u64 i) { single_at<IDENTITY>(i, step, u, w, p, s, x, r, sums); });
    }
    end<1>(step, sums, {RR}, partials, scalars, ticket);
}

KERNEL __launch_bounds__(THREADS, BLOCKS) single_step(u64 n, const double* w, double* p, double* s, double* x, double* r,
                                                      double* partials, double* scalars, u32* ticket) {
    single<true>(n, nullptr, w, p, s, x, r, partials, scalars, ticket);
}
KERNEL __launch_bounds__(THREADS, BLOCKS)
    single_step_preconditioned(u64 n, const double* u, const double* w, double* p, double* s, double* x, double* r,
                               double* partials, double* scalars, u32* ticket) {
    single<false>(n, u, w, p, s, x, r, partials, scalars, ticket);
}

// Item or pair i: z = n + beta z, s = w + beta s, p = r + beta p, x += alpha p, r -= alpha s, w -= alpha z; adds r.r, w.r.
template <class T>
INLINE void pipelined_at(u64 i, const Step& step, const T* n, T* z, T* s, T* p, T* x, T* r, T* w, double (&sums)[2]) {
    T n_i = n[i], z_i = z[i], s_i = s[i], p_i = p[i], x_i = x[i], r_i = r[i], w_i = w[i];
    double alpha = step.alpha, beta = step.beta;
    z_i = combined(n_i, beta, z_i), s_i = combined(w_i, beta, s_i), p_i = combined(r_i, beta, p_i);
    x_i = combined(x_i, alpha, p_i), r_i = combined(r_i, -alpha, s_i), w_i = combined(w_i, -alpha, z_i);
    z[i] = z_i, s[i] = s_i, p[i] = p_i, x[i] = x_i, r[i] = r_i, w[i] = w_i;
    sums[0] += product(r_i, r_i), sums[1] += product(w_i, r_i);
}

KERNEL __launch_bounds__(THREADS, BLOCKS)
    pipelined_step(u64 n, const double* am, double* z, double* s, double* p, double* x, double* r, double* w, double* partials,
                   double* scalars, u32* ticket) {
    if (__ldcg(scalars + STATE) != 0) return;
    Step step = step_of(RR, scalars);
    double sums[2] = {0, 0};
    if (step.state == 0) {
        const double2* am2 = (const double2*)am;
        double2 *z2 = (double2*)z, *s2 = (double2*)s, *p2 = (double2*)p, *x2 = (double2*)x, *r2 = (double2*)r, *w2 = (double2*)w;
        for_pairs(
            n, [&](u64 i) { pipelined_at(i, step, am2, z2, s2, p2, x2, r2, w2, sums); },
            [&](u64 i) { pipelined_at(i, step, am, z, s, p, x, r, w, sums); });
    }
    end<2>(step, sums, {RR, DELTA}, partials, scalars, ticket);
}

// Item or pair i: z = n + beta z, q = m + beta q, s = w + beta s, p = u + beta p, x += alpha p, r -= alpha s, u -= alpha q,
// w -= alpha z; adds r.r, r.u, w.u.
template <class T>
INLINE void preconditioned_at(u64 i, const Step& step, const T* m, const T* n, T* z, T* q, T* s, T* p, T* x, T* r, T* u, T* w,
                              double (&sums)[3]) {
    T m_i = m[i], n_i = n[i], z_i = z[i], q_i = q[i], s_i = s[i], p_i = p[i], x_i = x[i], r_i = r[i], u_i = u[i], w_i = w[i];
    double alpha = step.alpha, beta = step.beta;
    z_i = combined(n_i, beta, z_i), q_i = combined(m_i, beta, q_i);
    s_i = combined(w_i, beta, s_i), p_i = combined(u_i, beta, p_i);
    x_i = combined(x_i, alpha, p_i), r_i = combined(r_i, -alpha, s_i);
    u_i = combined(u_i, -alpha, q_i), w_i = combined(w_i, -alpha, z_i);
    z[i] = z_i, q[i] = q_i, s[i] = s_i, p[i] = p_i, x[i] = x_i, r[i] = r_i, u[i] = u_i, w[i] = w_i;
    sums[0] += product(r_i, r_i), sums[1] += product(r_i, u_i), sums[2] += product(w_i, u_i);
}

KERNEL __launch_bounds__(THREADS, BLOCKS)
    pipelined_step_preconditioned(u64 n, const double* m, const double* am, double* z, double* q, double* s, double* p, double* x,
                                  double* r, double* u, double* w, double* partials, double* scalars, u32* ticket) {
    if (__ldcg(scalars + STATE) != 0) return;
    Step step = step_of(GAMMA, scalars);
    double sums[3] = {0, 0, 0};
    if (step.state == 0) {
        const double2 *m2 = (const double2*)m, *am2 = (const double2*)am;
        double2 *z2 = (double2*)z, *q2 = (double2*)q, *s2 = (double2*)s, *p2 = (double2*)p;
        double2 *x2 = (double2*)x, *r2 = (double2*)r, *u2 = (double2*)u, *w2 = (double2*)w;
        for_pairs(
            n, [&](u64 i) { preconditioned_at(i, step, m2, am2, z2, q2, s2, p2, x2, r2, u2, w2, sums); },
            [&](u64 i) { preconditioned_at(i, step, m, am, z, q, s, p, x, r, u, w, sums); });
    }
    end<3>(step, sums, {RR, GAMMA, DELTA}, partials, scalars, ticket);
}
