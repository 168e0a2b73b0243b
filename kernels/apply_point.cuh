// Shared by the kernels of apply.cu: the equation at a point, inputs and outputs.

// Fields that elements read: coordinates, v, and u where it is needed.
template <bool RESIDUAL> constexpr int FIELDS = DIM + DOFS + (TANGENT && !RESIDUAL ? DOFS : 0);

using Result = Array<Weak<double>, DOFS>;

// Twin of `Equation::derivative`.
template <class E> INLINE Result derivative_of(const E& equation, const Point& x, const Fields& u, const Fields& v) {
    if constexpr (HAS_DERIVATIVE) {
        return equation.derivative(x, u, v);
    } else {
        Result sums = {};
        each_slope<DOFS, HAS_SLOPES>(equation, x, u, [&](int c, int d, const Slope<double>& slope) {
#pragma unroll
            for (int i = 0; i < TERMS; i++) {
                double sum = slope[i][DIM] * v[d].value;
#pragma unroll
                for (int j = 0; j < DIM; j++) sum += slope[i][j] * v[d].grad[j];
                if (i < DIM) sums[c].flux[i] += sum;
                else sums[c].source += sum;
            }
        });
        return sums;
    }
}

// From reference gradients and values `at[field][4]` to what is tested with (reference gradient of phi, phi), `out[c][4]`.
template <bool RESIDUAL>
INLINE void at_point(const Statement& equation, double weight, const double (&at)[FIELDS<RESIDUAL>][TERMS], double (&out)[DOFS][TERMS]) {
    // columns[b][a] = d x_a / d xi_b
    double columns[DIM][DIM], inverse[DIM][DIM];
#pragma unroll
    for (int a = 0; a < DIM; a++)
#pragma unroll
        for (int b = 0; b < DIM; b++) columns[b][a] = at[a][b];
    double determinant = determinant_inverse(columns, inverse);
    // The inverse times the determinant is at hand, so both of its uses share one division.
    double reciprocal = 1 / determinant;
    Point x = {{at[0][DIM], at[1][DIM], at[2][DIM]}};
    auto fields = [&](int first) {
        Fields of;
#pragma unroll
        for (int c = 0; c < DOFS; c++) {
            const double(&g)[TERMS] = at[first + c];
#pragma unroll
            for (int a = 0; a < DIM; a++) {
                of[c].grad[a] = reciprocal * (inverse[0][a] * g[0] + inverse[1][a] * g[1] + inverse[2][a] * g[2]);
            }
            of[c].value = g[DIM];
        }
        return of;
    };
    Fields v = fields(DIM);
    Result weak;
    if constexpr (RESIDUAL) weak = equation.weak(x, v);
    else if constexpr (TANGENT) weak = derivative_of(equation, x, fields(DIM + DOFS), v);
    else weak = derivative_of(equation, x, v, v);
    double measure = determinant * weight;
#pragma unroll
    for (int c = 0; c < DOFS; c++) integrand(weak[c], inverse, weight, measure, out[c]);
}

// What all threads read.
struct Input {
    const u32* elem_node;
    const double* node_coord;
    const u8* fixed;
    const double *v, *u;
};

// Item `field` of a node; the Jacobian's v is masked by the conditions.
template <bool RESIDUAL> INLINE double item_of(const Input& in, u64 node, int field) {
    if (field < DIM) return __ldg(in.node_coord + DIM * node + field);
    if (field >= DIM + DOFS) return __ldg(in.u + DOFS * node + field - DIM - DOFS);
    u64 row = DOFS * node + field - DIM;
    return !RESIDUAL && __ldg(in.fixed + row) != 0 ? 0 : __ldg(in.v + row);
}

// Where element vectors go: added to y without `vectors`.
struct Output {
    u64 elems, owned;
    double *y, *vectors;
};

// Component c of an element's vector at its node m.
INLINE void put(const Input& in, const Output& out, u64 elem, int m, int c, double term) {
    if (out.vectors != nullptr) {
        __stcs(out.vectors + u64(DOFS * m + c) * out.elems + elem, term);
        return;
    }
    u64 node = __ldg(in.elem_node + elem * NODES + m), row = DOFS * node + c;
    if (node >= out.owned || __ldg(in.fixed + row) != 0) return;
    atomicAdd(out.y + row, term);
}
