// The Jacobian of any equation times a vector, and its residual, by elements; twin of src/fill/host/operator.rs and
// src/element/product.rs. The text in front of apply_point.cuh states the equation and
//     Statement       the equation's struct, whose numbers are `parameters`
//     NODES, POINTS, DOFS, HAS_SLOPES, HAS_DERIVATIVE, TANGENT (the derivative depends on u)
//     EDGE            nodes along an edge of an element that is done axis by axis, else 0
//     GROUP           elements per block; 0: one thread per element
//
//     y_i += sum_p w det J sum_k g_k(m) (inverse^T flux, source)_k      g = (reference gradient of phi, phi) at point p
//
// One thread per element where its numbers fit registers. Otherwise a block takes GROUP elements: threads take places of an element,
// a point or a node, and pass numbers through shared memory. With EDGE, three passes along the axes lead to the points and three back
// (sum factorisation): 27 products per field and point of hex27 instead of 108.

// Adds J(u) v of the elements to y, or stores their vectors if `vectors` is not null; or the residual at v. Nothing once *stop is not 0.
#define APPLY(NAME, RESIDUAL)                                                                                              \
    KERNEL __launch_bounds__(THREADS)                                                                                      \
        NAME(u64 elems, u64 owned, const u32* elem_node, const double* node_coord, const u8* fixed, const double* v,       \
             const double* u, const double* parameters, const double* from, const double* stop, double* y,                 \
             double* vectors) {                                                                                            \
        if (is_stopped(stop)) return;                                                                                      \
        apply<RESIDUAL>({elem_node, node_coord, fixed, v, u}, parameters, from, {elems, owned, y, vectors});               \
    }
APPLY(apply_jacobian, false)
APPLY(apply_residual, true)

// y = x at fixed rows, 0 at the others; 0 at all without x.
KERNEL __launch_bounds__(THREADS) apply_begin(u64 rows, const u8* fixed, const double* x, const double* stop, double* y) {
    if (is_stopped(stop)) return;
    u64 row = thread_index();
    if (row < rows) y[row] = x != nullptr && __ldg(fixed + row) != 0 ? x[row] : 0;
}

// Each row sums its stored terms, elements ascending; fixed rows as in apply_begin.
KERNEL __launch_bounds__(THREADS)
    apply_gather(u64 rows, u64 elems, const u64* row_map, const u32* slots, const u8* fixed, const double* x,
                 const double* vectors, const double* stop, double* y) {
    if (is_stopped(stop)) return;
    u64 row = thread_index(), node = row / DOFS;
    if (row >= rows) return;
    double sum = 0;
    if (__ldg(fixed + row) != 0) {
        sum = x != nullptr ? x[row] : 0;
    } else {
        for (u64 i = __ldg(row_map + node), end = __ldg(row_map + node + 1); i < end; i++) {
            u32 slot = __ldg(slots + i);
            sum += __ldcs(vectors + u64(DOFS * (slot % NODES) + row % DOFS) * elems + slot / NODES);
        }
    }
    y[row] = sum;
}
