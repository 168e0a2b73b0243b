//! Equations in Rust and their CUDA C++ state the same. Without a GPU: the text is compiled as C++ by the compiler of the host and
//! evaluated at random points, and NVRTC compiles it for every kind of GPU that we know.

use crate::equations::{Bratu, Layered};
use minifenl::element::equations::{
    AdvectedHeat, AdvectedWave, Diffusion, Elasticity, Equation, Field, Heat, Poisson, WaveDiffusion, WaveElasticity,
    automatic,
};
use minifenl::element::{BasisTables, ElementType};
use minifenl::fill::EquationText;
use minifenl::space::DeviceText;
use minifenl::space::cuda::Architecture;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

const SAMPLES: usize = 200;
const DEVICE: &str = include_str!("../../../kernels/device.cuh");
const PRELUDE: &str = r#"
#include <math.h>
#include <stdio.h>
#define __device__
#define __forceinline__ inline
#define INLINE static inline
"#;
/// Reads the numbers of an equation and of points; writes flux and source, derivatives by dual numbers and those by hand.
const MAIN: &str = r#"
template <class S, int D, bool BY_HAND> void run(int parameters, int samples) {
    S equation;
    double in[3 + 4 * D];
    if (fread((void*)&equation, 8, parameters, stdin) != size_t(parameters)) return;
    for (; samples > 0 && fread(in, 8, 3 + 4 * D, stdin) == 3 + 4 * D; samples--) {
        Array<double, 3> x = {{in[0], in[1], in[2]}};
        Array<Field<double>, D> u;
        for (int c = 0; c < D; c++) {
            const double* at = in + 3 + 4 * c;
            u[c] = Field<double>{{{at[0], at[1], at[2]}}, at[3]};
        }
        Array<Weak<double>, D> weak = equation.weak(x, u);
        fwrite(&weak, 8, 4 * D, stdout);
        auto put = [](int, int, const Slope<double>& slope) { fwrite(&slope, 8, 16, stdout); };
        double by_duals[D][D][16];
        each_slope<D, false>(equation, x, u, [&](int c, int d, const Slope<double>& slope) {
            for (int k = 0; k < 16; k++) by_duals[c][d][k] = slope[k / 4][k % 4];
        });
        fwrite(by_duals, 8, 16 * D * D, stdout);
        if constexpr (BY_HAND) each_slope<D, true>(equation, x, u, put);
    }
}
"#;

/// A program, what it reads and what it must write.
#[derive(Default)]
struct Case {
    names: Vec<&'static str>,
    program: String,
    calls: String,
    input: Vec<f64>,
    /// The number with its place.
    expected: Vec<(String, f64)>,
}

impl Case {
    fn add<E: Equation<D> + DeviceText, const D: usize>(&mut self, equation: &E) {
        let (name, index, by_hand) = (E::NAME, self.names.len(), E::METHODS.contains(&"slopes"));
        self.names.push(name);
        writeln!(self.program, "namespace text{index} {{\n{}\n}}", E::TEXT).unwrap();
        let parameters = equation.parameters();
        writeln!(self.calls, "run<text{index}::{name}, {D}, {by_hand}>({}, {SAMPLES});", parameters.len()).unwrap();
        self.input.extend(parameters);
        for sample in 0..SAMPLES {
            let mut numbers = (0..3 + 4 * D).map(|k| 2.0 * support::noise(1000 * sample + k));
            let mut next = || numbers.next().unwrap();
            let x: [f64; 3] = std::array::from_fn(|_| next());
            let u: [Field<f64>; D] =
                std::array::from_fn(|_| Field { grad: std::array::from_fn(|_| next()), value: next() });
            self.input.extend(x);
            u.iter().for_each(|u| self.input.extend(u.grad.iter().chain([&u.value])));
            let mut put = |what: &str, number| self.expected.push((format!("{name}, {what} at {x:?} {u:?}"), number));
            for (c, weak) in equation.weak(x, u).iter().enumerate() {
                weak.flux
                    .iter()
                    .chain([&weak.source])
                    .for_each(|&number| put(&format!("weak of component {c}"), number));
            }
            let by_duals = automatic(equation, x, u);
            by_duals.as_flattened().as_flattened().as_flattened().iter().for_each(|&number| put("slope", number));
            if by_hand {
                let slopes = equation.slopes(x, u);
                slopes
                    .as_flattened()
                    .as_flattened()
                    .as_flattened()
                    .iter()
                    .for_each(|&number| put("slope by hand", number));
            }
        }
    }
}

