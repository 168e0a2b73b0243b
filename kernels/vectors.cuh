// Loop over vectors in pairs of doubles, for kernels of one launch size.

constexpr int THREADS = 256;

// Calls f(i) for each i below n, neighbouring threads on neighbouring items; pairs come as one call of f2(pair).
template <class F2, class F> INLINE void for_pairs(u64 n, F2 f2, F f) {
    for (u64 pair = thread_index(); pair < n / 2; pair += thread_count()) f2(pair);
    if (n % 2 == 1 && thread_index() == 0) f(n - 1);
}
// The same, from the last pair to the first.
template <class F2, class F> INLINE void for_pairs_from_end(u64 n, F2 f2, F f) {
    for (u64 done = thread_index(); done < n / 2; done += thread_count()) f2(n / 2 - 1 - done);
    if (n % 2 == 1 && thread_index() == 0) f(n - 1);
}
