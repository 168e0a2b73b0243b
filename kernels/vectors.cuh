// Loops over vectors in pairs of doubles, for kernels of one launch size.

constexpr int THREADS = 256;

INLINE void put(const double*, u64, double2) {}
INLINE void put(double* to, u64 pair, double2 items) { ((double2*)to)[pair] = items; }

// Two neighbouring items of an array.
template <class T> struct Loaded {
    T* array;
    double2 item;
};
// Calls f for both items of a pair of each array, and stores those of arrays that are not const. Returns the sum of both results.
template <class F, class... T> INLINE double update(u64 pair, F f, Loaded<T>... of) {
    double first = f(of.item.x...), second = f(of.item.y...);
    (put(of.array, pair, of.item), ...);
    return first + second;
}
template <class F, class... T> INLINE double update_pair(u64 pair, F f, T*... arrays) {
    return update(pair, f, Loaded<T>{arrays, ((const double2*)arrays)[pair]}...);
}

// Calls f with the items i of all arrays, for each i below n, neighbouring threads on neighbouring pairs. Returns the sum of its results.
template <class F, class... T> INLINE double for_items(u64 n, F f, T*... arrays) {
    double sum = 0;
    for (u64 pair = thread_index(); pair < n / 2; pair += thread_count()) sum += update_pair(pair, f, arrays...);
    if (n % 2 == 1 && thread_index() == 0) sum += f(arrays[n - 1]...);
    return sum;
}
// The same, from the last pair to the first, without a sum.
template <class F, class... T> INLINE void for_items_from_end(u64 n, F f, T*... arrays) {
    for (u64 done = thread_index(); done < n / 2; done += thread_count()) update_pair(n / 2 - 1 - done, f, arrays...);
    if (n % 2 == 1 && thread_index() == 0) f(arrays[n - 1]...);
}
