// Halo exchanges and sums over ranks; the transports of src/comm/cuda.
//
// Peer memory. Every rank has a window that the other GPUs of its host write by plain stores. Values are followed by a flag, which
// holds the epoch of the exchange: epochs count exchanges, in device memory, so that a replayed CUDA graph counts on. Values and
// flags have two places, for even and odd epochs. A rank overwrites a place two epochs later; by then its neighbour has sent epoch
// + 1, which it does only after it has read the place. Neighbours therefore raise flags in both directions, also for no values.

constexpr int THREADS = 256;

// buffer[k] = x[send[k]]. Reads 4 bytes of list per value, and x by lines that the ghosts of a face share.
// One contiguous buffer makes one copy to the host per exchange.
KERNEL __launch_bounds__(THREADS) pack(u64 count, const u32* send, const double* x, double* buffer) {
    for (u64 k = thread_index(); k < count; k += thread_count()) buffer[k] = x[send[k]];
}

INLINE void raise(u64 flag, u32 value) { asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory"); }
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

// Waits until is_there() holds, at most `limit` nanoseconds. A rank that does not answer is written to *lost, plus 1; once a rank
// is lost, nothing waits any more.
template <class IsThere> INLINE bool wait_for(u64 limit, u32 rank, volatile u32* lost, IsThere is_there) {
    if (is_there()) return true;
    u64 start = now();
    for (u32 tries = 1;; tries++) {
        if (is_there()) return true;
        if (tries % 256 == 0 && (*lost != 0 || now() - start > limit)) {
            if (*lost == 0) *lost = rank + 1;
            __threadfence_system();
            return false;
        }
    }
}

// A piece of a message: `count` values from place `first` of the send list, or of the ghosts; the address of the values and of the
// flag for even epochs; the bytes from there to those for odd epochs; the neighbour. For a receive the addresses are this rank's.
struct Piece {
    u64 first, count, values, values_stride, flag, flag_stride, rank;
};

// Sends the pieces of this rank, then receives its ghosts: x[owned + k]. All in one launch, so that nothing waits for the
// scheduling of a second one while the GPU is busy with the product. epoch[0] counts exchanges, epoch[1] finished blocks.
KERNEL __launch_bounds__(THREADS) exchange(u64 sends, u64 receives, u64 owned, u64 limit, const u64* send_pieces,
                                           const u64* receive_pieces, const u32* send, double* x, u32* epoch, u32* lost) {
    __shared__ bool is_there;
    const u32 turn = *(volatile u32*)epoch + 1, odd = turn & 1;
    const Piece* pieces = (const Piece*)send_pieces;
    for (u64 at = blockIdx.x; at < sends; at += gridDim.x) {
        Piece piece = pieces[at];
        double* to = (double*)(piece.values + odd * piece.values_stride);
        for (u64 k = threadIdx.x; k < piece.count; k += THREADS) to[k] = __ldcg(x + __ldg(send + piece.first + k));
        // The values of all threads of the block are in the neighbour's memory before its flag is.
        __threadfence_system();
        __syncthreads();
        if (threadIdx.x == 0) raise(piece.flag + odd * piece.flag_stride, turn);
    }
    pieces = (const Piece*)receive_pieces;
    for (u64 at = blockIdx.x; at < receives; at += gridDim.x) {
        Piece piece = pieces[at];
        u64 flag = piece.flag + odd * piece.flag_stride;
        if (threadIdx.x == 0) is_there = wait_for(limit, u32(piece.rank), lost, [&] { return seen(flag) == turn; });
        __syncthreads();
        const double* from = (const double*)(piece.values + odd * piece.values_stride);
        if (is_there) {
            for (u64 k = threadIdx.x; k < piece.count; k += THREADS) x[owned + piece.first + k] = __ldcg(from + k);
        }
        __syncthreads();
    }
    // The last block ends the epoch.
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicAdd(epoch + 1, 1u) == gridDim.x - 1) {
            epoch[1] = 0;
            __threadfence();
            epoch[0] = turn;
        }
    }
}

// A number of a sum travels as two words of 8 bytes, each with the epoch in its upper half: a word is one access, so no flag and no
// fence are needed.
INLINE void put(u64 to, u64 word) { asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(word) : "memory"); }
INLINE u64 get(u64 from) {
    u64 word;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    return word;
}

// scalars[first + s] = sum over the ranks, in their order, for s in 0..count; nothing once *stop is not 0. One block.
//
// peers[rank] is the address of that rank's slots in this process: [parity][from][MOST][2] words of 8 bytes. A sum that lacks a
// rank is NaN.
constexpr u32 MOST = 16, MOST_RANKS = 16;
KERNEL __launch_bounds__(THREADS) sum_peers(u32 ranks, u32 rank, u32 first, u32 count, u64 limit, const u64* peers,
                                            const double* stop, u32* epoch, u32* lost, double* scalars) {
    __shared__ double terms[MOST_RANKS][MOST];
    if (is_stopped(stop)) return;
    const u32 turn = *(volatile u32*)epoch + 1;
    const u64 parity = u64(turn & 1) * ranks, tag = u64(turn) << 32;
    auto slot = [&](u32 of, u32 from, u32 s) { return __ldg(peers + of) + (((parity + from) * MOST + s) * 2) * sizeof(u64); };
    const u32 other = threadIdx.x / MOST, s = threadIdx.x % MOST;
    if (other < ranks && s < count) {
        u64 bits = u64(__double_as_longlong(__ldcg(scalars + first + s))), to = slot(other, rank, s);
        put(to, tag | (bits & 0xffffffffull));
        put(to + sizeof(u64), tag | bits >> 32);
        u64 from = slot(rank, other, s), low, high;
        bool is_there = wait_for(limit, other, lost, [&] {
            low = get(from), high = get(from + sizeof(u64));
            return low >> 32 == turn && high >> 32 == turn;
        });
        terms[other][s] = is_there ? __longlong_as_double(i64(high << 32 | (low & 0xffffffffull))) : not_a_number();
    }
    __syncthreads();
    if (threadIdx.x < count) {
        double sum = terms[0][threadIdx.x];
        for (u32 from = 1; from < ranks; from++) sum += terms[from][threadIdx.x];
        scalars[first + threadIdx.x] = sum;
    }
    if (threadIdx.x == 0) *epoch = turn;
}

// scalars[first + s] = sum over the ranks, in their order, of gathered[rank * count + s]; nothing once *stop is not 0.
KERNEL __launch_bounds__(THREADS) sum_gathered(u32 ranks, u32 first, u32 count, const double* gathered, const double* stop,
                                               double* scalars) {
    u32 s = u32(thread_index());
    if (s >= count || is_stopped(stop)) return;
    double sum = gathered[s];
    for (u32 from = 1; from < ranks; from++) sum += gathered[from * count + s];
    scalars[first + s] = sum;
}
