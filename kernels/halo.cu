// Packing of a halo exchange; twin of `pack` in src/comm/host.rs.

constexpr int THREADS = 256;

// buffer[k] = x[send[k]]. Reads 4 bytes of list per value, and x by lines that the ghosts of a face share.
// One contiguous buffer makes one copy to the host per exchange.
KERNEL __launch_bounds__(THREADS) pack(u64 count, const u32* send, const double* x, double* buffer) {
    for (u64 k = thread_index(); k < count; k += thread_count()) buffer[k] = x[send[k]];
}
