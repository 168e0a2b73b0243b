// All iterations of CG in one launch, for systems that fit into the shared memories of the GPU: pipelined CG (Ghysels and
// Vanroose 2014), which needs one sum over the grid per iteration, and no other wait.
//
//   gamma = r.r, delta = w.r                                    one sum over the grid; w = A r
//   q = A w                                                     reads w of other blocks
//   beta = gamma / gamma', p.A p = delta - beta gamma / alpha', alpha = gamma / p.A p
//   z = q + beta z, s = w + beta s, p = r + beta p              so that s = A p, z = A s
//   x += alpha p, r -= alpha s, w -= alpha z
//
// A block owns a range of rows: its part of the six vectors and, where it has the room, of the matrix stays in shared memory.
// Only w passes through global memory. Rounding drives w, s and z away from what they stand for; every REFRESH iterations,
// and before p.A p is found not positive, they are formed anew. r follows its recurrence, as in CG. (Condition 3000, 1e-10:
// CG takes 331 iterations; this 336, or 347 with REFRESH = 64, or 358 and a residual 16 times too large without.)
//
// All blocks are resident (a cooperative launch). Sums are taken in a fixed order, so a grid gives the same bits every time.

constexpr u32 REFRESH = 32;
// Slots that a lane reads: at most 160 blocks.
constexpr int SLOTS = 5;
// No block's sum: a NaN that is never stored.
constexpr u64 EMPTY = ~0ull;

typedef double f64;
typedef float f32;

INLINE u64 load_relaxed(const u64* address) {
    u64 value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}
INLINE void store_relaxed(u64* address, u64 value) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

// Sums both values over all threads of the grid, with the same bits in each, and waits for all: what any thread has written to
// global memory before, every thread sees after.
//
// slots[3][2][blocks] are EMPTY at first. A block leaves its sum behind a fence and waits until all have; a value is its own
// flag, so that one trip to the L2 brings both. Passing sum `epoch` proves that all blocks are done with sum epoch - 1, so its
// slots are emptied, to be filled again two sums later.
template <int THREADS> INLINE void grid_sums(double& a, double& b, u64* slots, u32& epoch) {
    __shared__ double of_warp[2][THREADS / WARP], totals[2];
    u32 warp = threadIdx.x / WARP, lane = lane_index(), blocks = gridDim.x;
    a = warp_sum(a), b = warp_sum(b);
    if (lane == 0) of_warp[0][warp] = a, of_warp[1][warp] = b;
    __syncthreads();
    if (warp < 2) {
        double sum = warp_sum(lane < THREADS / WARP ? of_warp[warp][lane] : 0.0);
        u64 *now = slots + (epoch % 3 * 2 + warp) * blocks, *before = slots + ((epoch + 2) % 3 * 2 + warp) * blocks;
        if (lane == 0) {
            __threadfence();
            store_relaxed(now + blockIdx.x, u64(__double_as_longlong(isnan(sum) ? not_a_number() : sum)));
        }
        u64 bits[SLOTS];
        bool all;
        do {
            all = true;
#pragma unroll
            for (int k = 0; k < SLOTS; k++) {
                u32 block = lane + k * WARP;
                bits[k] = block < blocks ? load_relaxed(now + block) : 0;
            }
#pragma unroll
            for (int k = 0; k < SLOTS; k++) all = all && bits[k] != EMPTY;
        } while (!all);
        __threadfence();
        __syncwarp();
        sum = 0;
#pragma unroll
        for (int k = 0; k < SLOTS; k++) sum += __longlong_as_double(i64(bits[k]));
        sum = warp_sum(sum);
        if (lane == 0) totals[warp] = sum, store_relaxed(before + blockIdx.x, EMPTY);
    }
    __syncthreads();
    a = totals[0], b = totals[1];
    epoch++;
}

