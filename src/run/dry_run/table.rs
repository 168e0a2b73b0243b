//! The forecast for people, at most 80 columns wide for boxes of up to 10^9 nodes per rank.

use super::DryRun;
use crate::error::count;
use crate::run::deck::Operator;
use crate::run::forecast::STAGES;
use crate::run::report::{columns, line};

impl DryRun {
    /// The forecast as text. The last line begins with FITS, TOO LARGE or UNKNOWN.
    pub fn table(&self) -> String {
        let ([x, y, z], largest, with) = (self.points, &self.largest, &self.choices);
        let (nodes, elements) = (count(self.nodes, "node"), count(self.elements, "element"));
        let (equals, problem) = match &self.problem {
            None => ("=", String::new()),
            Some(problem) => ("points,", format!("problem     {problem}\n")),
        };
        let format = if self.is_on_cpu() { None } else { Some(format!("format {}", with.storage.format)) };
        let sizes = &largest.sizes;
        let (strategies, entries) = match with.operator {
            Operator::MatrixFree => (vec!["operator matrix-free".into(), format!("fill {}", with.fill)], String::new()),
            Operator::Assembled => {
                let entries = format!(", {}", count(sizes.matrix().shape.entries, "entry"));
                let (graph, fill) = (format!("graph {}", with.graph), format!("fill {}", with.fill));
                (vec![graph, fill, format!("kernel {}", with.kernel)], entries + " of the matrix")
            }
        };
        let strategies = line("strategies", strategies.into_iter().chain([self.solver.clone()]).chain(format));
        let who = if self.ranks > 1 {
            format!("rank {} of {}, the one that needs the most memory", largest.rank, self.ranks)
        } else {
            "the whole box".into()
        };
        let mut text = format!(
            "minifenl {}: forecast of a run (--dry-run); nothing is solved\n\
             {problem}mesh        {x} x {y} x {z} {equals} {nodes}, {elements}\n\
             parallel    {} x {} on {}\n\
             {strategies}\
             part        {who}\n            \
             {}, {}\n            \
             {}{entries}\n\n",
            env!("CARGO_PKG_VERSION"),
            count(self.ranks, "rank"),
            count(self.threads, "thread"),
            self.device,
            count(sizes.owned, "node"),
            count(sizes.ghosts, "ghost"),
            count(sizes.elems, "element"),
        );
        let has_graph = with.operator == Operator::Assembled;
        let stages = STAGES.into_iter().zip(largest.forecast.stages);
        let stages = stages.filter(|(name, _)| has_graph || *name != "graph");
        let staging = (largest.forecast.staging > 0).then_some(("mesh, on the host", largest.forecast.staging));
        let on_host = if self.is_on_cpu() { "vtk" } else { "vtk, on the host" };
        let vtk = (largest.forecast.vtk > 0).then_some((on_host, largest.forecast.vtk));
        let rows = stages.chain(staging).chain(vtk).map(|(name, bytes)| {
            let per_node = bytes as f64 / sizes.owned.max(1) as f64;
            vec![name.to_string(), bytes.to_string(), mib(bytes), format!("{per_node:.1}")]
        });
        text += &columns(&["stage", "bytes at its peak", "MiB", "B/node"], rows);
        text += "bytes: arrays of the rank; the peak memory of a report is that of all ranks,\n       on a host with the program\n";
        text + &format!("\nfree memory {}\n{}\n", self.free(), self.verdict())
    }

    fn is_on_cpu(&self) -> bool {
        self.device == "cpu"
    }

    /// What is free for the largest rank.
    fn free(&self) -> String {
        match self.largest.free {
            None => "unknown".into(),
            Some([u64::MAX, _]) => "without limit".into(),
            Some([free, _]) if self.is_on_cpu() => format!("{} MiB", mib(free)),
            Some([free, on_host]) => format!("{} MiB on the GPU, {} MiB on the host", mib(free), mib(on_host)),
        }
    }

