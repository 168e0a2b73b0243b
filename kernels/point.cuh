// Shared by the kernels of an equation: tables in shared memory, and coefficients of (grad phi, phi) at a point. The text in front states NODES,
// POINTS and DOFS.

constexpr int TERMS = 4, DIM = 3, ROWS = NODES * DOFS, THREADS = 128;

using Point = Array<double, DIM>;
using Fields = Array<Field<double>, DOFS>;

// (reference gradient of phi, phi) of COLUMNS functions at the points, then the weights of the points; the same in memory.
template <int COLUMNS> struct Basis {
    double basis[POINTS][COLUMNS][TERMS];
    double weights[POINTS];
};

// Copies numbers to shared memory, by all threads of a block.
template <class T> INLINE void load_tables(T& tables, const double* from) {
    for (u32 i = threadIdx.x; i < sizeof(T) / sizeof(double); i += blockDim.x) ((double*)&tables)[i] = __ldg(from + i);
    __syncthreads();
}

// Hides p from the compiler, so that values are reloaded from shared memory instead of kept in registers.
INLINE int read_again(int p) {
    asm volatile("" : "+r"(p));
    return p;
}

// Returns the determinant of a Jacobian, columns[b][a] = d x_a / d xi_b, and its inverse times the determinant.
INLINE double determinant_inverse(const double (&columns)[DIM][DIM], double (&inverse)[DIM][DIM]) {
    cross(columns[1], columns[2], inverse[0]);
    cross(columns[2], columns[0], inverse[1]);
    cross(columns[0], columns[1], inverse[2]);
    return columns[0][0] * inverse[0][0] + columns[0][1] * inverse[0][1] + columns[0][2] * inverse[0][2];
}

// out = the coefficients of (reference gradient of phi, phi): scale inverse^T flux, measure source.
INLINE void integrand(const Weak<double>& weak, const double (&inverse)[DIM][DIM], double scale, double measure, double (&out)[TERMS]) {
    const auto& flux = weak.flux;
#pragma unroll
    for (int b = 0; b < DIM; b++) {
        out[b] = scale * (inverse[b][0] * flux[0] + inverse[b][1] * flux[1] + inverse[b][2] * flux[2]);
    }
    out[DIM] = measure * weak.source;
}