#[test]
fn the_text_computes_what_rust_computes() {
    let compiler = std::env::var("CXX").unwrap_or("c++".into());
    let works = Command::new(&compiler).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !works.is_ok_and(|status| status.success()) {
        println!("skipped: no C++ compiler `{compiler}` (CXX may name one)");
        return;
    }
    let mut case = Case::default();
    case.add(&Heat::new(1.7));
    case.add(&Diffusion { direction: [0.5, -1.0, 0.25] });
    case.add(&Elasticity { lambda: 1.2, mu: 0.8, force: [0.1, -0.5, 2.0] });
    case.add(&Poisson { load: 1.5 });
    let (wave, phase) = ([1.3, -0.7, 0.9], 0.4);
    case.add(&WaveDiffusion { direction: [0.5, -1.0, 0.25], wave, phase });
    case.add(&AdvectedHeat { conductivity: 1.7, velocity: [1.5, 0.25, -2.0], profile: [-0.3, 1.0] });
    case.add(&AdvectedWave { direction: [0.5, -1.0, 0.25], velocity: [1.5, 0.25, -2.0], wave, phase });
    case.add(&WaveElasticity { lambda: 1.5, mu: 0.7, amplitude: [1.0, -0.5, 0.25], wave, phase });
    case.add(&Bratu { lambda: 3.5 });
    for (limit, first) in [(0.7, 0.0), (20.0, 1.5)] {
        case.add(&Layered { weights: [first, 0.5, 0.25], mix: [[1.0, 0.5], [-0.25, 2.0]], limit });
    }
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("equations.cpp"), folder.path().join("equations"));
    let text = format!("{PRELUDE}{DEVICE}{}{MAIN}int main() {{\n{}}}\n", case.program, case.calls);
    std::fs::write(&source, text).unwrap();
    let mut command = Command::new(&compiler);
    command.args(["-std=c++17", "-O1", "-ffp-contract=off", "-w", "-o"]).arg(&program).arg(&source);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut running = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, bytes) =
        (running.stdin.take().unwrap(), case.input.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<_>>());
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = running.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let found: Vec<f64> = output.stdout.as_chunks().0.iter().map(|&bytes| f64::from_ne_bytes(bytes)).collect();
    assert_eq!(found.len(), case.expected.len());
    for (found, (place, expected)) in found.iter().zip(&case.expected) {
        let is_close = (found - expected).abs() <= 8.0 * f64::EPSILON * expected.abs().max(1.0);
        assert!(is_close || (found.is_nan() && expected.is_nan()), "{place}: {found}, expected {expected}");
    }
    let numbers = case.expected.iter().filter(|(_, number)| number.is_finite() && *number != 0.0).count();
    assert!(numbers > 4 * SAMPLES * case.names.len(), "{numbers} numbers compared");
}

/// What NVRTC says of an equation's kernels on an element.
fn compile(target: &Architecture, text: &EquationText, element: ElementType) -> Result<(), String> {
    let source = text.source(&BasisTables::of(element)).unwrap();
    target.compile("equation", &source).map(drop).map_err(|error| error.to_string())
}

#[test]
fn nvrtc_compiles_the_text_for_every_architecture() {
    for architecture in ["sm_80", "sm_90", "sm_100"] {
        let target = match Architecture::new(architecture) {
            Ok(target) => target,
            Err(error) => {
                support::skip(
                    "nvrtc_compiles_the_text_for_every_architecture",
                    &error.to_string(),
                    "MINIFENL_NEEDS_NVRTC",
                );
                return;
            }
        };
        compile(&target, &EquationText::of(&Bratu { lambda: 1.0 }), ElementType::Hex8).unwrap();
        let layered = Layered { weights: [1.0; 3], mix: [[1.0; 2]; 2], limit: 1.0 };
        compile(&target, &EquationText::of(&layered), ElementType::Tet4).unwrap();
    }
}
