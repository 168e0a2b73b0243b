// Products y = A x, whatever stores A. A storage has
//
//     first(row)                       where this thread begins in the rows from `row` on
//     end(first, last)                 where a block ends in rows first..last
//     inside(interior)                 where a block ends in rows that lie below row `interior`
//     rows_of(at, end, first, last, x, each)    calls each(row, sum) for this thread's rows from `at` on, which ends at the next one
//     is_before(at, end)               whether a block has rows left at `at`; the same for all of its threads
//
// and states the order in which a row is summed.

constexpr int THREADS = 256;

typedef double f64;
typedef float f32;

// What a product with x.y reads and writes: nothing is done once *stop is not 0; the sum goes to scalars[slot].
struct Dot {
    const double* stop;
    const u64* ranks;
    double* partials;
    u32 slot;
    double* scalars;
    u32* ticket;
};

// y = A x
template <class M> INLINE void multiply(const M& a, u64 rows, const double* x, double* y) {
    auto at = a.first(0);
    a.rows_of(at, a.end(0, rows), 0, rows, Whole{x}, [&](u64 row, double sum) { y[row] = sum; });
}

// y = A x over rows first..last; scalars[slot] = x.y, added to the value of the preceding rows, or summed over all ranks if `ranks` is
// not null.
template <class M> INLINE void multiply_dot(const M& a, u64 first, u64 last, const double* x, double* y, const Dot& out) {
    if (is_stopped(out.stop)) return;
    double dot = 0, total;
    auto at = a.first(first);
    a.rows_of(at, a.end(first, last), first, last, Whole{x}, [&](u64 row, double sum) { y[row] = sum, dot += sum * __ldg(x + row); });
    if (grid_sum_of_ranks<THREADS>(dot, out.partials, out.ticket, out.ranks, total)) {
        out.scalars[out.slot] = first == 0 ? total : out.scalars[out.slot] + total;
    }
}

// The same over all rows, with an exchange of the ghosts of x, which the rows from `interior` on read: sends, computes the other rows,
// waits. The sum has the same bits. All ranks stop at the same product, so a stopped one exchanges nothing.
template <class M>
INLINE void multiply_dot_exchanging(const M& a, u64 interior, u64 rows, u64* exchange, const double* x, double* y, const Dot& out) {
    if (is_stopped(out.stop)) return;
    Exchange& halo = *(Exchange*)exchange;
    halo.send(halo.last_turn() + 1, x);
    double dot = 0, total;
    auto each = [&](u64 row, double sum) { y[row] = sum, dot += sum * __ldg(x + row); };
    auto at = a.first(0);
    const auto end = a.end(0, rows);
    a.rows_of(at, a.inside(interior), 0, rows, Whole{x}, each);
    if (a.is_before(at, end)) {
        Split split{x, halo.wait(halo.last_turn() + 1), halo.owned};
        a.rows_of(at, end, 0, rows, split, each);
    }
    if (grid_sum_of_ranks<THREADS>(dot, out.partials, out.ticket, out.ranks, total)) {
        out.scalars[out.slot] = total;
        halo.epoch += 1;
    }
}

// The kernels of a storage: names, blocks per multiprocessor, the storage, its parameters.
#define PRODUCTS(PLAIN, DOT, EXCHANGING, BLOCKS, STORAGE, ...)                                                               \
    KERNEL __launch_bounds__(THREADS, BLOCKS) PLAIN(u64 rows, __VA_ARGS__, const double* x, double* y) {                     \
        multiply(STORAGE, rows, x, y);                                                                                       \
    }                                                                                                                        \
    KERNEL __launch_bounds__(THREADS, BLOCKS)                                                                                \
        DOT(u64 first, u64 last, __VA_ARGS__, const double* x, double* y, const double* stop, const u64* ranks,              \
            double* partials, u32 slot, double* scalars, u32* ticket) {                                                      \
        multiply_dot(STORAGE, first, last, x, y, {stop, ranks, partials, slot, scalars, ticket});                            \
    }                                                                                                                        \
    KERNEL __launch_bounds__(THREADS, BLOCKS)                                                                                \
        EXCHANGING(u64 interior, u64 rows, __VA_ARGS__, u64* exchange, const double* x, double* y, const double* stop,       \
                   const u64* ranks, double* partials, u32 slot, double* scalars, u32* ticket) {                             \
        multiply_dot_exchanging(STORAGE, interior, rows, exchange, x, y, {stop, ranks, partials, slot, scalars, ticket});    \
    }
