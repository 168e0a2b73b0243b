// Fused vector updates of single-reduction CG; twins of src/solve/krylov/cg/host.rs. Memory-bound: each load is
// two doubles, and all loads of a pair are issued before its first store; those of a thread's first pair do not wait for the scalars.
//
// A step reads scalars at its start and writes them at its end, in the last block to finish: all blocks see the same scalars, so
// all of them update or none does. It does nothing once scalars[STATE] is not 0.

// Slots as in FusedSlot.
constexpr int GAMMA = 10, RR = 11, DELTA = 12, GAMMA_BEFORE = 17, ALPHA_BEFORE = 18;
constexpr double DRIFTED = 6;
constexpr u32 SCALARS = 20;
// Blocks per multiprocessor: as many as leave a thread the registers for all loads of a pair beside the scalars. As in
// src/solve/krylov/cg/cuda.rs.
constexpr int SINGLE_BLOCKS = 4;

// s = A p was computed after the updates done so far.
KERNEL fused_refresh(u32 resume, double* scalars) {
    if (resume) scalars[STATE] = 0;
    if (scalars[STATE] == 0) scalars[FRESH] = scalars[UPDATES];
}

// The scalar part of a step.
struct Step {
    double state_before, count, rr, gamma, alpha, beta, curvature;
    // The state after the step; the vectors change only if it is 0.
    double state;
};

// Returns the step that follows from sums over all ranks. Lane k has scalar k, so that one load brings all; all lanes call it.
INLINE Step step_of(int gamma_slot, double scalar) {
    auto at = [&](int slot) { return __shfl_sync(ALL_LANES, scalar, slot); };
    double count = at(UPDATES), rr = at(RR), target = at(TARGET), gamma = at(gamma_slot), delta = at(DELTA);
    bool is_fresh = at(FRESH) == count;
    double us = at(US), ps = at(PS), gamma_before = at(GAMMA_BEFORE), alpha_before = at(ALPHA_BEFORE);
    Step step = {at(STATE), count, rr, gamma, 0, 0, 0, judged(state_of(rr, target, count, at(LIMIT)), target)};
    if (is_fresh) {
        // p is 0 before the first update. A negative p.s shows that A is not positive definite.
        step.beta = ps > 0 ? -us / ps : 0.0;
        step.curvature = ps == 0 ? delta : ps > 0 ? delta - us / ps * us : ps;
    } else {
        step.beta = gamma / gamma_before;
        step.curvature = delta - step.beta * gamma / alpha_before;
    }
    step.alpha = gamma / step.curvature;
    bool is_positive = isfinite(step.curvature) && step.curvature > 0;
    if (step.state == 0 && !is_positive) step.state = !is_fresh ? DRIFTED : isfinite(step.curvature) ? BREAKDOWN : NOT_FINITE;
    return step;
}

// Ends a step whose threads have the partial sums `part` of r.r: the last block stores the total and the scalars of the step.
INLINE void end(const Step& step, double part, double* partials, double* scalars, u32* ticket) {
    double total;
    if (!grid_sum<THREADS>(part, partials, ticket, total)) return;
    // Where the host reads r.r: the slot of the parity of the count.
    scalars[u64(step.count) % 2] = step.rr, scalars[PQ] = step.curvature;
    scalars[COUNT] = step.count, scalars[STATE] = step.state;
    if (step.state != 0) return;
    scalars[UPDATES] = step.count + 1, scalars[GAMMA_BEFORE] = step.gamma, scalars[ALPHA_BEFORE] = step.alpha;
    scalars[RR] = total;
}

// A load that stays where it stands: before the scalars are known.
INLINE double2 load(const double2* from) {
    double2 pair;
    asm volatile("ld.global.v2.f64 {%0, %1}, [%2];" : "=d"(pair.x), "=d"(pair.y) : "l"(from));
    return pair;
}
INLINE double load(const double* from) { return *from; }

// A step over n items: `pairs` loads and updates two at once, `items` one. gamma is in slot `gamma`.
template <class Pairs, class Items>
INLINE void walk(u64 n, const Pairs& pairs, const Items& items, int gamma, double* partials, double* scalars, u32* ticket) {
    double scalar = lane_index() < SCALARS ? __ldcg(scalars + lane_index()) : 0.0;
    u64 pair = thread_index();
    typename Pairs::At first = {};
    if (pair < n / 2) first = pairs.loaded(pair);
    Step step = step_of(gamma, scalar);
    if (step.state_before != 0) return;
    double sum = 0;
    if (step.state == 0) {
        if (pair < n / 2) pairs.update(pair, first, step.alpha, step.beta, sum);
        for (pair += thread_count(); pair < n / 2; pair += thread_count()) {
            pairs.update(pair, pairs.loaded(pair), step.alpha, step.beta, sum);
        }
        if (n % 2 == 1 && thread_index() == 0) items.update(n - 1, items.loaded(n - 1), step.alpha, step.beta, sum);
    }
    end(step, sum, partials, scalars, ticket);
}

INLINE double2 combined(double2 x, double beta, double2 y) { return make_double2(x.x + beta * y.x, x.y + beta * y.y); }
INLINE double combined(double x, double beta, double y) { return x + beta * y; }
INLINE double product(double2 x, double2 y) { return x.x * y.x + x.y * y.y; }
INLINE double product(double x, double y) { return x * y; }

// p = u + beta p, s = w + beta s, x += alpha p, r -= alpha s; r.r. u is r itself if IDENTITY.
template <bool IDENTITY, class T> struct Single {
    const T *u, *w;
    T *p, *s, *x, *r;
    struct At {
        T u, w, p, s, x, r;
    };
    __device__ Single(const double* u, const double* w, double* p, double* s, double* x, double* r)
        : u((const T*)u), w((const T*)w), p((T*)p), s((T*)s), x((T*)x), r((T*)r) {}
    __device__ __forceinline__ At loaded(u64 i) const {
        At at = {{}, load(w + i), load(p + i), load(s + i), load(x + i), load(r + i)};
        if constexpr (!IDENTITY) at.u = load(u + i);
        return at;
    }
    __device__ __forceinline__ void update(u64 i, const At& at, double alpha, double beta, double& sum) const {
        T p_i = combined(IDENTITY ? at.r : at.u, beta, at.p), s_i = combined(at.w, beta, at.s);
        T r_i = combined(at.r, -alpha, s_i);
        p[i] = p_i, s[i] = s_i, x[i] = combined(at.x, alpha, p_i), r[i] = r_i;
        sum += product(r_i, r_i);
    }
};

KERNEL __launch_bounds__(THREADS, SINGLE_BLOCKS)
    single_step(u64 n, const double* w, double* p, double* s, double* x, double* r, double* partials, double* scalars, u32* ticket) {
    Single<true, double2> pairs(nullptr, w, p, s, x, r);
    Single<true, double> items(nullptr, w, p, s, x, r);
    walk(n, pairs, items, RR, partials, scalars, ticket);
}
KERNEL __launch_bounds__(THREADS, SINGLE_BLOCKS)
    single_step_preconditioned(u64 n, const double* u, const double* w, double* p, double* s, double* x, double* r,
                               double* partials, double* scalars, u32* ticket) {
    Single<false, double2> pairs(u, w, p, s, x, r);
    Single<false, double> items(u, w, p, s, x, r);
    walk(n, pairs, items, GAMMA, partials, scalars, ticket);
}
