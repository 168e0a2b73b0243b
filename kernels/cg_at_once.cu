// All iterations of CG in one launch, for systems so small that each block keeps its rows: pipelined CG (Ghysels and Vanroose
// 2014), whose only sum over the grid runs beside its product.
//
//   gamma = r.r, delta = w.r                                    one sum over the grid; w = A r
//   q = A w                                                     reads w of other blocks, does not need the sums
//   beta = gamma / gamma', p.A p = delta - beta gamma / alpha', alpha = gamma / p.A p
//   z = q + beta z, s = w + beta s, p = r + beta p              so that s = A p, z = A s
//   x += alpha p, r -= alpha s, w -= alpha z
//
// A block owns a range of rows: a thread keeps its part of the vectors in registers, but that of x. The items of w that the block's rows
// read (its own and those of other blocks, sorted) form a window in shared memory, with 16-bit columns into it. Up to 256 rows
// per block the matrix stays in registers. Beyond that, it is copied into slices: shared memory keeps as many as fit, and the others
// are read from the L2.
//
// Blocks exchange w and sums without fences: the lowest bit of each 64-bit word tells the turn that it was written in, and a
// reader waits for the turn that it needs. Two copies take turns. A block writes a copy again only after the sums of a later
// turn, which each block sends after it has read that copy.
//
// Rounding drives w, s and z away from what they stand for, most of all in the first iterations, which set the scale of what
// follows. They are formed anew after FIRST iterations, then after twice as many each time up to LAST, and before p.A p is found
// not positive. r follows its recurrence, as in CG.
//
// All blocks are resident (a cooperative launch). Sums are taken in a fixed order, so a grid gives the same bits every time.

constexpr u32 FIRST = 8, LAST = 64;
// Slots that a lane reads: at most 160 blocks.
constexpr int SLOTS = 5;
// Vectors that blocks show to each other: w in two copies; r, p and s, which are shown when w, s and z are formed anew.
constexpr int W = 0, R = 2, P = 3, S = 4, Q = 5;

typedef double f64;
typedef float f32;

// Returns the sum of a over the warp in lanes 0..15, that of b in lanes 16..31.
INLINE double sum_of_two(double a, double b) {
    bool low = lane_index() < 16;
    double sum = (low ? a : b) + __shfl_xor_sync(ALL_LANES, low ? b : a, 16);
#pragma unroll
    for (int step = 8; step > 0; step /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, step);
    return sum;
}

// The scalars, which the last warp of a block derives from each sum, in shared memory.
struct Scalars {
    // Numbers of a size whose inverse and square are normal.
    static constexpr double LARGE = 1e100;

    double gamma, gamma_before, pq, alpha, beta, target, limit, state, by_gamma, by_alpha;
    bool is_tame;
    // p.A p came out not positive, and is formed anew.
    bool doubted;

    // Goes on by a sum after `iteration` iterations.
    __device__ __forceinline__ void advance(double rr, double delta, u32 iteration) {
        if (doubted) {
            // The sign is a property of A now, not of rounding.
            pq = delta, doubted = false;
            if (!(pq > 0) || !isfinite(pq)) state = isfinite(pq) ? BREAKDOWN : NOT_FINITE;
        } else {
            double less = 0;
            if (iteration > 0) {
                gamma_before = gamma, gamma = rr;
                // The root is taken near the target only: what precedes alpha is waited for by all blocks.
                bool is_far = gamma > 1.0001 * target * target && gamma < LARGE && iteration < limit;
                state = is_far ? 0.0 : state_of(gamma, target, iteration, limit);
                if (is_tame) beta = gamma * by_gamma, less = beta * (gamma * by_alpha);
                else beta = gamma / gamma_before, less = beta * (gamma / alpha);
            }
            if (state == 0) pq = delta - less, doubted = !(pq > 0) || !isfinite(pq);
            if (doubted && iteration == 0) state = isfinite(pq) ? BREAKDOWN : NOT_FINITE;
        }
        alpha = gamma / pq;
    }

