// Checks a result in device memory; launched by src/contraction/cuda/check.rs.
//
// faults[0] counts outputs that are not a number, faults[1] chosen outputs, at `places`, that are not within `bounds` of
// `values`. Bytes: each output once, 24 per entry.

constexpr int THREADS = 256;

template <class T>
INLINE void compare(u64 outputs, u64 entries, const T* found, const u64* places, const double* values, const double* bounds, u64* faults) {
    u64 bad = 0, off = 0;
    for (u64 i = thread_index(); i < outputs; i += thread_count()) bad += found[i] != found[i];
    for (u64 i = thread_index(); i < entries; i += thread_count()) {
        off += !(fabs(double(found[places[i]]) - values[i]) <= bounds[i]);
    }
    if (bad > 0) atomicAdd(faults, bad);
    if (off > 0) atomicAdd(faults + 1, off);
}

KERNEL __launch_bounds__(THREADS) look_f32(u64 outputs, u64 entries, const float* found, const u64* places, const double* values,
                                           const double* bounds, u64* faults) {
    compare(outputs, entries, found, places, values, bounds, faults);
}
KERNEL __launch_bounds__(THREADS) look_f64(u64 outputs, u64 entries, const double* found, const u64* places, const double* values,
                                           const double* bounds, u64* faults) {
    compare(outputs, entries, found, places, values, bounds, faults);
}
