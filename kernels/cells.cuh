// Slices and shared cells of translated Rust functions; twin of src/space/atomic.rs.

// &[T]: T is const for arrays that are read only, whose reads the read-only cache may serve.
template <class T> struct Slice {
    T* first;
    u64 length;
    __device__ __forceinline__ T& operator[](u64 i) const {
        if (i >= length) __trap();
        return first[i];
    }
};
template <class T> struct Slice<const T> {
    const T* first;
    u64 length;
    __device__ __forceinline__ T operator[](u64 i) const {
        if (i >= length) __trap();
        return __ldg(first + i);
    }
};

// Numbers in shared memory, which only their loop writes.
struct Scratch;
template <> struct Slice<Scratch> {
    const double* first;
    u64 length;
    __device__ __forceinline__ double operator[](u64 i) const {
        if (i >= length) __trap();
        return first[i];
    }
};

// whole[begin..end]
template <class T> INLINE Slice<T> part(Slice<T> whole, int begin, int end) {
    if (begin < 0 || begin > end || u64(end) > whole.length) __trap();
    return {whole.first + begin, u64(end - begin)};
}

INLINE void atomic_add(double& cell, double value) { atomicAdd(&cell, value); }
INLINE void atomic_add_unshared(double& cell, double value) { cell += value; }
template <class T, class V> INLINE void atomic_set(T& cell, V value) { cell = value; }
template <class T> INLINE T atomic_get(const T& cell) { return *(const volatile T*)&cell; }
INLINE unsigned atomic_fetch_add(unsigned& cell, unsigned value) { return atomicAdd(&cell, value); }
INLINE void atomic_add_by_exchange(double& cell, double value) {
    u64* bits = (u64*)&cell;
    u64 before = *(volatile u64*)bits, found;
    while ((found = atomicCAS(bits, before, __double_as_longlong(__longlong_as_double(before) + value))) != before) before = found;
}