    // Prepares the next step, while others update vectors.
    __device__ __forceinline__ void prepare() {
        by_gamma = 1 / gamma, by_alpha = pq * by_gamma;
        is_tame = gamma > 1 / LARGE && gamma < LARGE && alpha > 1 / LARGE && alpha < LARGE;
    }
};

// Sums over the rows of a block, and over all blocks in `slots`[2][blocks][2].
struct Sums {
    u64* slots;
    // Warps whose threads own rows.
    u32 owners;
    u32 sent, received;

    // Sends the sums of a and b over the owners' threads; other warps pass.
    __device__ __forceinline__ void send(double a, double b) {
        __shared__ double of_warp[2][WARP];
        u32 warp = threadIdx.x / WARP, lane = lane_index(), turn = sent / 2 % 2;
        u64* slot = slots + (u64(sent % 2) * gridDim.x + blockIdx.x) * 2 + lane / 16;
        sent++;
        if (warp >= owners) return;
        double sum = sum_of_two(a, b);
        if (owners > 1) {
            if (lane % 16 == 0) of_warp[lane / 16][warp] = sum;
            asm volatile("bar.sync 1, %0;" ::"r"(owners * WARP) : "memory");
            if (warp > 0) return;
            sum = sum_of_two(lane < owners ? of_warp[0][lane] : 0.0, lane < owners ? of_warp[1][lane] : 0.0);
        }
        if (lane % 16 == 0) publish(slot, sealed(sum, turn));
    }

    // Waits for the sums of all blocks, in one warp: the total of a in lanes 0..15, that of b in the others.
    __device__ __forceinline__ double receive() {
        u32 blocks = gridDim.x, turn = received / 2 % 2;
        const u64* now = slots + u64(received % 2) * blocks * 2;
        received++;
        u64 a[SLOTS], b[SLOTS];
        bool all;
        do {
            all = true;
#pragma unroll
            for (int k = 0; k < SLOTS; k++) {
                u32 block = lane_index() + k * WARP;
                a[k] = b[k] = turn;
                if (block < blocks) peek(now + 2 * block, a[k], b[k]);
            }
#pragma unroll
            for (int k = 0; k < SLOTS; k++) all = all && (a[k] & 1) == turn && (b[k] & 1) == turn;
        } while (!all);
        __syncwarp();
        double of_a = 0, of_b = 0;
#pragma unroll
        for (int k = 0; k < SLOTS; k++) of_a += opened(a[k]), of_b += opened(b[k]);
        return sum_of_two(of_a, of_b);
    }
};

