//! Loops with functions of a user: the numbers of hosts, and the kernels of `kernels/loops.cu` without a GPU. There the compiler of
//! the host compiles their text, host threads are the threads of a block, and blocks run in turn. NVRTC compiles them, too.

use crate::functions::{Centroid, Doubled, Gather, Kept, Line, Listed, Moment, Sum};
use minifenl::space::cuda::Architecture;
use minifenl::space::{DeviceText, Loops, Reduction, Serial, Threads};
use std::process::{Command, Stdio};
use support::{Functions, indices_front, items_front, loop_text, reduction_front};

const DEVICE: &str = concat!(include_str!("../../../kernels/device.cuh"), include_str!("../../../kernels/cells.cuh"));
const LOOPS: &str = include_str!("../../../kernels/loops.cu");

/// Nine of ten numbers are 0.
fn sparse(n: usize) -> Vec<f64> {
    (0..n).map(|i| if (i * 7) % 10 == 3 { i as f64 + 0.5 } else { 0.0 }).collect()
}

fn check_host(space: &Threads) {
    for n in [0, 1, 15, 4095, 4096, 4097, 20_001] {
        let (x, y) = (sparse(n), vec![0.5; n + 1]);
        let (mut a, mut b) = (vec![7.0; n], vec![7.0; n + 2]);
        space.for_items(n, &Line { a: 2.0 }, [&x, &y], [&mut a, &mut b]).unwrap();
        for i in 0..n {
            let rest = if x[i] > 2.0 { x[i] - i as f64 - 7.0 } else { f64::MAX };
            assert_eq!((a[i], b[i]), (2.0 * x[i] + 0.5, rest), "{n} {i}");
        }
        assert_eq!(b[n..], [7.0; 2]);
        check_cells(space, &x);
        let last = x.iter().copied().rfind(|&x| x != 0.0).unwrap_or(0.0);
        assert_eq!(space.reduce_items(n, &Kept {}, [&x]).unwrap(), last);
        // Multiples of 1/2 add up without rounding.
        assert_eq!(space.reduce_items(n, &Sum {}, [&x]).unwrap(), x.iter().sum::<f64>());
        let mut sum = [7.0; 2];
        space.reduce_into(n, &Sum {}, [&x], &mut sum).unwrap();
        assert_eq!(sum, [x.iter().sum::<f64>(), 7.0]);
        assert!(space.reduce_into(n, &Sum {}, [&x], &mut []).unwrap_err().to_string().contains("`out`"));
        let mut expected = Moment::default();
        for i in 0..n {
            let point = [0.5 * x[i], 0.5 * i as f64, 0.5];
            expected.point.iter_mut().zip(point).for_each(|(sum, x)| *sum += x);
            expected.mass += 0.5;
        }
        assert_eq!(space.reduce_items(n, &Centroid {}, [&x, &y]).unwrap(), expected);
        let (mut kept, mut sums) = (vec![7.0; n], vec![7.0; n]);
        space.scan_items(n, &Kept {}, [&x], &mut kept).unwrap();
        space.scan_items(n, &Sum {}, [&x], &mut sums).unwrap();
        for i in 0..n {
            assert_eq!(kept[i], x[..=i].iter().copied().rev().take(10).find(|&x| x != 0.0).unwrap_or(0.0), "{n} {i}");
            assert_eq!(sums[i], x[i] + if i > 0 { sums[i - 1] } else { 0.0 }, "{n} {i}");
        }
        for error in [
            space.scan_items(n + 1, &Sum {}, [&x], &mut sums).unwrap_err(),
            space.scan_items(n + 1, &Sum {}, [&y], &mut sums).unwrap_err(),
            space.reduce_items(n + 1, &Sum {}, [&x]).unwrap_err(),
            space.for_items(n + 1, &Line { a: 2.0 }, [&y, &y], [&mut a, &mut b]).unwrap_err(),
        ] {
            assert!(error.to_string().contains("expected") && !error.to_string().contains('\n'), "{error}");
        }
    }
}

