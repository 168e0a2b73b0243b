//! Kernels of equations, compiled for equation and element.

// Its equation on faces is compiled without a GPU, too.
#[allow(dead_code, missing_docs)]
#[path = "../../../examples/exchange.rs"]
mod exchange;

use super::kept::Tool;
use super::{COUNTED, DEFAULT, compiled, is_skipped};
use crate::equations::{Drift, Energy, Exchange, Seepage};
use minifenl::element::equations::{
    AdvectedWave, Diffusion, Heat, Jacobian, PlaneStrain, Poisson, WaveDiffusion, WaveElasticity,
};
use minifenl::element::{BasisTables, ElementType};
use minifenl::fill::EquationText;
use minifenl::space::Layout;
use minifenl::space::cuda::Architecture;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that a kernel of an equation may spill: those of four numbers.
const SPILLED: u32 = 32;

/// Equations of the program's problems and others from Rust, on every element type of three dimensions; two on those of two.
fn equation_sources() -> Vec<(String, String)> {
    fn of(name: &str, text: &EquationText) -> Vec<(String, String)> {
        let elements = ElementType::ALL.into_iter().filter(|(element, _)| element.dim() == 3);
        let source = |(element, _): (ElementType, _)| {
            let source = text.source(&BasisTables::of(element)).unwrap();
            let worksets = text.workset_source(&BasisTables::of(element), Layout::Left).unwrap();
            let apply = (format!("apply ({name}, {element})"), text.apply_source(element));
            let worksets = (format!("worksets ({name}, {element})"), worksets);
            [(format!("equation ({name}, {element})"), source), worksets, apply]
        };
        let hex8 = ElementType::Hex8;
        let contraction = text.contraction_source(&BasisTables::of(hex8));
        let contraction = contraction.map(|source| (format!("contraction ({name})"), source));
        elements.flat_map(source).chain(contraction).collect()
    }
    fn in_plane(name: &str, text: &EquationText) -> Vec<(String, String)> {
        let elements = ElementType::ALL.into_iter().filter(|(element, _)| element.dim() == 2);
        let source = |element| text.source(&BasisTables::of(element)).unwrap();
        elements.map(|(element, _)| (format!("equation ({name}, {element})"), source(element))).collect()
    }
    // With given fields on cells, and on their faces.
    fn with_given() -> Vec<(String, String)> {
        let (cells, faces) =
            (EquationText::of_at(&Seepage { dt: 0.5 }), EquationText::of_at(&Exchange { ambient: 1.0 }));
        let faces = faces.on_boundary();
        let elements = ElementType::ALL.into_iter().filter(|(element, _)| element.dim() >= 2);
        let source = |(element, _): (ElementType, _)| {
            let (name, text) = if element.dim() == 3 { ("seepage", &cells) } else { ("exchange", &faces) };
            (format!("equation ({name}, {element})"), text.source(&BasisTables::of(element)).unwrap())
        };
        let of_example = EquationText::of_at(&exchange::surface::Exchange { ambient: exchange::AMBIENT }).on_boundary();
        let of_example = of_example.source(&BasisTables::of(ElementType::Tri6)).unwrap();
        elements.map(source).chain([("equation (example, tri6)".into(), of_example)]).collect()
    }
    let heat = EquationText::of(&Heat::new(1.0));
    let (full, coupled) = (EquationText::of(&Drift {}), EquationText::of(&Energy {}));
    let poisson = EquationText::of(&Poisson { load: 1.0 });
    let diffusion = EquationText::of(&Diffusion { direction: [1.0, 2.0, 3.0] });
    let by_duals = EquationText::of(&Heat::new(1.0)).with_jacobian(Jacobian::Ad);
    let (wave, phase) = ([1.0, 2.0, 3.0], 0.5);
    let scalar = EquationText::of(&WaveDiffusion { direction: [1.0, 0.5, 0.0], wave, phase });
    let velocity = [1.0, -2.0, 3.0];
    let advected = EquationText::of(&AdvectedWave { direction: [1.0, 0.5, 0.0], velocity, wave, phase });
    let elastic = EquationText::of(&WaveElasticity { lambda: 1.0, mu: 1.0, amplitude: [1.0; 3], wave, phase });
    let texts = [
        of("heat", &heat),
        of("drift", &full),
        of("energy", &coupled),
        of("poisson", &poisson),
        of("heat, ad", &by_duals),
    ];
    [
        texts.concat(),
        of("diffusion", &diffusion),
        of("wave", &scalar),
        of("advected", &advected),
        of("elastic wave", &elastic),
        in_plane("poisson", &poisson),
        in_plane("plane strain", &EquationText::of(&PlaneStrain { lambda: 1.0, mu: 1.0, force: [1.0; 2] })),
        with_given(),
    ]
    .concat()
}

/// Kernels of equations, compiled for equation and element, fit the registers of an H200.
#[test]
fn equations_do_not_spill() {
    let (target, ptxas) = (Architecture::new(COUNTED.1), Tool::named_by("MINIFENL_PTXAS"));
    let missing = target.as_ref().err().map(ToString::to_string).or(ptxas.as_ref().err().cloned());
    if is_skipped("equations_do_not_spill", missing) {
        return;
    }
    let (target, ptxas) = (target.unwrap(), ptxas.unwrap_or_else(|why| panic!("{why}")));
    let (sources, next) = (equation_sources(), AtomicUsize::new(0));
    // Nine equations on seven elements, assembled in two ways and applied; contractions of the six that are scalar and symmetric; two on
    // five elements in the plane; those with given fields on twelve, and that of an example.
    assert_eq!(sources.len(), 3 * 9 * 7 + 6 + 2 * 5 + 12 + 1);
    let worker = || {
        let mut faults = Vec::new();
        while let Some((name, text)) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
            let kernels = compiled(&target, COUNTED.0, &ptxas, name, text);
            // One contraction; the operands of a workset; Jacobian, residual and two of sums; one kernel that does all or two.
            let expected = match name.split(' ').next() {
                Some("contraction" | "worksets") => 1,
                Some("apply") => 4,
                _ if text.contains("#define FUSED 1") => 1,
                _ => 2,
            };
            if kernels.len() != expected {
                faults.push(format!("{name}: {} kernels, expected {expected}", kernels.len()));
            }
            for (kernel, used) in kernels {
                println!("{name}: {kernel}: {used:?}");
                if used.registers > DEFAULT.registers || used.spill > SPILLED {
                    faults
                        .push(format!("{name}: {kernel}: {} registers, {} bytes spilled", used.registers, used.spill));
                }
            }
        }
        faults
    };
    let faults: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
