// Kernels that work with the other GPUs of a host while they run: sums over ranks, and ghosts on their way.
//
// A number of a sum travels as two words of 8 bytes, each with the epoch in its upper half: a word is one access, so no flag and no
// fence are needed. Epochs count sums, in device memory, so that a replayed CUDA graph counts on. Slots have two places, for even
// and odd epochs: a rank overwrites one two epochs later, after it has got the number of the epoch between, which its neighbour
// sends only when it has read the place.

constexpr u32 MOST_SUMS = 16, MOST_RANKS = 16;

INLINE void put(u64 to, u64 word) { asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(word) : "memory"); }
INLINE u64 get(u64 from) {
    u64 word;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    return word;
}
INLINE u32 seen(u64 flag) {
    u32 value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
}
INLINE u64 now() {
    u64 nanoseconds;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}

// Waits until is_there() holds, at most `limit` nanoseconds. The number of a rank that does not answer, plus 1, is written to *lost,
// a word of host memory; once a rank is lost, later waits end after 1024 tries.
template <class IsThere> INLINE bool wait_for(u64 limit, u64 rank, u64 lost, IsThere is_there) {
    if (is_there()) return true;
    volatile u32* word = (volatile u32*)lost;
    u64 start = now();
    for (u32 tries = 1;; tries++) {
        if (is_there()) return true;
        if (tries % 1024 == 0 && (*word != 0 || now() - start > limit)) {
            if (*word == 0) *word = u32(rank) + 1;
            __threadfence_system();
            return false;
        }
    }
}

// How this rank adds over all ranks, and the number of sums so far, in one cache line for few ranks. peers[rank] is the address of
// that rank's slots in this process: [parity][from][MOST_SUMS][2].
struct RankSum {
    u64 epoch, ranks, rank, limit, lost, peers[MOST_RANKS];
    __device__ u32 turn() const { return u32(*(const volatile u64*)&epoch) + 1; }
    __device__ u64 slot(u32 turn, u64 of, u64 from, u32 s) const {
        return peers[of] + ((u64(turn & 1) * ranks + from) * MOST_SUMS + s) * 2 * sizeof(u64);
    }
    __device__ void send(u32 turn, u64 to, u32 s, double value) const {
        u64 bits = u64(__double_as_longlong(value)), tag = u64(turn) << 32, at = slot(turn, to, rank, s);
        put(at, tag | (bits & 0xffffffffull));
        put(at + sizeof(u64), tag | bits >> 32);
    }
    // The number that `from` has sent; NaN if it does not come.
    __device__ double receive(u32 turn, u64 from, u32 s) const {
        u64 at = slot(turn, rank, from, s), low, high;
        bool is_there = wait_for(limit, from, lost, [&] {
            low = get(at), high = get(at + sizeof(u64));
            return low >> 32 == turn && high >> 32 == turn;
        });
        return is_there ? __longlong_as_double(i64(high << 32 | (low & 0xffffffffull))) : not_a_number();
    }
};

// Returns the sum of `mine` over the ranks, in their order. Not inlined: its registers would be those of every thread of the kernel.
static __device__ __noinline__ double exchange_sum(double mine, RankSum& all) {
    const u32 turn = all.turn();
    for (u64 other = 0; other < all.ranks; other++) {
        if (other != all.rank) all.send(turn, other, 0, mine);
    }
    double sum = 0;
    for (u64 from = 0; from < all.ranks; from++) {
        double term = from == all.rank ? mine : all.receive(turn, from, 0);
        sum = from == 0 ? term : sum + term;
    }
    all.epoch = turn;
    return sum;
}

