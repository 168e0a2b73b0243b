//! Forecasts of runs on elements of any type against their measured peaks, by stage.

use super::{PEAK, USED, alone, printed};
use minifenl::comm::{Communicator, Exchange, Map, Solo};
use minifenl::element::ElementType;
use minifenl::mesh::BoxPart;
use minifenl::run::deck::{Choice, Nodes, Operator, Preconditioning, Preset, ProblemKind};
use minifenl::run::forecast::{Choices, Forecast, STAGES, Sizes};
use minifenl::run::{Deck, Job, silent, solution_on};
use minifenl::solve::CgVariant;
use minifenl::space::Threads;
use minifenl::sparse::Format;
use minifenl::{Result, fill, graph};
use std::cell::RefCell;
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;

/// One rank that notes the peak of each phase of a run. `reset` begins a phase, `peak` returns its peak.
struct Noting<'a> {
    reset: &'a dyn Fn(),
    peak: &'a dyn Fn() -> u64,
    phases: RefCell<Vec<(String, u64)>>,
}

impl std::fmt::Debug for Noting<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Noting").finish_non_exhaustive()
    }
}

impl Communicator for Noting<'_> {
    support::rank!(0 of 1, alone);
    fn enter_phase(&self, name: &str) {
        let mut phases = self.phases.borrow_mut();
        if let Some((_, peak)) = phases.last_mut() {
            *peak = (self.peak)();
        }
        phases.push((name.into(), 0));
        (self.reset)();
    }
    fn exchange(&self, map: &Map) -> Result<Box<dyn Exchange>> {
        Solo.exchange(map)
    }
}

/// The peaks of a run's stages.
pub fn measured<S: Job>(space: &S, deck: &Deck, reset: &dyn Fn(), peak: &dyn Fn() -> u64) -> [u64; 4] {
    let comm = Noting { reset, peak, phases: RefCell::default() };
    // A loose solve is no error, whatever the verdict.
    solution_on(space, deck, &comm, &silent).unwrap();
    let of = |names: &[&str]| {
        let phases = comm.phases.borrow();
        phases.iter().filter(|(name, _)| names.contains(&name.as_str())).map(|(_, peak)| *peak).max()
    };
    let mesh = of(&["mesh", "connections between ranks"]).unwrap();
    // Without a matrix there is no stage of the graph.
    [mesh, of(&["graph"]).unwrap_or(mesh), of(&["set-up"]).unwrap(), of(&["solution"]).unwrap()]
}

/// A run's settings and their forecast's.
pub struct Case {
    pub problem: ProblemKind,
    pub element: ElementType,
    pub points: [u64; 3],
    pub choices: Choices,
}

impl Case {
    pub fn deck(&self) -> Deck {
        let mut deck = Deck::default();
        let Case { problem, element, points, choices } = self;
        (deck.mesh.nodes, deck.mesh.element, deck.problem.kind) = (Nodes::new(*points).ok(), *element, *problem);
        (deck.fill.strategy, deck.cg.operator, deck.run.preset) =
            (Choice::Given(choices.fill), choices.operator, Preset::Fast);
        if choices.operator == Operator::Assembled {
            deck.graph.strategy = Choice::Given(choices.graph);
            (deck.matrix.format, deck.matrix.values) = (Choice::Given(choices.storage.format), choices.storage.values);
        }
        (deck.cg.tolerance, deck.cg.variant) = (Some(0.5), Choice::Given(choices.variant));
        (deck.newton.tolerance, deck.run.triad) = (Some(0.9), Some(false));
        // Levels of multigrid, which the preset would take for many unknowns, are forecast elsewhere.
        deck.cg.preconditioner = Choice::Given(Preconditioning::None);
        deck
    }

    pub fn sizes(&self) -> Sizes {
        let deck = self.deck();
        let part = BoxPart::new(&deck.spec(Nodes::new(self.points).unwrap()).unwrap(), 0, 1).unwrap();
        Sizes::of(&part, self.element, self.problem.dofs(), self.problem != ProblemKind::Heat)
    }

    /// Compares a forecast with measured peaks; returns the smallest and the largest ratio.
    pub fn compare(&self, forecast: [u64; 4], measured: [u64; 4]) -> [f64; 2] {
        let Case { problem, element, points, choices } = self;
        let mut worst = [f64::INFINITY, 0.0];
        for ((stage, forecast), measured) in STAGES.iter().zip(forecast).zip(measured) {
            let ratio = forecast as f64 / measured as f64;
            println!(
                "{problem} on {element}, {points:?}, {choices:?}: {stage} {forecast} of {measured} bytes, {ratio:.3}"
            );
            worst = [ratio.min(worst[0]), ratio.max(worst[1])];
        }
        worst
    }
}

