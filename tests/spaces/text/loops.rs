//! Loops with functions of a user: the numbers of hosts, and the kernels of `kernels/loops.cu` without a GPU. There the compiler of
//! the host compiles their text, host threads are the threads of a block, and blocks run in turn. NVRTC compiles them, too.

use crate::functions::{Kept, Line, Sum};
use minifenl::space::cuda::Architecture;
use minifenl::space::{DeviceText, ExecutionSpace, Joiner, Loops, Serial, Threads};
use std::process::{Command, Stdio};

const DEVICE: &str = include_str!("../../../kernels/device.cuh");
const LOOPS: &str = include_str!("../../../kernels/loops.cu");

/// Nine of ten numbers are 0.
fn sparse(n: usize) -> Vec<f64> {
    (0..n).map(|i| if (i * 7) % 10 == 3 { i as f64 + 0.5 } else { 0.0 }).collect()
}

fn check_host<S: Loops<Line> + Loops<Sum> + Loops<Kept> + ExecutionSpace<Memory = minifenl::space::HostMemory>>(
    space: &S,
) {
    for n in [0, 1, 4095, 4096, 4097, 20_000] {
        let (x, y) = (sparse(n), vec![0.5; n + 1]);
        let (mut a, mut b) = (vec![7.0; n], vec![7.0; n + 2]);
        space.for_items(n, &Line { a: 2.0 }, [&x, &y], [&mut a, &mut b]).unwrap();
        for i in 0..n {
            let rest = if x[i] > 2.0 { x[i] - i as f64 } else { f64::MAX };
            assert_eq!((a[i], b[i]), (2.0 * x[i] + 0.5, rest), "{n} {i}");
        }
        assert_eq!(b[n..], [7.0; 2]);
        let last = x.iter().copied().rfind(|&x| x != 0.0).unwrap_or(0.0);
        assert_eq!(space.reduce_items(n, &Kept {}, &x).unwrap(), last);
        // Multiples of 1/2 add up without rounding.
        assert_eq!(space.reduce_items(n, &Sum {}, &x).unwrap(), x.iter().sum::<f64>());
        let (mut kept, mut sums) = (vec![7.0; n], vec![7.0; n]);
        space.scan_items(n, &Kept {}, &x, &mut kept).unwrap();
        space.scan_items(n, &Sum {}, &x, &mut sums).unwrap();
        for i in 0..n {
            assert_eq!(kept[i], x[..=i].iter().copied().rev().take(10).find(|&x| x != 0.0).unwrap_or(0.0), "{n} {i}");
            assert_eq!(sums[i], x[i] + if i > 0 { sums[i - 1] } else { 0.0 }, "{n} {i}");
        }
        assert!(space.scan_items(n + 1, &Sum {}, &x, &mut sums).unwrap_err().to_string().contains("`x`"));
    }
}

#[test]
fn hosts_join_items_in_their_order() {
    check_host(&Serial);
    check_host(&Threads::new(3).unwrap());
}

fn front<F: DeviceText>() -> String {
    format!("namespace user_text {{\n{}\n}}\nusing Statement = user_text::{};\n", F::TEXT, F::NAME)
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
typedef unsigned int u32;
typedef unsigned long long u64;
struct Index { u32 x; };
static Index blockIdx;
static thread_local Index threadIdx;
static std::barrier block(256);
static void __syncthreads() { block.arrive_and_wait(); }
static u64 thread_index() { return u64(blockIdx.x) * 256 + threadIdx.x; }
template <class F> static void launch(u64 blocks, F kernel) {
    std::vector<std::thread> threads;
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
/// Reads n and x; writes the items joined and scanned.
const MAIN: &str = r#"
static void scan(u64 n, const double* x, double* out) {
    u64 tiles = (n + TILE - 1) / TILE;
    std::vector<double> totals(tiles), summed(tiles);
    double parameters = 0, *to = totals.data();
    launch(tiles, [=] { scan_tiles(n, &parameters, x, out, to); });
    if (tiles <= 1) return;
    scan(tiles, to, summed.data());
    const double* all = summed.data();
    launch((n + 255) / 256, [=] { scan_add(n, &parameters, all, out); });
}
int main(int, char** arguments) {
    u64 n = atoi(arguments[1]);
    std::vector<double> x(n), out(n);
    if (fread(x.data(), 8, n, stdin) != n) return 1;
    scan(n, x.data(), out.data());
    do {
        u64 blocks = (n + TILE - 1) / TILE;
        std::vector<double> joined(blocks);
        double parameters = 0, *to = joined.data();
        const double* from = x.data();
        launch(blocks, [=] { reduce_items(n, &parameters, from, to); });
        n = blocks, x = joined;
    } while (n > 1);
    fwrite(x.data(), 8, 1, stdout);
    fwrite(out.data(), 8, out.size(), stdout);
}
"#;

/// What the kernels of a joiner write for so many items.
fn check_kernels<F: Joiner + DeviceText>(compiler: &str, joiner: &F)
where
    Threads: Loops<F>,
{
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("loops.cpp"), folder.path().join("loops"));
    std::fs::write(&source, [PRELUDE, DEVICE, &front::<F>(), LOOPS, MAIN].concat()).unwrap();
    let mut command = Command::new(compiler);
    command.args(["-std=c++20", "-pthread", "-O1", "-w", "-o"]).arg(&program).arg(&source);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for n in [1, 9, 2048, 2049, 10_000] {
        let x = sparse(n);
        let mut command = Command::new(&program);
        let file = folder.path().join("x");
        std::fs::write(&file, x.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<_>>()).unwrap();
        let output = command.arg(n.to_string()).stdin(std::fs::File::open(&file).unwrap()).output().unwrap();
        let found: Vec<f64> = output.stdout.as_chunks().0.iter().map(|&bytes| f64::from_ne_bytes(bytes)).collect();
        let mut scanned = vec![0.0; n];
        Serial.scan_items(n, joiner, &x, &mut scanned).unwrap();
        assert_eq!(found[0], Serial.reduce_items(n, joiner, &x).unwrap(), "{} {n}", F::NAME);
        assert!(found[1..] == scanned, "{} {n}: another scan", F::NAME);
    }
}

#[test]
fn kernels_join_items_in_their_order() {
    let compiler = std::env::var("CXX").unwrap_or("c++".into());
    let works = Command::new(&compiler).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !works.is_ok_and(|status| status.success()) {
        println!("skipped: no C++ compiler `{compiler}` (CXX may name one)");
        return;
    }
    check_kernels(&compiler, &Kept {});
    check_kernels(&compiler, &Sum {});
}

#[test]
fn nvrtc_compiles_the_loops() {
    let common = include_str!("../../../kernels/common.cuh");
    let arrays = "#define ARRAYS const double* in0, const double* in1, double* out0, double* out1\n#define READ in0[i], in1[i]\n\
                  #define WRITE out0[i] = y[0]; out1[i] = y[1];\n#define INPUTS 2\n";
    for architecture in ["sm_80", "sm_90", "sm_100"] {
        let target = match Architecture::new(architecture) {
            Ok(target) => target,
            Err(error) => return support::skip("nvrtc_compiles_the_loops", &error.to_string(), "MINIFENL_NEEDS_NVRTC"),
        };
        for front in [front::<Line>() + arrays, front::<Sum>(), front::<Kept>()] {
            let compiled = target.compile("loops", &[common, DEVICE, &front, LOOPS].concat());
            compiled.unwrap_or_else(|error| panic!("{architecture}: {error}"));
        }
    }
}
