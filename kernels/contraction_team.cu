// The nine contractions by teams of threads, as in the clinic report; launched by src/contraction/cuda.
//
// team1        one block per cell, threads over its outputs
// team2        one block per cell, groups of lanes over its outputs, lanes over k, sums by shuffles
// teamstride   one block of fixed size per output, threads over k
// segments     several outputs per warp, one lane per product (few terms), sums by shuffles
// segments_atomic  the same without idle lanes between outputs; atomic additions to the output, which `clear` has zeroed
// All but team1 add in trees instead of in the order of k. Bytes: each input is read as often as outputs need it, from
// memory once if the caches hold it.

template <class T> INLINE void team1(Sizes n, Operand<T> a, Operand<T> b, Output<T> out) {
    u64 outputs = n.left * n.right;
    for (u64 cell = blockIdx.x; cell < n.cells; cell += gridDim.x) {
        for (u64 at = threadIdx.x; at < outputs; at += blockDim.x) {
            u64 l = divide(at, n.right), r = at - l * n.right;
            finish(out, cell, l, r, dot(n, a, row(a, cell, l), b, row(b, cell, r)));
        }
    }
}

// Products `first`, `first` + `step`, ... of an entry.
template <class T> INLINE T strided(const Sizes& n, const Operand<T>& a, const T* a0, const Operand<T>& b, const T* b0, u32 first, u32 step) {
    T sum = 0;
    u32 count = terms(n);
#pragma unroll 4
    for (u32 k = first; k < count; k += step) {
        Term at = term(n, k);
        sum += at.of(a, a0) * at.of(b, b0);
    }
    return sum;
}

template <class T> INLINE void team2(Sizes n, u32 lanes, Operand<T> a, Operand<T> b, Output<T> out) {
    u64 outputs = n.left * n.right;
    u32 group = threadIdx.x / lanes, lane = threadIdx.x % lanes, groups = blockDim.x / lanes;
    for (u64 cell = blockIdx.x; cell < n.cells; cell += gridDim.x) {
        // All lanes of a warp take every step: they shuffle together.
        for (u64 first = 0; first < outputs; first += groups) {
            u64 at = first + group, l = divide(at, n.right), r = at - l * n.right;
            T sum = at < outputs ? strided(n, a, row(a, cell, l), b, row(b, cell, r), lane, lanes) : T(0);
            sum = lanes_sum(sum, lanes);
            if (at < outputs && lane == 0) finish(out, cell, l, r, sum);
        }
    }
}

template <class T> INLINE void teamstride(Sizes n, u32 team, Operand<T> a, Operand<T> b, Output<T> out) {
    __shared__ T of_warp[WARP];
    u64 outputs = n.cells * n.left * n.right;
    u32 warps = (blockDim.x + WARP - 1) / WARP;
    for (u64 at = blockIdx.x; at < outputs; at += gridDim.x) {
        Place place = outputs_in_lanes(at, n.left, n.right);
        T sum = 0;
        if (threadIdx.x < team) {
            sum = strided(n, a, row(a, place.cell, place.left), b, row(b, place.cell, place.right), threadIdx.x, team);
        }
        sum = warp_sum(sum);
        if (warps > 1) {
            __syncthreads();
            if (lane_index() == 0) of_warp[threadIdx.x / WARP] = sum;
            __syncthreads();
            if (threadIdx.x < WARP) sum = warp_sum(threadIdx.x < warps ? of_warp[threadIdx.x] : T(0));
        }
        if (threadIdx.x == 0) finish(out, place.cell, place.left, place.right, sum);
    }
}

// `lanes`: a power of two, not below the number of terms.
template <class T> INLINE void segments(Sizes n, u32 lanes, Operand<T> a, Operand<T> b, Output<T> out) {
    u64 thread = thread_index();
    u32 k = u32(thread % lanes);
    Place place = outputs_in_lanes(thread / lanes, n.left, n.right);
    T product = 0;
    if (place.cell < n.cells && k < terms(n)) {
        Term at = term(n, k);
        // Added to 0, as every sum begins: a product may be -0.
        product += at.of(a, row(a, place.cell, place.left)) * at.of(b, row(b, place.cell, place.right));
    }
    T sum = lanes_sum(product, lanes);
    if (place.cell < n.cells && k == 0) finish(out, place.cell, place.left, place.right, sum);
}

// At least one term, at most 32.
template <class T> INLINE void segments_atomic(Sizes n, Operand<T> a, Operand<T> b, Output<T> out) {
    u32 count = terms(n), of_warp = WARP / count, lane = lane_index(), segment = lane / count;
    Place place = outputs_in_lanes(thread_index() / WARP * of_warp + segment, n.left, n.right);
    if (segment >= of_warp || place.cell >= n.cells) return;
    Term at = term(n, lane - segment * count);
    T product = at.of(a, row(a, place.cell, place.left)) * at.of(b, row(b, place.cell, place.right));
    atomicAdd(out.data + place.cell * out.cell + place.left * out.left + place.right * out.right, product);
}

template <class T> INLINE void clear(Sizes n, Output<T> out) {
    Place at = outputs_in_lanes(thread_index(), n.left, n.right);
    if (at.cell < n.cells) out.data[at.cell * out.cell + at.left * out.left + at.right * out.right] = T(0);
}

// Blocks: as many threads as fill a multiprocessor; 6 blocks of 256 leave 40 registers for four terms in flight.
VARIANTS(team1_f32, team1_f64, 256, 6, 6, (team1(n, x, y, z)))
VARIANTS(team2_f32, team2_f64, 256, 4, 4, (team2(n, option, x, y, z)))
VARIANTS(teamstride_f32, teamstride_f64, 1024, 1, 1, (teamstride(n, option, x, y, z)))
VARIANTS(segments_f32, segments_f64, 256, 6, 6, (segments(n, option, x, y, z)))
VARIANTS(segments_atomic_f32, segments_atomic_f64, 256, 6, 6, (segments_atomic(n, x, y, z)))
VARIANTS(clear_f32, clear_f64, 256, 6, 6, (clear(n, z)))