// Calls each(i, sum) in the first of LANES threads for each of `rows` rows; row i has entries starts[i]..starts[i + 1].
template <int THREADS, int LANES, int BATCH, class V, class Each>
INLINE void product(u32 rows, const u32* starts, const u32* columns, const V* values, const double* x, Each each) {
    u32 lane = threadIdx.x % LANES;
    for (u32 first = 0; first < rows; first += THREADS / LANES) {
        u32 i = first + threadIdx.x / LANES, at = 0, end = 0;
        double sum = 0;
        if (i < rows) at = starts[i] + lane, end = starts[i + 1];
        for (; at < end; at += LANES * BATCH) {
            double item[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                u32 entry = at + k * LANES;
                item[k] = entry < end ? __ldcg(x + columns[entry]) : 0.0;
            }
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                u32 entry = at + k * LANES;
                sum += entry < end ? double(values[entry]) * item[k] : 0.0;
            }
        }
#pragma unroll
        for (int step = LANES / 2; step > 0; step /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, step);
        if (i < rows && lane == 0) each(i, sum);
    }
}

// The rows of a block, in shared memory where they fit.
template <int THREADS, int LANES, int BATCH, class V> struct Part {
    u32 rows;
    bool fits;
    const u32 *starts, *own_columns;
    const V* own_values;
    const u32* columns;
    const V* values;
    template <class Each> __device__ __forceinline__ void multiply(const double* x, Each each) const {
        if (fits) product<THREADS, LANES, BATCH>(rows, starts, own_columns, own_values, x, each);
        else product<THREADS, LANES, BATCH>(rows, starts, columns, values, x, each);
    }
};

