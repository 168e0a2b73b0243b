//! Memory of a GPU: forecasts against measured peaks, bytes per node, reserved memory.

use super::models::{self, Case};
use super::{alone, deck, measured, part};
use minifenl::element::ElementType;
use minifenl::run::deck::{Choice, Operator, ProblemKind};
use minifenl::run::forecast::{Choices, Forecast, STAGES, Sizes};
use minifenl::solve::CgVariant;
use minifenl::space::Cuda;
use minifenl::space::ExecutionSpace;
use minifenl::sparse::Format;
use minifenl::{Error, fill, graph};

fn gpu(test: &str) -> Option<Cuda> {
    support::or_skip(test, Cuda::new(0), "MINIFENL_NEEDS_GPU")
}

#[test]
fn forecasts_on_a_gpu_are_the_measured_peaks() {
    let _alone = alone();
    let Some(space) = gpu("forecasts_on_a_gpu_are_the_measured_peaks") else { return };
    let mut cases = Vec::new();
    for graph in [graph::Strategy::Gather, graph::Strategy::Map, graph::Strategy::Sort] {
        for (fill, _) in fill::Strategy::on_gpu() {
            cases.push(([64; 3], 0, 1, graph, fill, fill::Kernel::Fused, Format::Pattern));
        }
    }
    for (format, _) in Format::ALL {
        let (graph, fill) = (graph::Strategy::Gather, fill::Strategy::Gather);
        cases.push(([80, 64, 48], 0, 1, graph, fill, fill::Kernel::Fused, format));
        cases.push(([96, 96, 80], 3, 8, graph, fill, fill::Kernel::Fused, format));
        cases.push(([64; 3], 0, 1, graph, fill, fill::Kernel::Table, format));
        cases.push(([64; 3], 0, 1, graph, fill, fill::Kernel::Intrepid, format));
    }
    let (mut worst, mut low) = ([1.0f64; 2], Vec::new());
    for (nodes, rank, ranks, graph, fill, kernel, format) in cases {
        let choices = Choices {
            graph,
            fill,
            kernel,
            workset: fill::Workset::default(),
            is_symmetric: true,
            storage: format.into(),
            operator: Operator::Assembled,
            variant: CgVariant::default(),
            threads: 1,
        };
        let (part, mut deck) = (part(nodes, rank, ranks), deck(nodes, &choices));
        deck.matrix.format = Choice::Given(format);
        let forecast = Forecast::of::<Cuda>(&Sizes::of_box(&part), &choices).stages;
        let device = space.device().clone();
        let base = device.used_bytes().unwrap();
        let measured = measured(&space, part, &deck, &|work| {
            device.reset_peak().unwrap();
            work();
            space.fence().unwrap();
            device.peak_bytes().unwrap() - base
        });
        for ((stage, forecast), measured) in STAGES.iter().zip(forecast).zip(measured) {
            let ratio = forecast as f64 / measured as f64;
            let case =
                format!("{nodes:?}, rank {rank} of {ranks}, {choices:?}: {stage} {forecast} of {measured}, {ratio:.3}");
            println!("{case}");
            if ratio < 0.95 {
                low.push(case);
            }
            worst = [worst[0].min(ratio), worst[1].max(ratio)];
        }
    }
    println!("GPU: forecast / measured is {:.3} to {:.3}", worst[0], worst[1]);
    assert!(low.is_empty() && worst[1] <= 1.15, "forecast / measured is {worst:?}, expected 0.95 to 1.15: {low:#?}");
}

#[test]
fn forecasts_of_models_on_a_gpu_are_the_measured_peaks() {
    let _alone = alone();
    let Some(space) = gpu("forecasts_of_models_on_a_gpu_are_the_measured_peaks") else { return };
    let (scalar, system) = ([65; 3], [41; 3]);
    let mut cases = Vec::new();
    let mut add = |problem, element, points, graph, fill, format: Format| {
        let (kernel, variant) = (fill::Kernel::Table, CgVariant::default());
        let choices = Choices {
            graph,
            fill,
            kernel,
            workset: fill::Workset::default(),
            is_symmetric: true,
            storage: format.into(),
            operator: Operator::Assembled,
            variant,
            threads: 1,
        };
        cases.push(Case { problem, element, points, choices });
    };
    let (gather, graph) = (fill::Strategy::Gather, graph::Strategy::Gather);
    for (element, _) in ElementType::ALL.into_iter().filter(|(element, _)| element.dim() == 3) {
        add(ProblemKind::Poisson, element, scalar, graph, gather, Format::Pattern);
        add(ProblemKind::Elasticity, element, system, graph, gather, Format::Crs);
    }
    for graph in [graph::Strategy::Map, graph::Strategy::Sort] {
        add(ProblemKind::Heat, ElementType::Tet10, scalar, graph, gather, Format::Crs);
    }
    add(ProblemKind::Diffusion, ElementType::Wedge6, scalar, graph, fill::Strategy::Scatter, Format::Crs);
    add(ProblemKind::Elasticity, ElementType::Hex27, [49; 3], graph, gather, Format::Pattern);
    let mut worst = [1.0f64; 2];
    for case in &cases {
        let device = space.device().clone();
        space.fence().unwrap();
        let base = device.used_bytes().unwrap();
        let peak = || {
            space.fence().unwrap();
            device.peak_bytes().unwrap() - base
        };
        let measured = models::measured(&space, &case.deck(), &|| device.reset_peak().unwrap(), &peak);
        let forecast = Forecast::of::<Cuda>(&case.sizes(), &case.choices).stages;
        let [least, most] = case.compare(forecast, measured);
        // The growth of the table hangs on its contents.
        let is_hashed = case.choices.graph == graph::Strategy::Map;
        worst = [worst[0].min(least), worst[1].max(if is_hashed { most / 1.1 } else { most })];
    }
    println!("GPU: {} runs of 4 stages: forecast / measured is {:.3} to {:.3}", cases.len(), worst[0], worst[1]);
    assert!(worst[0] >= 0.9 && worst[1] <= 1.15, "forecast / measured is {worst:?}, expected 0.9 to 1.15");
}