// Ends a reduction as grid_sum, over all ranks if `ranks`, a RankSum, is not null.
template <int THREADS>
INLINE bool grid_sum_of_ranks(double part, double* partials, u32* ticket, const u64* ranks, double& total) {
    // Other data has pushed the line out of the L2 since the last sum; it comes back while the block adds.
    auto fetch = [&] {
        if (ranks != nullptr && threadIdx.x == THREADS - 1) asm volatile("prefetch.global.L2 [%0];" ::"l"(ranks));
    };
    if (!grid_sum<THREADS>(part, partials, ticket, total, fetch)) return false;
    if (ranks != nullptr) total = exchange_sum(total, *(RankSum*)ranks);
    return true;
}

// A piece of a message: `count` values from place `first` of the send list, or of the ghosts; the address of the values and of the
// flag for even epochs; the bytes from there to those for odd epochs; the other rank. For a receive the addresses are this rank's.
struct Piece {
    u64 first, count, values, values_stride, flag, flag_stride, rank;
};
// Values of a piece per thread of a block of 256.
constexpr int EACH = 4;

INLINE void raise(u64 flag, u32 value) { asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory"); }

// The exchange of a map's ghosts by peer memory. `epoch` counts exchanges, `done` the blocks of send_ghosts that have sent. `flags` is
// the address of u32 [2][receives] in this rank's window, by parity; item `owned + k` of a vector is values[k], values_stride bytes
// further in odd epochs.
struct Exchange {
    u64 epoch, done, owned, limit, lost, receives, receive_pieces, flags, values, values_stride, sends, send_pieces, list;

    __device__ u32 last_turn() const { return u32(*(const volatile u64*)&epoch); }

    // Stores the items of x that other ranks read into their windows, piece by piece, by all threads of a block of 256; the pieces are
    // dealt to the blocks. Inlined: a call before the rows makes the compiler give them fewer loads in flight.
    __device__ __forceinline__ void send(u32 turn, const double* x) const {
        const u32 odd = turn & 1;
        for (u64 at = blockIdx.x; at < sends; at += gridDim.x) {
            const Piece piece = ((const Piece*)send_pieces)[at];
            const u32* items = (const u32*)list + piece.first;
            double* to = (double*)(piece.values + odd * piece.values_stride);
            // All loads of a thread are in flight together.
            u32 item[EACH];
            double value[EACH];
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                u64 k = threadIdx.x + e * blockDim.x;
                item[e] = k < piece.count ? __ldg(items + k) : 0;
            }
#pragma unroll
            for (int e = 0; e < EACH; e++) value[e] = __ldcg(x + item[e]);
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                u64 k = threadIdx.x + e * blockDim.x;
                if (k < piece.count) to[k] = value[e];
            }
            // The flag is released after the values of all threads of the block, which the barrier orders before it.
            __syncthreads();
            if (threadIdx.x == 0) raise(piece.flag + odd * piece.flag_stride, turn);
        }
    }

    // Waits for a piece. Returns whether it came.
    __device__ __forceinline__ bool wait_piece(u32 turn, u64 at) const {
        u64 flag = flags + sizeof(u32) * ((turn & 1) * receives + at);
        if (seen(flag) == turn) return true;
        u64 rank = ((const Piece*)receive_pieces)[at].rank;
        return wait_for(limit, rank, lost, [&] { return seen(flag) == turn; });
    }

    // All threads of a block wait for all pieces. Returns an address p such that p[owned] is the first ghost.
    __device__ __forceinline__ const double* wait(u32 turn) const {
        for (u64 at = threadIdx.x; at < receives; at += blockDim.x) wait_piece(turn, at);
        __syncthreads();
        return (const double*)(values + (turn & 1) * values_stride) - owned;
    }
};

// A vector whose ghosts lie elsewhere.
struct Split {
    const double *own, *ghosts;
    u64 owned;
    __device__ __forceinline__ double operator[](u32 item) const { return __ldca((item < owned ? own : ghosts) + item); }
};
// A vector in one piece that no one writes.
struct Whole {
    const double* own;
    __device__ __forceinline__ double operator[](u32 item) const { return __ldg(own + item); }
};
