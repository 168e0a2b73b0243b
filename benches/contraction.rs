//! The nine contractions on one core: GF/s and GB/s at element sizes, beside this core's peak, triad and one GEMM per cell.
//!
//! `cargo bench --no-default-features --bench contraction [-- WORDS]` runs the rows that hold all of the words. Rates are
//! the best and the median of several passes; bytes are each input read once and each output written once. `in cache`
//! holds 128 kB (a second-level cache), `memory` 192 MB. On a shared machine compare ratios within one run.
//! MINIFENL_THREADS=2 for more cores (peak, GEMM and rows in cache stay on one).

use minifenl::blas;
use minifenl::contraction::*;
use minifenl::space::lanes::Real;
use minifenl::space::{Array, ExecutionSpace, Layout, Serial, Threads, View, ViewMut};
use std::hint::black_box;
use std::time::Instant;

/// Seconds of the best and of the middle pass.
fn time(mut pass: impl FnMut()) -> [f64; 2] {
    pass();
    let begin = Instant::now();
    let mut times = Vec::new();
    while times.len() < 5 || (begin.elapsed().as_secs_f64() < 0.25 && times.len() < 60) {
        let start = Instant::now();
        pass();
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    [times[0], times[times.len() / 2]]
}

/// Vectors of this processor, in bytes.
fn vector_bytes() -> usize {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") {
        return 64;
    }
    32
}

/// What a peer is compared with: numbers that a GEMM crate takes.
trait Number: Real + From<f32> {
    const NAME: &'static str;
    /// GF/s that one core can do.
    fn peak() -> f64;
    /// out = left right^T for one cell, all packed with the last index fastest.
    fn gemm(sizes: [usize; 3], left: &[Self], right: &[Self], out: &mut [Self]);
}

macro_rules! number {
    ($real:ident $gemm:ident) => {
        impl Number for $real {
            const NAME: &'static str = stringify!($real);
            fn peak() -> f64 {
                1e-9 * blas::peak::<$real>(&Serial)
            }
            #[allow(unsafe_code)]
            fn gemm([l, r, k]: [usize; 3], left: &[Self], right: &[Self], out: &mut [Self]) {
                assert!(left.len() >= l * k && right.len() >= r * k && out.len() >= l * r);
                let (k_stride, r_stride) = (k as isize, r as isize);
                // SAFETY: the slices hold what the sizes and strides reach.
                unsafe {
                    matrixmultiply::$gemm(
                        l,
                        k,
                        r,
                        1.0,
                        left.as_ptr(),
                        k_stride,
                        1,
                        right.as_ptr(),
                        1,
                        k_stride,
                        0.0,
                        out.as_mut_ptr(),
                        r_stride,
                        1,
                    );
                }
            }
        }
    };
}
number!(f64 dgemm);
number!(f32 sgemm);

/// What the rows are compared with, and which are wanted.
struct Run {
    words: Vec<String>,
    triad: f64,
}

impl Run {
    fn row(&self, name: &str, peak: f64, [flops, bytes]: [f64; 2], pass: impl FnMut()) {
        if !self.words.iter().all(|word| name.contains(word.as_str())) {
            return;
        }
        let [best, median] = time(pass).map(|seconds| 1e-9 / seconds);
        println!(
            "{name:<52} {:7.1} GF/s {:6.1} GB/s  (median {:6.1}, {:6.1})  {:3.0} % of peak {:3.0} % of triad",
            flops * best,
            bytes * best,
            flops * median,
            bytes * median,
            100.0 * flops * best / peak,
            100.0 * bytes * best / self.triad,
        );
    }
}

