//! What takes the place of CUDA where the compiler of the host compiles kernels: a prelude, a warp of threads, and programs around them.

pub const PRELUDE: &str = r#"
#include <math.h>
#include <stdio.h>
#include <vector>
#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define KERNEL static void
#define INLINE static inline
typedef unsigned int u32;
typedef unsigned long long u64;
struct { u32 x; } blockIdx, blockDim = {1}, threadIdx;
static u64 thread_index() { return blockIdx.x; }
static void __syncthreads() {}
template <class T> static T least(T a, T b) { return b < a ? b : a; }
template <class T> static T __ldg(const T* from) { return *from; }
static void __stcs(double* to, double value) { *to = value; }
static void cross(const double (&a)[3], const double (&b)[3], double (&out)[3]) {
    for (int k = 0; k < 3; k++) out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}
"#;
/// A warp; blocks have one.
pub const WARP: &str = r#"
#include <barrier>
#include <math.h>
#include <stdio.h>
#include <thread>
#include <vector>
#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define KERNEL static void
#define INLINE static inline
typedef unsigned int u32;
typedef unsigned long long u64;
constexpr u32 ALL_LANES = ~0u;
constexpr int WARP = 32;
struct Index { u32 x; };
struct uint2 { u32 x, y; };
struct double2 { double x, y; };
static thread_local Index threadIdx;
static Index blockIdx, blockDim = {WARP}, gridDim = {2};
static std::barrier<> all(WARP);
static double lanes[2][WARP][2];
static u32 lane_index() { return threadIdx.x; }
static u64 thread_index() { return blockIdx.x * WARP + threadIdx.x; }
static u64 thread_count() { return gridDim.x * WARP; }
static void __syncthreads() { all.arrive_and_wait(); }
template <class T> static T least(T a, T b) { return b < a ? b : a; }
template <class T> static T __ldg(const T* from) { return *from; }
template <class T> static void __stcs(T* to, T value) { *to = value; }
static double __shfl_xor_sync(u32, double value, int across) {
    lanes[0][lane_index()][0] = value;
    all.arrive_and_wait();
    double found = lanes[0][lane_index() ^ across][0];
    all.arrive_and_wait();
    return found;
}
// Rows of a, columns of b: lane 4 g + t has terms t and t + 4 of the g-th one, and the outputs (g, 2 t) and (g, 2 t + 1).
static void product(double (&c)[2], const double* a, const double* b, int count) {
    u32 lane = lane_index();
    for (int v = 0; v < count; v++) lanes[0][lane][v] = a[v], lanes[1][lane][v] = b[v];
    all.arrive_and_wait();
    for (int j = 0; j < 2; j++) {
        for (int k = 0; k < 4 * count; k++) {
            c[j] += lanes[0][lane / 4 * 4 + k % 4][k / 4] * lanes[1][(lane % 4 * 2 + j) * 4 + k % 4][k / 4];
        }
    }
    all.arrive_and_wait();
}
static void multiply(double (&c)[2], double (&d)[2], const double (&a)[2], const double (&e)[2], const double (&b)[2]) {
    product(c, a, b, 2), product(d, e, b, 2);
}
static void multiply_half(double (&c)[2], double (&d)[2], double a, double e, double b) { product(c, &a, &b, 1), product(d, &e, &b, 1); }
"#;
pub const WARP_MAIN: &str = r#"
int main() {
    auto numbers = [](size_t count) {
        std::vector<double> all(count);
        if (fread(all.data(), 8, count, stdin) != count) all.clear();
        return all;
    };
    std::vector<double> nodes = numbers(COUNT * NODES), coords = numbers(COUNT * NODES * AXES), solution = numbers(COUNT * NODES);
    std::vector<double> parameters = numbers(PARAMETERS);
    std::vector<u32> elem_node(nodes.begin(), nodes.end());
    std::vector<double> matrices(NODES * NODES * CAPACITY, NAN), residuals(NODES * CAPACITY, NAN);
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {
        std::vector<std::thread> lanes;
        for (u32 lane = 0; lane < WARP; lane++) {
            lanes.emplace_back([&, lane] {
                threadIdx.x = lane;
                contract_equation(COUNT, BEFORE, CAPACITY, elem_node.data(), coords.data(), solution.data(), parameters.data(),
                                  matrices.data(), residuals.data());
            });
        }
        for (auto& lane : lanes) lane.join();
    }
    fwrite(matrices.data(), 8, matrices.size(), stdout);
    fwrite(residuals.data(), 8, residuals.size(), stdout);
}
"#;
/// The approximate reciprocal of a GPU, and one for a host.
pub const RECIPROCAL: [&str; 2] = [r#"asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));"#, "r = float(1 / x);"];
pub const MAIN: &str = r#"
static std::vector<double> numbers(size_t count) {
    std::vector<double> all(count);
    if (fread(all.data(), 8, count, stdin) != count) all.clear();
    return all;
}
int main() {
    std::vector<double> nodes = numbers(COUNT * NODES), coords = numbers(COUNT * NODES * DIM);
    std::vector<double> solution = numbers(COUNT * ROWS), parameters = numbers(PARAMETERS);
    std::vector<double> tables = numbers(NUMBERS), values[GIVEN + 1];
    Given given = {};
    for (int k = 0; k < GIVEN; k++) {
        const auto& [size, place, stride, first] = FIELDS[k];
        values[k] = numbers(size);
        given.field[k] = {values[k].data(), u32(place), u32(stride), first};
    }
    std::vector<u32> elem_node(nodes.begin(), nodes.end());
    const double* from = tables.data();
    std::vector<double> matrices(ROWS * ROWS * CAPACITY, NAN), residuals(ROWS * CAPACITY, NAN);
#if FUSED
    for (blockIdx.x = 0; blockIdx.x < COUNT + 1; blockIdx.x++) {
        store_equation(COUNT, BEFORE, CAPACITY, elem_node.data(), coords.data(), solution.data(), parameters.data(), given,
                       from, matrices.data(), residuals.data());
    }
#else
    u64 cells = COUNT + 1;
    std::vector<double> work(cells * ITEMS * POINTS, NAN);
    for (blockIdx.x = 0; blockIdx.x < COUNT / GROUP + 2; blockIdx.x++) {
        equation_points(COUNT, cells, elem_node.data(), coords.data(), solution.data(), parameters.data(), given, from,
                        work.data());
    }
    for (blockIdx.x = 0; blockIdx.x < TILES + DOFS; blockIdx.x++) {
        for (threadIdx.x = 0; threadIdx.x < THREADS; threadIdx.x++) {
            equation_tiles(COUNT, cells, BEFORE, CAPACITY, from, work.data(), matrices.data(), residuals.data());
        }
    }
#endif
    fwrite(matrices.data(), 8, matrices.size(), stdout);
    fwrite(residuals.data(), 8, residuals.size(), stdout);
}
"#;
