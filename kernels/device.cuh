// Runtime of translated Rust functions: arrays that are values, numbers with derivatives, functions of numbers.

template <class T, int N> struct Array {
    T item[N];
    __device__ __forceinline__ constexpr T& operator[](int i) { return item[i]; }
    __device__ __forceinline__ constexpr const T& operator[](int i) const { return item[i]; }
};
template <class T> struct Array<T, 0> {};
// [a, b, ...]
template <class T, class... R> INLINE constexpr Array<T, 1 + sizeof...(R)> array(T first, R... rest) { return {{first, T(rest)...}}; }
// [value; N]
template <int N, class T> INLINE constexpr Array<T, N> repeat(T value) {
    Array<T, N> all = {};
#pragma unroll
    for (int i = 0; i < N; i++) all[i] = value;
    return all;
}
template <class T, int N> __device__ T item_of(const Array<T, N>& of);
// array.map(f)
template <class T, int N, class F> INLINE auto map(const Array<T, N>& of, F f) {
    Array<decltype(f(of[0])), N> all;
#pragma unroll
    for (int i = 0; i < N; i++) all[i] = f(of[i]);
    return all;
}
// array::from_fn(f): becomes an array of the length that is asked for.
template <class F> struct FromFn {
    F f;
    template <class T, int N> __device__ __forceinline__ operator Array<T, N>() const {
        Array<T, N> all;
#pragma unroll
        for (int i = 0; i < N; i++) all[i] = f(i);
        return all;
    }
};
template <class F> INLINE FromFn<F> from_fn(F f) { return {f}; }

// A component of the unknown at a point, and what is tested with grad phi and phi; twins of src/element/equations/weak.rs.
template <class N> struct Field {
    Array<N, 3> grad;
    N value;
};
template <class N> struct Weak {
    Array<N, 3> flux;
    N source;
};
// `Point` of the host: coordinates, unit normal of an element of the boundary, given fields.
template <class N, int K> struct QuadraturePoint {
    Array<N, 3> x, normal;
    Array<Field<N>, K> given;
};
template <class N> __device__ Field(Array<N, 3>, N) -> Field<N>;
template <class F, class N> __device__ Field(FromFn<F>, N) -> Field<N>;
template <class N> __device__ Weak(Array<N, 3>, N) -> Weak<N>;
template <class F, class N> __device__ Weak(FromFn<F>, N) -> Weak<N>;
// d (flux, source) / d (gradient, value).
template <class N> using Slope = Array<Array<N, 4>, 4>;

template <class N> INLINE N times_plus(N a, N b, N c) { return a * b + c; }
INLINE double times_plus(double a, double b, double c) { return fma(a, b, c); }
template <class N> INLINE N recip(N a) { return N(1) / a; }
INLINE bool opposite(bool a) { return !a; }
// `!` of a number is another operation in Rust.
template <class T> bool opposite(T) = delete;
template <class T> INLINE T magnitude(T a) { return a < T(0) ? -a : a; }
INLINE double magnitude(double a) { return fabs(a); }
INLINE double signum(double a) { return copysign(1.0, a); }
template <class T> INLINE T smaller(T a, T b) { return b < a ? b : a; }
template <class T> INLINE T larger(T a, T b) { return a < b ? b : a; }
INLINE double smaller(double a, double b) { return fmin(a, b); }
INLINE double larger(double a, double b) { return fmax(a, b); }
INLINE double choose(double lead, double a, double b) { return lead >= 0 ? a : b; }
template <class N> INLINE N powi(N a, int n) {
    N power = N(1);
    for (int i = n < 0 ? -n : n; i > 0; i--) power = power * a;
    return n < 0 ? recip(power) : power;
}