macro_rules! kernel {
    ($run:ident, $space:ident, $T:ty, $peak:ident, $place:expr, $bytes:expr, $layout:expr, $call:ident, $L:expr, $R:expr,
        $left:expr, $right:expr, $out:expr, $k:expr) => {{
        let (l, r, k): (usize, usize, usize) = ($L, $R, $k);
        let cell = (l + r) * k + l * r;
        let group = if $layout == Layout::Left { vector_bytes() / size_of::<$T>() } else { 1 };
        let cells = ($bytes / (cell * size_of::<$T>())).max(1).next_multiple_of(group);
        let name = format!("{} {l}x{r}x{k} {} {:?} {}", stringify!($call), <$T>::NAME, $layout, $place);
        if $run.words.iter().all(|word| name.contains(word.as_str())) {
            let array = |len: usize, value: f32| -> Array<Threads, $T> {
                let mut array: Array<Threads, $T> = $space.zeros(len).unwrap();
                array.iter_mut().enumerate().for_each(|(i, x)| *x = <$T>::from(value + (i % 7) as f32));
                array
            };
            let (a, b, mut c) = (array(cells * l * k, 1.0), array(cells * r * k, 2.0), array(cells * l * r, 0.0));
            let passes = (4 << 20) / (cells * cell) + 1;
            let cost = [2 * l * r * k, cell * size_of::<$T>()].map(|n| (passes * cells * n) as f64);
            let left = View::new(&a, $left(cells), $layout).unwrap();
            let right = View::new(&b, $right(cells), $layout).unwrap();
            $run.row(&name, $peak, cost, || {
                for _ in 0..passes {
                    let mut out = ViewMut::new(&mut c, $out(cells), $layout).unwrap();
                    $call(&$space, black_box(&left), black_box(&right), &mut out, Sum::Overwrite).unwrap();
                }
            });
            if l > 1 && $layout == Layout::Right {
                let name = format!("  gemm crate per cell, {} {}", <$T>::NAME, $place);
                let all = Run { words: Vec::new(), ..$run };
                all.row(&name, $peak, cost, || {
                    for _ in 0..passes {
                        for cell in 0..cells {
                            let (a, b) = (&a[cell * l * k..], &b[cell * r * k..]);
                            <$T>::gemm([l, r, k], a, b, &mut c[cell * l * r..]);
                        }
                    }
                });
            }
        }
    }};
}

fn sizes<T: Number>(run: Run, space: &Threads, peak: f64) -> Run {
    const D: usize = 3;
    let space = space.clone();
    for (f, p) in [(8, 8), (27, 27)] {
        for layout in [Layout::Right, Layout::Left] {
            for (place, bytes) in [("in cache", 128 << 10), ("memory", 192 << 20)] {
                macro_rules! go {
                    ($call:ident $l:expr, $r:expr, $k:expr, $left:expr, $right:expr, $out:expr) => {
                        if place == "in cache" {
                            kernel!(run, Serial, T, peak, place, bytes, layout, $call, $l, $r, $left, $right, $out, $k)
                        } else {
                            kernel!(run, space, T, peak, place, bytes, layout, $call, $l, $r, $left, $right, $out, $k)
                        }
                    };
                }
                go!(field_field_scalar f, f, p, |c| [c, f, p], |c| [c, f, p], |c| [c, f, f]);
                go!(field_field_vector f, f, p * D, |c| [c, f, p, D], |c| [c, f, p, D], |c| [c, f, f]);
                go!(field_field_tensor f, f, p * D * D, |c| [c, f, p, D, D], |c| [c, f, p, D, D], |c| [c, f, f]);
                go!(data_field_scalar 1, f, p, |c| [c, p], |c| [c, f, p], |c| [c, f]);
                go!(data_field_vector 1, f, p * D, |c| [c, p, D], |c| [c, f, p, D], |c| [c, f]);
                go!(data_field_tensor 1, f, p * D * D, |c| [c, p, D, D], |c| [c, f, p, D, D], |c| [c, f]);
                go!(data_data_scalar 1, 1, p, |c| [c, p], |c| [c, p], |c| [c]);
                go!(data_data_vector 1, 1, p * D, |c| [c, p, D], |c| [c, p, D], |c| [c]);
                go!(data_data_tensor 1, 1, p * D * D, |c| [c, p, D, D], |c| [c, p, D, D], |c| [c]);
            }
        }
    }
    run
}

fn main() {
    let words = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let threads = std::env::var("MINIFENL_THREADS").map_or(1, |text| text.parse().expect("a number of threads"));
    let space = Threads::with_current(threads).unwrap();
    let triad = || blas::triad(&space, 8 << 20).unwrap().best;
    let run = Run { words, triad: triad().max(triad()) };
    let [peak64, peak32] = [f64::peak(), f32::peak()];
    println!("{}: peak of a core {peak64:.1} GF/s f64, {peak32:.1} f32; triad {:.1} GB/s", space.label(), run.triad);
    let run = sizes::<f64>(run, &space, peak64);
    sizes::<f32>(run, &space, peak32);
    println!("again: peak {:.1} GF/s f64, {:.1} f32; triad {:.1} GB/s", f64::peak(), f32::peak(), triad());
}