    fn verdict(&self) -> String {
        let forecast = &self.largest.forecast;
        let peak = forecast.peak().max(if self.is_on_cpu() { forecast.vtk } else { 0 });
        let per_node = peak as f64 / self.largest.sizes.owned.max(1) as f64;
        let word = match self.fits {
            Some(true) => "FITS",
            Some(false) => "TOO LARGE",
            None => "UNKNOWN",
        };
        format!("{word}: peak {} MiB, {per_node:.1} B/node", mib(peak))
    }
}

fn mib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use crate::comm::Communicator;
    use crate::comm::Solo;
    use crate::comm::ranks::{on_hosts, on_ranks};
    use crate::mesh::{BoxPart, BoxSpec, CoordinateMap};
    use crate::run::deck::Operator;
    use crate::run::dry_run;
    use crate::run::forecast::{Forecast, Sizes};
    use crate::run::{Deck, Device, deck::Nodes, silent};
    use crate::space::Threads;

    fn deck(nodes: [u64; 3]) -> Deck {
        let mut deck = Deck::default();
        (deck.mesh.nodes, deck.run.device, deck.run.threads) = (Nodes::new(nodes).ok(), Device::Cpu, Some(2));
        deck
    }

    #[test]
    fn a_small_box_fits_and_says_its_sizes() {
        let dry = dry_run(&deck([9, 8, 7]), &Solo, &silent).unwrap();
        assert_eq!((dry.fits, dry.own.clone()), (Some(true), dry.largest.clone()));
        let table = dry.table();
        for line in [
            "mesh        9 x 8 x 7 = 504 nodes, 336 elements",
            "parallel    1 rank x 2 threads on cpu",
            "strategies  graph map, fill scatter, kernel intrepid, CG classic",
            "part        the whole box",
            "            504 nodes, 0 ghosts",
            // 25 x 22 x 19 pairs of neighbours.
            "            336 elements, 10450 entries of the matrix",
        ] {
            assert!(table.lines().any(|other| other == line), "{line}: {table}");
        }
        assert!(table.lines().all(|line| line.len() <= 80), "{table}");
        assert!(table.lines().last().unwrap().starts_with("FITS: peak "), "{table}");
        dry.check(&Solo).unwrap();
    }

    /// Preset `fast` takes multigrid for many unknowns, in a forecast, too.
    #[test]
    fn the_solver_is_that_of_the_run() {
        for (edge, solver) in [(20, "CG classic"), (45, "CG classic with mg")] {
            let mut deck = deck([edge; 3]);
            deck.run.preset = crate::run::deck::Preset::Fast;
            assert_eq!(dry_run(&deck, &Solo, &silent).unwrap().solver, solver);
        }
    }

    #[test]
    fn a_run_without_a_matrix_has_no_graph() {
        let mut deck = deck([9, 8, 7]);
        deck.cg.operator = Operator::MatrixFree;
        let table = dry_run(&deck, &Solo, &silent).unwrap().table();
        assert!(!table.contains("\ngraph ") && table.contains("\nsetup "), "{table}");
    }

    #[test]
    fn the_file_for_vtk_is_a_stage() {
        let mut deck = deck([9, 8, 7]);
        let without = dry_run(&deck, &Solo, &silent).unwrap();
        deck.run.vtk = Some("x.vtu".into());
        let mut dry = dry_run(&deck, &Solo, &silent).unwrap();
        assert_eq!((dry.own.forecast.stages, without.own.forecast.vtk), (without.own.forecast.stages, 0));
        let bytes = dry.own.forecast.vtk;
        // Mesh and field, 48 bytes per node and 45 per element, and the head.
        assert_eq!(bytes, 504 * (25 + 8 + 48) + 336 * (32 + 45) + 2048);
        let line = dry.table().lines().find(|line| line.starts_with("vtk ")).map(String::from);
        assert!(line.unwrap().contains(&bytes.to_string()) && !without.table().contains("vtk"), "{}", dry.table());
        // Where it needs more than all stages, it is the peak, and what does not fit.
        (dry.own.forecast.vtk, dry.largest.forecast.vtk) = (1 << 40, 1 << 40);
        assert!(dry.table().contains("peak 1048576.0 MiB"), "{}", dry.table());
        dry.own.free = Some([1 << 30, 1 << 30]);
        assert!(dry.check(&Solo).unwrap_err().to_string().starts_with("stage `vtk`: "));
    }

    #[test]
    fn all_ranks_have_the_numbers_of_the_largest() {
        let nodes = [9, 8, 10];
        let spec = BoxSpec::new(nodes, [1.0; 3], CoordinateMap::None).unwrap();
        let found = on_ranks(3, |comm| dry_run(&deck(nodes), comm, &silent).unwrap());
        let own = |rank| Sizes::of_box(&BoxPart::new(&spec, rank, 3).unwrap());
        let peaks: Vec<u64> =
            (0..3).map(|rank| Forecast::of::<Threads>(&own(rank), &found[0].choices).peak()).collect();
        let rank = peaks.iter().position(|peak| peak == peaks.iter().max().unwrap()).unwrap();
        // Only then does the test tell the largest rank from the first.
        assert_ne!(peaks[0], peaks[rank]);
        for (at, dry) in found.iter().enumerate() {
            assert_eq!((dry.own.rank, dry.own.sizes), (at, own(at)));
            assert_eq!((dry.largest.rank, dry.largest.sizes), (rank, own(rank)));
            assert_eq!(dry.largest.forecast, Forecast::of::<Threads>(&own(rank), &dry.choices));
            assert!(dry.table().contains(&format!("part        rank {rank} of 3, the one that ")), "{}", dry.table());
            let per_node = dry.largest.forecast.stages[3] as f64 / own(rank).owned as f64;
            let table = dry.table();
            let solve = table.lines().find(|line| line.starts_with("solve ")).unwrap();
            assert!(solve.ends_with(&format!(" {per_node:.1}")), "{per_node}: {solve}");
        }
    }

    /// Ranks of other machines have other free memory and other threads.
    #[test]
    fn free_memory_and_threads_are_those_of_the_largest_rank() {
        let found = on_ranks(3, |comm| {
            let (rank, deck) = (comm.rank() as u64, deck([9, 8, 10]));
            let of_ranks = super::super::of_ranks::<Threads>;
            of_ranks(&deck, comm, "cpu".into(), 2 + comm.rank(), Some((1 << 40) + rank)).unwrap()
        });
        let largest = found[0].largest.rank;
        assert_ne!(largest, 0);
        for dry in &found {
            assert_eq!(dry.largest.free.unwrap()[0], (1 << 40) + largest as u64);
            assert_eq!((&dry.largest.forecast, dry.fits), (&found[largest].own.forecast, Some(true)));
            // Memory depends on the threads of the rank.
            assert_eq!(dry.choices.threads, 2 + dry.own.rank as u64);
        }
        // One rank without memory is enough.
        let found = on_ranks(3, |comm| {
            let free = Some(if comm.rank() == 1 { 1000 } else { 1 << 40 });
            super::super::of_ranks::<Threads>(&deck([9, 8, 10]), comm, "cpu".into(), 2, free).unwrap().fits
        });
        assert_eq!(found, [Some(false); 3]);
    }

    #[test]
    fn one_rank_that_does_not_fit_is_too_large_for_all() {
        let dry = on_ranks(3, |comm| {
            let mut dry = dry_run(&deck([9, 8, 10]), comm, &silent).unwrap();
            if comm.rank() == 1 {
                dry.own.free = Some([1000, u64::MAX]);
            }
            dry.check(comm).unwrap_err().to_string()
        });
        assert!(dry[1].contains("rank 1, stage `mesh`") && dry[1].contains("(1000 bytes) are free"), "{dry:?}");
        assert!(dry[0].contains("rank 1") && dry[0] == dry[2], "{dry:?}");
    }

    #[test]
    fn the_table_of_a_gpu_stays_narrow_and_says_what_is_unknown() {
        let mut dry = dry_run(&deck([800; 3]), &Solo, &silent).unwrap();
        (dry.device, dry.fits, dry.largest.free) = ("a GPU".into(), None, None);
        dry.choices.storage = crate::sparse::MatrixStorage::default();
        dry.largest.forecast.staging = 1 << 33;
        let table = dry.table();
        assert!(
            table.contains("\nfree memory unknown\nUNKNOWN: peak ") && table.contains("\n            format pattern\n"),
            "{table}"
        );
        assert!(table.contains("mesh, on the host ") && table.lines().all(|line| line.len() <= 80), "{table}");
        (dry.fits, dry.largest.free) = (Some(false), Some([1 << 37, 1 << 36]));
        let table = dry.table();
        assert!(table.contains("free memory 131072.0 MiB on the GPU, 65536.0 MiB on the host\nTOO LARGE: "), "{table}");
        assert!(table.lines().all(|line| line.len() <= 80), "{table}");
    }

    /// MiB and bytes per node of each stage, and of the peak, from the bytes of the forecast.
    #[test]
    fn the_table_has_the_forecast_in_its_units() {
        let mut dry = dry_run(&deck([9, 8, 7]), &Solo, &silent).unwrap();
        let mib = f64::from(1 << 20);
        dry.largest.forecast.stages = [504 << 10, 504 << 20, 504, 3 * (504 << 19)];
        (dry.largest.forecast.vtk, dry.largest.free) = (504 << 18, Some([5 << 19, 7 << 20]));
        let table = dry.table();
        for (name, bytes, per_node) in [
            ("mesh", 504 << 10, "1024.0"),
            ("graph", 504 << 20, "1048576.0"),
            ("setup", 504, "1.0"),
            ("solve", 3 * (504 << 19), "1572864.0"),
            ("vtk", 504 << 18, "262144.0"),
        ] {
            let cells =
                [name.to_string(), bytes.to_string(), format!("{:.1}", f64::from(bytes) / mib), per_node.into()];
            assert!(table.lines().any(|line| line.split_whitespace().eq(cells.iter())), "{cells:?}: {table}");
        }
        assert!(table.ends_with("\nfree memory 2.5 MiB\nFITS: peak 756.0 MiB, 1572864.0 B/node\n"), "{table}");
        // A file for VTK is composed on the host: it is not in the peak of a GPU.
        dry.largest.forecast.vtk = 504 << 21;
        assert!(dry.table().ends_with("FITS: peak 1008.0 MiB, 2097152.0 B/node\n"), "{}", dry.table());
        (dry.device, dry.largest.forecast.staging) = ("a GPU".into(), 504 << 17);
        let table = dry.table();
        assert!(table.ends_with("FITS: peak 756.0 MiB, 1572864.0 B/node\n"), "{table}");
        for line in ["mesh, on the host 66060288 63.0 131072.0", "vtk, on the host 1056964608 1008.0 2097152.0"] {
            assert!(table.lines().any(|found| found.split_whitespace().eq(line.split_whitespace())), "{line}: {table}");
        }
    }

    /// Ranks of other hosts use no memory of this one. Other processes do, in between.
    #[test]
    fn free_memory_is_that_of_a_rank_on_its_host() {
        let run = |comm: &dyn Communicator| dry_run(&deck([9, 8, 10]), comm, &silent).unwrap().largest.free.unwrap();
        let [two, of_hosts] = [on_ranks(2, |comm| run(comm))[1], on_hosts(0, [2, 2], |comm| run(comm))[3]];
        let ratios = [0, 1].map(|at| of_hosts[at] as f64 / two[at] as f64);
        assert!(ratios.iter().all(|ratio| (0.8..1.25).contains(ratio)), "{of_hosts:?} {two:?}");
    }

    /// Of ranks that need as much as each other the lowest is shown: the ends of a box that is cut in two, four or in layers.
    #[test]
    fn the_lowest_of_alike_ranks_is_the_largest() {
        for (nodes, ranks) in [([9, 8, 10], 2), ([8, 8, 12], 4), ([4, 4, 20], 5)] {
            let found = on_ranks(ranks, |comm| dry_run(&deck(nodes), comm, &silent).unwrap());
            let peaks: Vec<u64> = found.iter().map(|dry| dry.own.forecast.peak()).collect();
            let most = *peaks.iter().max().unwrap();
            let lowest = peaks.iter().position(|peak| *peak == most).unwrap();
            assert!(peaks.iter().filter(|peak| **peak == most).count() > 1, "{peaks:?}");
            assert!(found.iter().all(|dry| dry.largest.rank == lowest), "{peaks:?}");
        }
    }
}