// A number and its derivatives by the gradient and the value of one component; twin of src/element/equations/dual.rs.
struct Dual {
    double value, slopes[4];
    Dual() = default;
    __device__ __forceinline__ Dual(double constant) : value(constant), slopes{0, 0, 0, 0} {}
    static __device__ __forceinline__ Dual variable(double value, int which) {
        Dual x(value);
        x.slopes[which] = 1;
        return x;
    }
    // f(x) from f and its derivative at the value.
    __device__ __forceinline__ Dual chain(double f, double derivative) const {
        Dual y(f);
#pragma unroll
        for (int i = 0; i < 4; i++) y.slopes[i] = derivative * slopes[i];
        return y;
    }
    // A value whose slopes are a times those of this number plus b times those of another.
    __device__ __forceinline__ Dual combine(double of, double a, const Dual& other, double b) const {
        Dual y(of);
#pragma unroll
        for (int i = 0; i < 4; i++) y.slopes[i] = a * slopes[i] + b * other.slopes[i];
        return y;
    }
};
INLINE Dual operator+(const Dual& a, const Dual& b) { return a.combine(a.value + b.value, 1, b, 1); }
INLINE Dual operator-(const Dual& a, const Dual& b) { return a.combine(a.value - b.value, 1, b, -1); }
INLINE Dual operator-(const Dual& a) { return a.chain(-a.value, -1); }
INLINE Dual operator*(const Dual& a, const Dual& b) { return a.combine(a.value * b.value, b.value, b, a.value); }
INLINE Dual operator/(const Dual& a, const Dual& b) {
    double reciprocal = 1 / b.value;
    Dual y(a.value * reciprocal);
#pragma unroll
    for (int i = 0; i < 4; i++) y.slopes[i] = (a.slopes[i] - y.value * b.slopes[i]) * reciprocal;
    return y;
}
INLINE Dual& operator+=(Dual& a, const Dual& b) { return a = a + b; }
INLINE Dual& operator-=(Dual& a, const Dual& b) { return a = a - b; }
INLINE Dual& operator*=(Dual& a, const Dual& b) { return a = a * b; }
INLINE Dual& operator/=(Dual& a, const Dual& b) { return a = a / b; }
INLINE Dual sqrt(const Dual& a) { double root = sqrt(a.value); return a.chain(root, 0.5 / root); }
INLINE Dual exp(const Dual& a) { double power = exp(a.value); return a.chain(power, power); }
INLINE Dual log(const Dual& a) { return a.chain(log(a.value), 1 / a.value); }
INLINE Dual sin(const Dual& a) { return a.chain(sin(a.value), cos(a.value)); }
INLINE Dual cos(const Dual& a) { return a.chain(cos(a.value), -sin(a.value)); }
INLINE Dual tanh(const Dual& a) { double f = tanh(a.value); return a.chain(f, 1 - f * f); }
INLINE Dual pow(const Dual& a, double b) { return a.chain(pow(a.value, b), b * pow(a.value, b - 1)); }
INLINE Dual magnitude(const Dual& a) { return a.chain(fabs(a.value), signum(a.value)); }
INLINE Dual signum(const Dual& a) { return Dual(signum(a.value)); }
// A NaN is neither, as for numbers without derivatives.
INLINE Dual smaller(const Dual& a, const Dual& b) { return b.value <= smaller(a.value, b.value) ? b : a; }
INLINE Dual larger(const Dual& a, const Dual& b) { return a.value >= larger(a.value, b.value) ? a : b; }
INLINE Dual choose(const Dual& lead, const Dual& a, const Dual& b) { return lead.value >= 0 ? a : b; }

// Coordinates, or a point, without derivatives.
INLINE Array<Dual, 3> without_slopes(const Array<double, 3>& x) { return {{Dual(x[0]), Dual(x[1]), Dual(x[2])}}; }
template <int K> INLINE QuadraturePoint<Dual, K> without_slopes(const QuadraturePoint<double, K>& at) {
    QuadraturePoint<Dual, K> point = {without_slopes(at.x), without_slopes(at.normal), {}};
#pragma unroll
    for (int k = 0; k < K; k++) {
        if constexpr (K > 0) point.given[k] = {without_slopes(at.given[k].grad), Dual(at.given[k].value)};
    }
    return point;
}

// Calls put(c, d, slope) for the derivative of component c by component d at a point, by hand if the equation states it, else by
// dual numbers: one evaluation per component. Twin of `Equation::slopes`, and of `EquationAt::slopes`.
template <int D, bool BY_HAND, class E, class At, class Put>
INLINE void each_slope(const E& equation, const At& at, const Array<Field<double>, D>& u, Put put) {
    if constexpr (BY_HAND) {
        auto slopes = equation.slopes(at, u);
#pragma unroll
        for (int c = 0; c < D; c++)
#pragma unroll
            for (int d = 0; d < D; d++) put(c, d, slopes[c][d]);
    } else {
        auto point = without_slopes(at);
#pragma unroll
        for (int d = 0; d < D; d++) {
            Array<Field<Dual>, D> dual;
#pragma unroll
            for (int c = 0; c < D; c++) {
#pragma unroll
                for (int axis = 0; axis < 3; axis++) {
                    dual[c].grad[axis] = c == d ? Dual::variable(u[c].grad[axis], axis) : Dual(u[c].grad[axis]);
                }
                dual[c].value = c == d ? Dual::variable(u[c].value, 3) : Dual(u[c].value);
            }
            Array<Weak<Dual>, D> weak = equation.weak(point, dual);
#pragma unroll
            for (int c = 0; c < D; c++) {
                Slope<double> slope;
#pragma unroll
                for (int j = 0; j < 4; j++) {
#pragma unroll
                    for (int i = 0; i < 3; i++) slope[i][j] = weak[c].flux[i].slopes[j];
                    slope[3][j] = weak[c].source.slopes[j];
                }
                put(c, d, slope);
            }
        }
    }
}