/// Reads through a list that runs backwards, and adds in three ways.
fn check_cells(space: &Threads, x: &[f64]) {
    let n = x.len();
    let list: Vec<u32> = (0..n as u32).rev().collect();
    let (mut sums, mut out) = (vec![0.5; n + 2], vec![7.0; n + 1]);
    space.for_indices(n, &Gather { factor: 2.0 }, [x], [&list], [&mut sums, &mut out]).unwrap();
    let total = 0.5 + 2.0 * x.iter().sum::<f64>();
    assert_eq!(sums[..2], [total; 2]);
    assert!((0..n).all(|i| out[i] == 2.0 * x[n - 1 - i] && sums[2 + i] == 0.5 + out[i]));
    assert_eq!(out[n], 7.0);
    space.for_indices(n, &Doubled {}, [], [], [&mut out]).unwrap();
    assert!((0..n).all(|i| out[i] == 4.0 * x[n - 1 - i]) && out[n] == 7.0);
    // Cells of u32: the second item of a pair is within the limit in the first half.
    let pairs: Vec<u32> = (0..n as u32).flat_map(|i| [2 * (n as u32), i]).collect();
    let (mut counts, mut rows) = (vec![9; n], vec![9; 2 * n]);
    space.for_indices(n, &Listed { limit: n as f64 / 2.0 }, [], [&pairs], [&mut counts, &mut rows]).unwrap();
    for i in 0..n {
        let is_within = i as f64 <= n as f64 / 2.0;
        assert_eq!((counts[i], rows[2 * i]), if is_within { (1, i as u32) } else { (0, 9) }, "{n} {i}");
    }
}

#[test]
fn hosts_join_items_in_their_order() {
    check_host(&Serial);
    check_host(&Threads::new(3).unwrap());
}

/// A struct of functions.
pub fn of<F: DeviceText>() -> Functions {
    Functions::of::<F>(F::TEXT, F::NAME)
}

const PRELUDE: &str = r#"
#include <barrier>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <thread>
#include <vector>
#define __device__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define KERNEL static void
#define INLINE static inline
#define __grid_constant__
typedef unsigned int u32;
typedef unsigned long long u64;
template <class T> static T __ldg(const T* at) { return *at; }
static void __trap() { abort(); }
static void atomicAdd(double* cell, double value) { *cell += value; }
static u32 atomicAdd(u32* cell, u32 value) { return (*cell += value) - value; }
static void __threadfence() {}
static u64 __double_as_longlong(double) { return 0; }
static double __longlong_as_double(u64) { return 0; }
static u64 atomicCAS(u64*, u64, u64) { return 0; }
struct Index { u32 x; };
static Index blockIdx, gridDim;
static thread_local Index threadIdx;
static std::barrier block(256);
static void __syncthreads() { block.arrive_and_wait(); }
static void __syncwarp() { block.arrive_and_wait(); }
static u64 thread_index() { return u64(blockIdx.x) * 256 + threadIdx.x; }
template <class F> static void launch(u64 blocks, F kernel) {
    std::vector<std::thread> threads;
    gridDim.x = blocks;
    for (u32 t = 0; t < 256; t++) threads.emplace_back([=] {
        threadIdx.x = t;
        for (u32 b = 0; b < blocks; b++) {
            if (t == 0) blockIdx.x = b;
            __syncthreads();
            kernel();
            __syncthreads();
        }
    });
    for (auto& thread : threads) thread.join();
}
"#;
/// Reads n and x; writes the items scanned.
const SCAN: &str = r#"
static void scan(u64 n, const double* x, double* out, bool is_first) {
    u64 tiles = (n + TILE - 1) / TILE;
    std::vector<double> totals(tiles), summed(tiles);
    Parameters parameters = {};
    double* to = totals.data();
    if (is_first) launch(tiles, [=] { scan_items(n, parameters, out, to, x); });
    else launch(tiles, [=] { scan_values(n, parameters, out, to, x); });
    if (tiles <= 1) return;
    scan(tiles, to, summed.data(), false);
    const double* all = summed.data();
    launch((n + 255) / 256, [=] { scan_add(n, parameters, all, out); });
}
int main(int, char** arguments) {
    u64 n = atoi(arguments[1]);
    std::vector<double> x(n), out(n);
    if (fread(x.data(), 8, n, stdin) != n) return 1;
    scan(n, x.data(), out.data(), true);
    fwrite(out.data(), 8, out.size(), stdout);
}
"#;
/// Reads n and x; writes the items joined. With COMMUTES two blocks do all, and leave the ticket at 0.
const REDUCE: &str = r#"
int main(int, char** arguments) {
    u64 n = atoi(arguments[1]), blocks = (n + TILE - 1) / TILE;
    std::vector<double> x(n);
    if (fread(x.data(), 8, n, stdin) != n) return 1;
    Parameters parameters = {};
    std::vector<double> joined(blocks);
    double* to = joined.data();
    const double* from = x.data();
#if COMMUTES
    std::vector<u64> words(8 + 2);
    u32* ticket = (u32*)words.data();
    launch(2, [=] { reduce_items(n, parameters, ticket, to, from); });
    if (words[0] != 0) return 1;
#else
    launch(blocks, [=] { reduce_items(n, parameters, to, from); });
    while (blocks > 1) {
        u64 count = blocks;
        blocks = (count + TILE - 1) / TILE;
        std::vector<double> next(blocks);
        to = next.data(), from = joined.data();
        launch(blocks, [=] { reduce_values(count, parameters, from, to); });
        joined = next;
    }
#endif
    fwrite(joined.data(), 8, 1, stdout);
}
"#;

