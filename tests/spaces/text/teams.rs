//! Loops in loops: the numbers of hosts, and the kernel without a GPU.

use super::loops::{check_nvrtc, compiler, of, outputs};
use for_teams::Extent;
use minifenl::space::{Loops, Serial, Team, Threads};
use support::teams_front;

#[minifenl::device]
pub mod for_teams {
    use minifenl::space::TeamFn;
    use minifenl::space::atomic::{self, AtomicF64};

    /// Count, sum and least of the numbers of a range.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct Found {
        pub count: f64,
        pub sum: f64,
        pub least: f64,
    }

    /// What is found in the range between two indices of a list, with numbers above a limit left out.
    #[derive(Debug)]
    pub struct Extent {
        pub limit: f64,
    }

    impl TeamFn<1, 1, 1> for Extent {
        type Value = Found;

        fn identity(&self) -> Found {
            Found { count: 0.0, sum: 0.0, least: self.limit }
        }

        fn range(&self, i: usize, [bounds]: [&[u32]; 1]) -> [usize; 2] {
            [bounds[2 * i] as usize, bounds[2 * i + 1] as usize]
        }

        fn value(&self, _i: usize, k: usize, [x]: [&[f64]; 1], _: [&[u32]; 1]) -> Found {
            let is_within = x[k] <= self.limit;
            Found { count: if is_within { 1.0 } else { 0.0 }, sum: if is_within { x[k] } else { 0.0 }, least: x[k] }
        }

        fn join(&self, a: Found, b: Found) -> Found {
            Found { count: a.count + b.count, sum: a.sum + b.sum, least: a.least.min(b.least) }
        }

        fn at(&self, i: usize, joined: Found, [out]: [&[AtomicF64]; 1]) {
            atomic::set(&out[3 * i], joined.count);
            atomic::set(&out[3 * i + 1], joined.sum);
            atomic::set(&out[3 * i + 2], joined.least);
        }
    }
}

const LIMIT: f64 = 20.0;

/// Multiples of 1/2, which add up without rounding.
pub fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i * 7 % 64) as f64 * 0.5).collect()
}

/// Ranges of 0 to 39 items anywhere.
pub fn bounds(n: usize) -> Vec<u32> {
    (0..n).flat_map(|i| [i * 5 % (n + 1), (i * 5 % (n + 1) + i * 3 % 40).min(n)]).map(|k| k as u32).collect()
}

/// Count, sum and least of each range by plain loops.
pub fn expected(x: &[f64]) -> Vec<f64> {
    let of_range = |range: &[u32]| {
        let all = &x[range[0] as usize..range[1] as usize];
        let within = || all.iter().filter(|x| **x <= LIMIT);
        [within().count() as f64, within().sum(), all.iter().fold(LIMIT, |least, x| least.min(*x))]
    };
    bounds(x.len()).chunks_exact(2).flat_map(of_range).collect()
}

/// The function of these tests.
pub const EXTENT: Extent = Extent { limit: LIMIT };

#[test]
fn hosts_join_the_values_of_ranges() {
    for space in [Serial, Threads::new(3).unwrap()] {
        for n in [0, 1, 15, 4097] {
            let (x, mut out) = (numbers(n), vec![7.0; 3 * n + 1]);
            space.for_teams(n, Team::default(), &EXTENT, [&x], [&bounds(n)], [&mut out]).unwrap();
            assert_eq!(out.pop(), Some(7.0));
            assert_eq!(out, expected(&x), "{n}");
        }
    }
}

/// Reads n and x; writes what is found in the ranges of `bounds`.
const MAIN: &str = r#"
int main(int, char** arguments) {
    u64 n = atoi(arguments[1]);
    std::vector<double> x(n), out(3 * n);
    std::vector<u32> bounds;
    if (fread(x.data(), 8, n, stdin) != n) return 1;
    for (u64 i = 0; i < n; i++) {
        u64 first = i * 5 % (n + 1), end = first + i * 3 % 40;
        bounds.push_back(first), bounds.push_back(end < n ? end : n);
    }
    Parameters parameters = {{20.0}};
    Slice<const double> numbers = {x.data(), n};
    Slice<const unsigned> list = {bounds.data(), 2 * n};
    Slice<double> cells = {out.data(), 3 * n};
    launch((n * TEAM + 255) / 256, [=] { for_teams(n, parameters, numbers, list, cells); });
    fwrite(out.data(), 8, out.size(), stdout);
}
"#;

#[test]
fn the_kernel_joins_the_values_of_ranges() {
    let Some(compiler) = compiler() else { return };
    for threads in [4, 32] {
        for n in [1, 200] {
            let x = numbers(n);
            let front = teams_front(of::<Extent>(), [1, 1, 1], threads);
            assert_eq!(outputs(&compiler, &front, MAIN, &[&x]), [expected(&x)], "{threads} {n}");
        }
    }
}

#[test]
fn nvrtc_compiles_loops_in_loops() {
    check_nvrtc("nvrtc_compiles_loops_in_loops", &[teams_front(of::<Extent>(), [1, 1, 1], 8)]);
}