template <class V, int LANES, int BATCH, int OWNED>
INLINE void iterate(u64 rows, u32 bytes, const u64* row_map, const u32* entries, const V* values, double* x_global,
                    double* r_global, double* scalars, V* work, u16* places, u64* shown, u64* slots) {
    // Set before the first iteration if x solves the system already.
    if (__ldcg(scalars + STATE) != 0) return;
    __shared__ Scalars told;
    Part<V, LANES, BATCH, OWNED> a;
    a.load(rows, bytes, row_map, entries, values, work, places);
    Sums sums = {slots, most(1u, (least(a.own, a.threads) + WARP - 1) / WARP), 0, 0};
    double r[OWNED], w[OWNED], z[OWNED], s[OWNED], p[OWNED];
    auto show = [&](int vector, const double* v, u32 turn) {
        a.each([&](int o, u32 i) { publish(shown + vector * rows + a.first + i, sealed(v[o], turn)); });
    };
    auto keep = [&](const double* v) { a.each([&](int o, u32 i) { a.window[i] = v[o]; }); };

    bool decides = a.thread / WARP == a.threads / WARP - 1;
    if (decides && lane_index() == 0) {
        told = {__ldcg(scalars), 0, __ldcg(scalars + PQ), 0, 0, __ldcg(scalars + TARGET), __ldcg(scalars + LIMIT), 0, 0, 0, false, false};
    }
    __syncthreads();

    a.each([&](int o, u32 i) { a.x[i] = x_global[a.first + i], r[o] = r_global[a.first + i], w[o] = z[o] = s[o] = p[o] = 0; });
    // What the next product forms: q = A w in iterations; w = A r, s = A p and z = A s, one after the other, anew.
    u32 iteration = 0, forms = Q, shows = 0, renewals = 0, interval = 0, next = 0;
    bool renews = true;
    for (;;) {
        if (renews) {
            // r is shown once before p and s are.
            show(R, r, renewals % 2), keep(r);
            if (iteration > 0) show(P, p, (renewals + 1) % 2);
            renewals++, forms = R;
            interval = iteration == 0 || told.doubted ? FIRST : least(2 * interval, LAST), next = iteration + interval;
        } else if (forms == R && iteration > 0) {
            keep(p), forms = P;
        } else if (forms == P) {
            show(S, s, renewals % 2), keep(s), forms = S;
        } else {
            show(W + shows % 2, w, shows / 2 % 2), keep(w), shows++, forms = Q;
            double rr = 0, delta = 0;
            a.each([&](int o, u32 i) {
                // p.A p of the next p as it is, where the recurrence did not give a positive one
                if (told.doubted) delta += (r[o] + told.beta * p[o]) * (w[o] + told.beta * s[o]);
                else rr += r[o] * r[o], delta += w[o] * r[o];
            });
            sums.send(rr, delta);
        }
        u32 now = forms == Q ? W + (shows - 1) % 2 : forms;
        u32 turn = forms == Q ? (shows - 1) / 2 % 2 : forms == R ? (renewals - 1) % 2 : renewals % 2;
        a.multiply(shown + now * rows, turn);
        if (forms == Q && decides) {
            double sum = sums.receive(), delta = __shfl_sync(ALL_LANES, sum, 16);
            if (lane_index() == 0) told.advance(sum, delta, iteration);
        }
        __syncthreads();
        if (forms != Q) {
            renews = false;
            a.each([&](int o, u32 i) {
                if (forms == R) w[o] = a.result(o, i);
                else if (forms == P) s[o] = a.result(o, i);
                else z[o] = a.result(o, i);
            });
            continue;
        }
        if (told.state != 0) break;
        renews = told.doubted;
        if (renews) continue;
        double alpha = told.alpha, beta = told.beta;
        if (decides && lane_index() == 0) told.prepare();
        a.each([&](int o, u32 i) {
            z[o] = a.result(o, i) + beta * z[o], s[o] = w[o] + beta * s[o], p[o] = r[o] + beta * p[o];
            a.x[i] += alpha * p[o], r[o] -= alpha * s[o], w[o] -= alpha * z[o];
        });
        iteration++;
        renews = iteration == next;
    }

    a.each([&](int o, u32 i) { x_global[a.first + i] = a.x[i], r_global[a.first + i] = r[o]; });
    if (blockIdx.x == 0 && decides && lane_index() == 0) {
        // Where the host reads r.r: the slot of the parity of the count.
        bool odd = iteration % 2 != 0;
        scalars[odd] = told.gamma;
        if (iteration > 0) scalars[!odd] = told.gamma_before;
        scalars[PQ] = told.pq, scalars[COUNT] = iteration, scalars[STATE] = judged(told.state, told.target);
    }
}

// From x, r = b - A x and the scalars before the first iteration to those after the last.
#define ITERATE(NAME, V, THREADS, LANES, BATCH, OWNED)                                                                       \
    KERNEL __launch_bounds__(THREADS, 1) NAME(                                                                               \
        u64 rows, u32 bytes, const u64* row_map, const u32* entries, const V* values, double* x, double* r, double* scalars, \
        V* work, u16* places, u64* shown, u64* slots) {                                                                      \
        iterate<V, LANES, BATCH, OWNED>(rows, bytes, row_map, entries, values, x, r, scalars, work, places, shown, slots);   \
    }
// Up to 256 rows per block, with two threads per row; up to 2048, with up to four rows per thread. (H200, 16^3 and 32^3 rows of 27:
// 1.9 and 2.5 us per iteration with two threads per row, 2.3 and 3.1 with one.)
ITERATE(iterate_f64_few, f64, 512, 2, 14, 1)
ITERATE(iterate_f32_few, f32, 512, 2, 14, 1)
ITERATE(iterate_f64_many, f64, 512, 1, 9, 4)
ITERATE(iterate_f32_many, f32, 512, 1, 9, 4)