/// What a program made of the kernels writes for these items.
pub fn outputs(compiler: &str, front: &str, main: &str, inputs: &[&[f64]]) -> Vec<Vec<f64>> {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("loops.cpp"), folder.path().join("loops"));
    std::fs::write(&source, [PRELUDE, DEVICE, front, LOOPS, main].concat()).unwrap();
    let mut command = Command::new(compiler);
    command.args(["-std=c++20", "-pthread", "-O1", "-w", "-o"]).arg(&program).arg(&source);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let run = |x: &&[f64]| {
        let (mut command, file) = (Command::new(&program), folder.path().join("x"));
        std::fs::write(&file, x.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<_>>()).unwrap();
        let output = command.arg(x.len().to_string()).stdin(std::fs::File::open(&file).unwrap()).output().unwrap();
        output.stdout.as_chunks().0.iter().map(|&bytes| f64::from_ne_bytes(bytes)).collect()
    };
    inputs.iter().map(run).collect()
}

fn check_kernels<F: Reduction<1, Item = f64, Value = f64> + DeviceText>(compiler: &str, f: &F)
where
    Threads: Loops<F>,
{
    let inputs = [1, 9, 2048, 2049, 10_000].map(sparse);
    let inputs = inputs.each_ref().map(Vec::as_slice);
    let joined = outputs(compiler, &reduction_front(of::<F>(), 1, Some(F::COMMUTES)), REDUCE, &inputs);
    let scanned = outputs(compiler, &reduction_front(of::<F>(), 1, None), SCAN, &inputs);
    for ((x, joined), scanned) in inputs.into_iter().zip(joined).zip(scanned) {
        let (n, mut expected) = (x.len(), vec![0.0; x.len()]);
        Serial.scan_items(n, f, [x], &mut expected).unwrap();
        assert_eq!(joined, [Serial.reduce_items(n, f, [x]).unwrap()], "{} {n}", F::NAME);
        assert!(scanned == expected, "{} {n}: another scan", F::NAME);
    }
}

/// The compiler of the host, if there is one.
pub fn compiler() -> Option<String> {
    let compiler = std::env::var("CXX").unwrap_or("c++".into());
    let works = Command::new(&compiler).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let works = works.is_ok_and(|status| status.success());
    if !works {
        println!("skipped: no C++ compiler `{compiler}` (CXX may name one)");
    }
    works.then_some(compiler)
}

#[test]
fn kernels_join_items_in_their_order() {
    let Some(compiler) = compiler() else { return };
    check_kernels(&compiler, &Kept {});
    check_kernels(&compiler, &Sum {});
}

/// Compiles loops for several architectures.
pub fn check_nvrtc(test: &str, fronts: &[String]) {
    for architecture in ["sm_80", "sm_90", "sm_100"] {
        let target = Architecture::new(architecture);
        let Some(target) = support::or_skip(test, target, "MINIFENL_NEEDS_NVRTC") else { return };
        for front in fronts {
            target.compile("loops", &loop_text(front)).unwrap_or_else(|error| panic!("{architecture}: {error}"));
        }
    }
}

#[test]
fn nvrtc_compiles_the_loops() {
    let fronts = [
        items_front(of::<Line>(), 2, 2),
        indices_front(of::<Gather>(), [1, 1, 2], "double"),
        indices_front(of::<Doubled>(), [0, 0, 1], "double"),
        indices_front(of::<Listed>(), [0, 1, 2], "unsigned"),
        reduction_front(of::<Sum>(), 1, Some(true)),
        reduction_front(of::<Kept>(), 1, Some(false)),
        reduction_front(of::<Centroid>(), 2, Some(false)),
        reduction_front(of::<Kept>(), 1, None),
        reduction_front(of::<Centroid>(), 2, None),
    ];
    check_nvrtc("nvrtc_compiles_the_loops", &fronts);
}