#[test]
fn forecasts_of_models_on_the_host_are_the_measured_peaks() {
    let _alone = alone();
    let choose = |graph, fill, format: Format, threads| Choices {
        graph,
        fill,
        kernel: fill::Kernel::Table,
        workset: fill::Workset::default(),
        is_symmetric: true,
        storage: format.into(),
        operator: Operator::Assembled,
        variant: CgVariant::default(),
        threads,
    };
    let usual = choose(graph::Strategy::Gather, fill::Strategy::Colour, Format::Crs, 2);
    let mut cases = Vec::new();
    for (element, _) in ElementType::ALL.into_iter().filter(|(element, _)| element.dim() == 3) {
        for problem in [ProblemKind::Poisson, ProblemKind::Elasticity] {
            cases.push(Case { problem, element, points: [25, 23, 21], choices: usual });
        }
    }
    let (poisson, tet10) = (ProblemKind::Poisson, ElementType::Tet10);
    for (graph, _) in graph::Strategy::ALL {
        let choices = choose(graph, fill::Strategy::Colour, Format::Crs, 1);
        cases.push(Case { problem: poisson, element: tet10, points: [21; 3], choices });
        cases.push(Case { problem: poisson, element: ElementType::Hex27, points: [25, 23, 27], choices });
    }
    for (fill, _) in fill::Strategy::ALL {
        for (problem, element) in [(ProblemKind::Heat, tet10), (ProblemKind::Elasticity, ElementType::Hex8)] {
            let choices = choose(graph::Strategy::Gather, fill, Format::Crs, 2);
            cases.push(Case { problem, element, points: [25; 3], choices });
        }
    }
    for format in [Format::Pattern, Format::Symmetric] {
        for element in [ElementType::Hex8, ElementType::Tet4, ElementType::Hex20] {
            let choices = choose(graph::Strategy::Gather, fill::Strategy::Colour, format, 2);
            cases.push(Case { problem: poisson, element, points: [41, 27, 25], choices });
            cases.push(Case { problem: ProblemKind::Elasticity, element, points: [41, 27, 25], choices });
        }
    }
    for (fill, _) in fill::Strategy::ALL {
        for (problem, element) in [(poisson, ElementType::Hex27), (ProblemKind::Elasticity, tet10)] {
            let choices = Choices { operator: Operator::MatrixFree, fill, ..usual };
            cases.push(Case { problem, element, points: [41, 31, 37], choices });
        }
    }
    let mut worst = [1.0f64; 2];
    for case in &cases {
        let space = Threads::new(case.choices.threads as usize).unwrap();
        let base = USED.load(Relaxed);
        let reset = || PEAK.store(USED.load(Relaxed), Relaxed);
        let measured = measured(&space, &case.deck(), &reset, &|| PEAK.load(Relaxed).saturating_sub(base) as u64);
        let forecast = Forecast::of::<Threads>(&case.sizes(), &case.choices).stages;
        let [least, most] = case.compare(forecast, measured);
        // The growth of the hash table depends on its contents.
        let is_hashed = case.choices.graph == graph::Strategy::DashMap;
        worst = [worst[0].min(least), worst[1].max(if is_hashed { most / 1.1 } else { most })];
    }
    println!("{} runs of 4 stages: forecast / measured is {:.3} to {:.3}", cases.len(), worst[0], worst[1]);
    assert!(worst[0] >= 0.9 && worst[1] <= 1.1, "forecast / measured is {worst:?}, expected 0.9 to 1.1");
}

/// What `--dry-run` prints is the forecast, and a run that does not fit is refused before it allocates.
#[test]
fn a_dry_run_of_a_model_prints_its_forecast_and_refuses_what_does_not_fit() {
    let _alone = alone();
    let choices = Choices {
        graph: graph::Strategy::Gather,
        fill: fill::Strategy::Colour,
        kernel: fill::Kernel::Table,
        workset: fill::Workset::default(),
        is_symmetric: true,
        storage: Format::Crs.into(),
        operator: Operator::Assembled,
        variant: CgVariant::default(),
        threads: 1,
    };
    let case = Case { problem: ProblemKind::Elasticity, element: ElementType::Hex20, points: [21, 19, 17], choices };
    let flags = "--problem elasticity --element hex20 --device cpu --threads 1 --format crs --preset fast --dry-run";
    let run = |nodes: &str| {
        let flags = flags.split(' ').chain(["--nodes", nodes]);
        Command::new(assert_cmd::cargo::cargo_bin("minifenl")).args(flags).output().unwrap()
    };
    let output = run("21x19x17");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{output:?}");
    let sizes = case.sizes();
    assert_eq!(printed(&text), Forecast::of::<Threads>(&sizes, &choices).stages);
    for line in [
        "problem     elasticity on hex20".to_string(),
        // 11 x 10 x 9 corners, midpoints of 10 x 10 x 9 + 11 x 9 x 9 + 11 x 10 x 8 edges.
        "mesh        21 x 19 x 17 points, 3661 nodes, 720 elements".into(),
        format!("            720 elements, {} entries of the matrix", 9 * sizes.nnz),
    ] {
        assert!(text.lines().any(|other| other == line), "{line}: {text}");
    }
    assert!(text.lines().all(|line| line.len() <= 80) && text.contains("\nFITS: peak "), "{text}");
    let output = run("601");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{output:?}");
    assert!(error.contains("error: stage `graph`") && error.contains("bytes) are free"), "{error}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("\nTOO LARGE: peak "), "{output:?}");
    let flags: Vec<&str> = flags.split(' ').filter(|flag| *flag != "--dry-run").chain(["--nodes", "601"]).collect();
    let output = Command::new(assert_cmd::cargo::cargo_bin("minifenl")).args(&flags).output().unwrap();
    let refused = String::from_utf8_lossy(&output.stderr).into_owned();
    // Free memory differs from run to run, and with it the number of nodes that would fit.
    let needed = |error: &str| {
        let (stage, rest) = error.split_once(": this number of nodes (--nodes or --nodes-per-rank; about ").unwrap();
        let (_, rest) = rest.split_once(" on this rank would fit) needs ").unwrap();
        [stage.to_owned(), rest.split_once(", ").unwrap().0.to_owned()]
    };
    assert_eq!((output.status.code(), needed(&refused)), (Some(2), needed(&error)));
}
