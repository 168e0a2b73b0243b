//! Teams with scratch: the numbers of hosts, and the kernel without a GPU.

use super::loops::{check_nvrtc, compiler, of, outputs};
use for_tiles::Weighted;
use minifenl::space::{Loops, Serial, Threads};
use support::tiles_front;

#[minifenl::device]
pub mod for_tiles {
    use minifenl::space::atomic::{self, AtomicF64};
    use minifenl::space::{Scratch, TileFn};

    /// Lane l of team t adds x[t + p + k] for k below 300 and odd k + l, over as many phases p as a list says; indices wrap around.
    #[derive(Debug)]
    pub struct Weighted {
        pub items: f64,
    }

    impl TileFn<1, 1, 1> for Weighted {
        type Value = f64;
        const LANES: usize = 256;
        const SCRATCH: usize = 300;

        fn start(&self) -> f64 {
            0.5
        }

        fn phases(&self, team: usize, [phases]: [&[u32]; 1]) -> usize {
            phases[team] as usize
        }

        fn load(&self, team: usize, phase: usize, k: usize, [x]: [&[f64]; 1], _: [&[u32]; 1]) -> f64 {
            x[(team + phase + k) % self.items as usize]
        }

        fn step(&self, lane: usize, value: f64, scratch: &[Scratch]) -> f64 {
            let (mut sum, behind) = (value, &scratch[1..300]);
            for k in 0..299 {
                if (k + lane) % 2 != 1 {
                    sum += behind[k];
                }
            }
            sum + if lane % 2 == 1 { scratch[0] } else { 0.0 }
        }

        fn at(&self, team: usize, lane: usize, value: f64, [out]: [&[AtomicF64]; 1]) {
            atomic::set(&out[256 * team + lane], value);
        }
    }
}

/// Numbers of the tests.
pub const ITEMS: usize = 1000;

/// Multiples of 1/2, which add up without rounding.
pub fn numbers() -> Vec<f64> {
    (0..ITEMS).map(|i| (i * 7 % 64) as f64 * 0.5).collect()
}

/// Phases of each team, some without any.
pub fn phases(teams: usize) -> Vec<u32> {
    (0..teams as u32).map(|team| team % 4).collect()
}

/// What each lane finds, by plain loops.
pub fn expected(teams: usize) -> Vec<f64> {
    let x = numbers();
    let of_lane = |team: usize, lane: usize| {
        let of_phase =
            |p: usize| (0..300).filter(|k| (k + lane) % 2 == 1).map(|k| x[(team + p + k) % ITEMS]).sum::<f64>();
        0.5 + (0..phases(teams)[team] as usize).map(of_phase).sum::<f64>()
    };
    (0..256 * teams).map(|i| of_lane(i / 256, i % 256)).collect()
}

/// The function of these tests.
pub const WEIGHTED: Weighted = Weighted { items: ITEMS as f64 };

#[test]
fn hosts_step_through_their_scratch() {
    for space in [Serial, Threads::new(3).unwrap()] {
        for teams in [0, 1, 37] {
            let mut out = vec![7.0; 256 * teams + 1];
            space.for_tiles(teams, &WEIGHTED, [&numbers()], [&phases(teams)], [&mut out]).unwrap();
            assert_eq!(out.pop(), Some(7.0));
            assert_eq!(out, expected(teams), "{teams}");
        }
    }
}

/// Reads 1000 numbers; writes what the lanes of 5 teams find.
const MAIN: &str = r#"
int main() {
    std::vector<double> x(1000), out(5 * 256);
    std::vector<u32> phases = {0, 1, 2, 3, 0};
    if (fread(x.data(), 8, x.size(), stdin) != x.size()) return 1;
    Parameters parameters = {{1000.0}};
    Slice<const double> numbers = {x.data(), x.size()};
    Slice<const unsigned> list = {phases.data(), phases.size()};
    Slice<double> cells = {out.data(), out.size()};
    launch(5, [=] { for_tiles(parameters, numbers, list, cells); });
    fwrite(out.data(), 8, out.size(), stdout);
}
"#;

#[test]
fn the_kernel_steps_through_its_scratch() {
    let Some(compiler) = compiler() else { return };
    let front = tiles_front(of::<Weighted>(), [1, 1, 1], [256, 300]);
    assert_eq!(outputs(&compiler, &front, MAIN, &[&numbers()]), [expected(5)]);
}

#[test]
fn nvrtc_compiles_teams_with_scratch() {
    check_nvrtc("nvrtc_compiles_teams_with_scratch", &[tiles_front(of::<Weighted>(), [1, 1, 1], [256, 300])]);
}
