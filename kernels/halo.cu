// Halo exchanges and sums over ranks; the transports of src/comm/cuda. What kernels of other files do with other GPUs is in ranks.cuh.
//
// Peer memory. Every rank has a window that the other GPUs of its host write by plain stores. The values of an exchange are followed
// by flags, which hold its epoch. Values and flags have two places, for even and odd epochs. A rank overwrites a place two epochs
// later; by then its neighbour has sent the epoch between, which it does only after it has read the place. Neighbours therefore
// raise flags in both directions, also for no values.

constexpr int THREADS = 256;

// buffer[k] = x[send[k]]. Reads 4 bytes of list per value, and x by lines that the ghosts of a face share.
// One contiguous buffer makes one copy to the host per exchange.
KERNEL __launch_bounds__(THREADS) pack(u64 count, const u32* send, const double* x, double* buffer) {
    for (u64 k = thread_index(); k < count; k += thread_count()) buffer[k] = x[send[k]];
}

// x[first + k] = buffer[k]
KERNEL __launch_bounds__(THREADS) unpack(u64 count, u64 first, const double* buffer, double* x) {
    for (u64 k = thread_index(); k < count; k += thread_count()) x[first + k] = buffer[k];
}

// Stores the values that the neighbours read into their windows and begins an exchange.
KERNEL __launch_bounds__(THREADS) send_ghosts(u64* exchange, const double* x) {
    Exchange& halo = *(Exchange*)exchange;
    const u32 turn = halo.last_turn() + 1;
    halo.send(turn, x);
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicAdd(&halo.done, 1ull) == gridDim.x - 1) {
            halo.done = 0;
            __threadfence();
            halo.epoch = turn;
        }
    }
}

// x[owned + k] = ghost k, when it has arrived; without x, waits only.
KERNEL __launch_bounds__(THREADS) receive_ghosts(const u64* exchange, double* x) {
    const Exchange& halo = *(const Exchange*)exchange;
    __shared__ bool is_there;
    const u32 turn = halo.last_turn(), odd = turn & 1;
    for (u64 at = blockIdx.x; at < halo.receives; at += gridDim.x) {
        const Piece piece = ((const Piece*)halo.receive_pieces)[at];
        if (threadIdx.x == 0) is_there = halo.wait_piece(turn, at);
        __syncthreads();
        const double* from = (const double*)(piece.values + odd * piece.values_stride);
        if (is_there && x != nullptr) {
            for (u64 k = threadIdx.x; k < piece.count; k += THREADS) x[halo.owned + piece.first + k] = __ldcg(from + k);
        }
        __syncthreads();
    }
}

// scalars[first + s] = sum over the ranks, in their order, for s in 0..count; nothing once *stop is not 0. One block.
KERNEL __launch_bounds__(THREADS) sum_peers(u32 first, u32 count, u64* ranks, const double* stop, double* scalars) {
    __shared__ double terms[MOST_RANKS][MOST_SUMS];
    if (is_stopped(stop)) return;
    RankSum& all = *(RankSum*)ranks;
    const u32 turn = all.turn(), other = threadIdx.x / MOST_SUMS, s = threadIdx.x % MOST_SUMS;
    if (other < all.ranks && s < count) {
        double mine = __ldcg(scalars + first + s);
        if (other != all.rank) all.send(turn, other, s, mine);
        terms[other][s] = other == all.rank ? mine : all.receive(turn, other, s);
    }
    __syncthreads();
    if (threadIdx.x < count) {
        double sum = terms[0][threadIdx.x];
        for (u32 from = 1; from < all.ranks; from++) sum += terms[from][threadIdx.x];
        scalars[first + threadIdx.x] = sum;
    }
    if (threadIdx.x == 0) all.epoch = turn;
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