// Shared memory: six vectors of `share` items, values and columns of `capacity` entries, share + 1 offsets.
template <int THREADS, int LANES, int BATCH, class V>
INLINE void iterate(u64 rows, u32 capacity, const u64* row_map, const u32* entries, const V* values, double* x_global,
                    double* r_global, double* scalars, double* vectors, u64* slots) {
    // Set before the first iteration if x solves the system already.
    if (__ldcg(scalars + STATE) != 0) return;
    double gamma = __ldcg(scalars), pq = __ldcg(scalars + PQ);
    double target = __ldcg(scalars + TARGET), limit = __ldcg(scalars + LIMIT);

    extern __shared__ double memory[];
    u32 share = u32((rows + gridDim.x - 1) / gridDim.x);
    u64 first = least(u64(blockIdx.x) * share, rows);
    u32 own = u32(least(u64(share), rows - first));
    double *x = memory, *r = x + share, *w = r + share, *z = w + share, *s = z + share, *p = s + share;
    V* own_values = (V*)(p + share);
    u32 *own_columns = (u32*)(own_values + capacity), *starts = own_columns + capacity;
    // The parts of these that this block writes; whole vectors begin at `vectors`: w twice, r, p, s.
    double* shown[5];
#pragma unroll
    for (int k = 0; k < 5; k++) shown[k] = vectors + k * rows + first;

    u64 start = row_map[first];
    u32 count_own = u32(row_map[first + own] - start);
    bool fits = count_own <= capacity;
    for (u32 i = threadIdx.x; i < own; i += THREADS) {
        x[i] = x_global[first + i], r[i] = r_global[first + i];
        z[i] = s[i] = p[i] = 0;
    }
    for (u32 i = threadIdx.x; i <= own; i += THREADS) starts[i] = u32(row_map[first + i] - start);
    if (fits) {
        for (u32 i = threadIdx.x; i < count_own; i += THREADS) {
            own_values[i] = values[start + i], own_columns[i] = entries[start + i];
        }
    }
    __syncthreads();
    Part<THREADS, LANES, BATCH, V> a = {own, fits, starts, own_columns, own_values, entries + start, values + start};

    // w = A r
    u32 epoch = 0;
    double rr = 0, delta = 0, alpha = 0, gamma_before = 0, count = 0, state = 0;
    a.multiply(r_global, [&](u32 i, double sum) {
        w[i] = sum, __stcg(shown[0] + i, sum);
        delta += sum * r[i];
    });
    grid_sums<THREADS>(rr, delta, slots, epoch);

    for (u32 iteration = 0;; iteration++, count += 1) {
        if (iteration > 0) state = state_of(gamma, target, count, limit);
        if (state != 0) break;
        // Two copies of w: blocks that are ahead write the next one while others still read this one.
        double* w_now = iteration % 2 == 0 ? shown[0] : shown[1];
        double* w_next = iteration % 2 == 0 ? shown[1] : shown[0];
        double beta = iteration > 0 ? gamma / gamma_before : 0.0;
        pq = iteration > 0 ? delta - beta * gamma / alpha : delta;
        if (iteration > 0 && (iteration % REFRESH == 0 || !(pq > 0) || !isfinite(pq))) {
            // w = A r, s = A p; z = A s; p.A p of the next p as it is
            for (u32 i = threadIdx.x; i < own; i += THREADS) __stcg(shown[2] + i, r[i]), __stcg(shown[3] + i, p[i]);
            rr = pq = 0;
            grid_sums<THREADS>(rr, pq, slots, epoch);
            rr = pq = 0;
            a.multiply(shown[2] - first, [&](u32 i, double sum) { w[i] = sum, __stcg(w_now + i, sum); });
            a.multiply(shown[3] - first, [&](u32 i, double sum) {
                s[i] = sum, __stcg(shown[4] + i, sum);
                pq += (r[i] + beta * p[i]) * (w[i] + beta * sum);
            });
            grid_sums<THREADS>(rr, pq, slots, epoch);
            a.multiply(shown[4] - first, [&](u32 i, double sum) { z[i] = sum; });
        }
        // Formed anew above, so this is a property of A, not of rounding.
        if (!(pq > 0) || !isfinite(pq)) {
            state = isfinite(pq) ? BREAKDOWN : NOT_FINITE;
            break;
        }
        alpha = gamma / pq;
        rr = delta = 0;
        a.multiply(w_now - first, [&](u32 i, double q) {
            double z_i = z[i] = q + beta * z[i], s_i = s[i] = w[i] + beta * s[i], p_i = p[i] = r[i] + beta * p[i];
            double r_i = r[i] -= alpha * s_i, w_i = w[i] -= alpha * z_i;
            x[i] += alpha * p_i;
            __stcg(w_next + i, w_i);
            rr += r_i * r_i, delta += w_i * r_i;
        });
        grid_sums<THREADS>(rr, delta, slots, epoch);
        gamma_before = gamma, gamma = rr;
    }

    for (u32 i = threadIdx.x; i < own; i += THREADS) x_global[first + i] = x[i], r_global[first + i] = r[i];
    if (thread_index() == 0) {
        // Where the host reads r.r: the slot of the parity of the count.
        bool odd = fmod(count, 2.0) != 0;
        scalars[odd] = gamma;
        if (count > 0) scalars[!odd] = gamma_before;
        scalars[PQ] = pq, scalars[COUNT] = count, scalars[STATE] = judged(state, scalars[TARGET]);
    }
}

// From x, r = b - A x and the scalars before the first iteration to those after the last. 8 lanes per row and small blocks where
// rows are few (a block's own synchronisation counts there), else 4 lanes and large ones.
#define ITERATE(V, THREADS, LANES, BATCH)                                                                                    \
    KERNEL __launch_bounds__(THREADS, 1) iterate_##V##_##THREADS(                                                            \
        u64 rows, u32 capacity, const u64* row_map, const u32* entries, const V* values, double* x, double* r,               \
        double* scalars, double* vectors, u64* slots) {                                                                      \
        iterate<THREADS, LANES, BATCH>(rows, capacity, row_map, entries, values, x, r, scalars, vectors, slots);             \
    }
ITERATE(f64, 256, 8, 4)
ITERATE(f32, 256, 8, 4)
ITERATE(f64, 1024, 4, 7)
ITERATE(f32, 1024, 4, 7)