#[test]
fn an_array_that_does_not_fit_is_an_error_and_loses_no_memory() {
    let _alone = alone();
    let Some(space) = gpu("an_array_that_does_not_fit_is_an_error_and_loses_no_memory") else { return };
    let device = space.device().clone();
    let (before, total) = device.memory().unwrap();
    let error = space.zeros::<f64>(total as usize / 4).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    assert!(error.to_string().contains("are free"), "{error}");
    space.fence().unwrap();
    assert!(device.memory().unwrap().0 + (64 << 20) > before, "memory was lost");
}

/// Peak bytes per node of a run on a GPU, by format: 510 in symmetric, 580 in pattern, 620 in CRS.
#[test]
fn a_gpu_holds_a_node_in_510_bytes() {
    let _alone = alone();
    let Some(space) = gpu("a_gpu_holds_a_node_in_510_bytes") else { return };
    let (graph, fill, kernel) = (graph::Strategy::Gather, fill::Strategy::Gather, fill::Kernel::Fused);
    let mut above = Vec::new();
    // The last case is a part with other ranks on both sides of two axes.
    for (format, limit) in [(Format::Symmetric, 510.0), (Format::Pattern, 580.0), (Format::Crs, 620.0)] {
        for (nodes, rank, ranks) in [([192, 192, 200], 0, 1), ([400, 400, 360], 5, 8), ([640, 640, 165], 4, 9)] {
            let choices = Choices {
                graph,
                fill,
                kernel,
                workset: fill::Workset::default(),
                is_symmetric: true,
                storage: format.into(),
                operator: Operator::Assembled,
                variant: CgVariant::default(),
                threads: 1,
            };
            let (part, mut deck) = (part(nodes, rank, ranks), deck(nodes, &choices));
            deck.matrix.format = Choice::Given(format);
            let sizes = Sizes::of_box(&part);
            let forecast = Forecast::of::<Cuda>(&sizes, &choices).peak() as f64 / sizes.owned as f64;
            let device = space.device().clone();
            let base = device.used_bytes().unwrap();
            let measured = measured(&space, part, &deck, &|work| {
                device.reset_peak().unwrap();
                work();
                space.fence().unwrap();
                device.peak_bytes().unwrap() - base
            });
            let bytes = measured.map(|stage| stage as f64 / sizes.owned as f64);
            let peak = bytes.into_iter().fold(0.0, f64::max);
            let case = format!("{nodes:?}, rank {rank} of {ranks}, {format}: {bytes:.1?} of {forecast:.1} per node");
            println!("{case}");
            if peak > limit || (forecast / peak - 1.0).abs() > 0.1 {
                above.push(case);
            }
        }
    }
    assert!(
        above.is_empty(),
        "expected at most 510 bytes in symmetric, 580 in pattern and 620 in crs, forecast within 10 %: {above:#?}"
    );
}

#[test]
fn reserved_memory_serves_later_arrays() {
    let _alone = alone();
    let Some(space) = gpu("reserved_memory_serves_later_arrays") else { return };
    let device = space.device().clone();
    device.reset_peak().unwrap();
    let (used, free) = (device.used_bytes().unwrap(), device.memory().unwrap().0);
    space.reserve(3 << 30).unwrap();
    // The memory is free for arrays of this process, and the peak does not count it.
    assert_eq!((device.used_bytes().unwrap(), device.peak_bytes().unwrap()), (used, used));
    assert!(device.memory().unwrap().0.abs_diff(free) < 1 << 28);
    let array = space.zeros::<u64>(1 << 28).unwrap();
    assert_eq!(device.peak_bytes().unwrap() - used, 2 << 30);
    drop(array);
    // More than there is: later arrays map what they need.
    space.reserve(2 * device.memory().unwrap().1).unwrap();
    assert_eq!(space.download(&space.zeros::<u32>(1000).unwrap()).unwrap(), vec![0; 1000]);
}
