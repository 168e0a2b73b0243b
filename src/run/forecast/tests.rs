//! Sizes and bounds against meshes and graphs that are built; messages.

use super::*;
use crate::comm::Solo;
use crate::comm::ranks::on_ranks;
use crate::element::ElementType;
use crate::graph;
use crate::mesh::{BoxPart, BoxSpec, CoordinateMap, Face, Mesh};
use crate::space::{Serial, Threads};
use crate::sparse::Format;

/// Rows of a slice.
const SLICE: u64 = 32;

#[test]
fn sizes_are_those_of_the_mesh_and_its_graph() {
    let spec = BoxSpec::new([5, 7, 11], [1.0; 3], CoordinateMap::None).unwrap();
    for ranks in [1, 2, 5, 12] {
        for rank in 0..ranks {
            let part = BoxPart::new(&spec, rank, ranks).unwrap();
            let sizes = Sizes::of_box(&part);
            let mesh = Mesh::new(&Serial, part).unwrap();
            let rows = mesh.map.owned_count();
            let crs = graph::build(&Serial, &mesh.elem_node, rows, Graph::Sort).unwrap().crs;
            let is_fixed = |node: usize| [Face::ZMin, Face::ZMax].iter().any(|f| f.is_in(mesh.node_faces[node]));
            let columns = |row: usize| crs.row(row).iter().map(|&column| column as usize);
            let cleared = |row: usize| columns(row).filter(|&c| c != row && (is_fixed(row) || is_fixed(c))).count();
            let corners = mesh.elem_node.as_slice().iter().filter(|&&node| (node as usize) < rows).count();
            let expected = Sizes {
                owned: rows as u64,
                ghosts: mesh.map.ghost_count() as u64,
                elems: mesh.elem_count() as u64,
                nnz: crs.nnz() as u64,
                corners: corners as u64,
                sent: mesh.map.neighbours().iter().map(|n| n.send.len() as u64).sum(),
                fixed: (0..rows).filter(|&row| is_fixed(row)).count() as u64,
                cleared: (0..rows).map(cleared).sum::<usize>() as u64,
                ..sizes
            };
            assert_eq!(sizes, expected, "rank {rank} of {ranks}");
        }
    }
}

#[test]
fn sizes_are_those_of_the_elements_and_their_graph() {
    for (element, name) in ElementType::volumes() {
        let spec = BoxSpec::new([9, 7, 11], [1.0; 3], CoordinateMap::None).unwrap();
        for (ranks, fixes_all_faces) in [(1, true), (1, false), (2, true), (5, false), (8, true)] {
            on_ranks(ranks, |comm| {
                let box_part = BoxPart::new(&spec, comm.rank(), ranks).unwrap();
                let sizes = Sizes::of(&box_part, element, 1, fixes_all_faces);
                let part = Mesh::of_elements(comm, element, &box_part).unwrap();
                let rows = part.map.owned_count();
                let graph = graph::build(&Serial, &part.elem_node, rows, Graph::Sort).unwrap();
                let is_fixed = |node: usize| match fixes_all_faces {
                    true => part.node_faces[node] != 0,
                    false => [Face::ZMin, Face::ZMax].iter().any(|face| face.is_in(part.node_faces[node])),
                };
                let columns = |row: usize| graph.crs.row(row).iter().map(|&column| column as usize);
                let cleared = |row: usize| columns(row).filter(|&c| c != row && (is_fixed(row) || is_fixed(c))).count();
                let mut corners = vec![0; rows];
                for &node in part.elem_node.as_slice().iter().filter(|&&node| (node as usize) < rows) {
                    corners[node as usize] += 1;
                }
                let expected = Sizes {
                    owned: rows as u64,
                    ghosts: part.map.ghost_count() as u64,
                    elems: part.elem_node.elem_count() as u64,
                    nnz: graph.crs.nnz() as u64,
                    corners: corners.iter().sum::<u64>(),
                    fixed: (0..rows).filter(|&row| is_fixed(row)).count() as u64,
                    cleared: (0..rows).map(cleared).sum::<usize>() as u64,
                    ..sizes
                };
                assert_eq!(sizes, expected, "{name}, rank {} of {ranks}", comm.rank());
                assert_eq!(sizes.longest, graph.crs.longest_row() as u64, "{name}");
                assert_eq!(Sizes::whole(&spec, element), [part.map.global_count(), part.global_elem_count()], "{name}");
                assert!(sizes.lined >= sizes.nnz && sizes.looked_at >= sizes.elems, "{name}");
            });
        }
    }
}

/// Lays out slices as a GPU does: a table of at most 40 offsets and at most 3/2 of the longest row, or listed columns. In halves, tables
/// lack the offsets whose opposites are in the tables of both slices of partners.
#[test]
fn slices_of_parts_are_bounded() {
    for (nodes, ranks) in [
        ([70, 66, 68], 1),
        ([70, 66, 68], 2),
        ([80, 84, 88], 8),
        ([96, 96, 80], 8),
        ([120, 110, 100], 27),
        ([40; 3], 27),
    ] {
        let spec = BoxSpec::new(nodes, [1.0; 3], CoordinateMap::None).unwrap();
        for rank in [0, ranks / 2, ranks - 1] {
            let part = BoxPart::new(&spec, rank, ranks).unwrap();
            let sizes = Sizes::of_box(&part);
            let mesh = Mesh::new(&Serial, part).unwrap();
            let rows = mesh.map.owned_count();
            let crs = graph::build(&Serial, &mesh.elem_node, rows, Graph::Gather).unwrap().crs;
            // Length of the longest row, and the table.
            let of_slice = |first: usize| {
                let slice = first..rows.min(first + SLICE as usize);
                let offsets = |row: usize| crs.row(row).iter().map(move |&column| i64::from(column) - row as i64);
                let mut table: Vec<i64> = slice.clone().flat_map(offsets).collect();
                table.sort_unstable();
                table.dedup();
                let longest = slice.map(|row| crs.row(row).len()).max().unwrap_or(0);
                (longest as u64, (table.len() <= 40 && 2 * table.len() <= 3 * longest).then_some(table))
            };
            let slices: Vec<_> = (0..rows).step_by(SLICE as usize).map(of_slice).collect();
            let has = |first: i64, offset: i64| {
                let slice = usize::try_from(first.div_euclid(SLICE as i64)).ok();
                slice.and_then(|slice| slices[slice].1.as_ref()).is_some_and(|table| table.contains(&offset))
            };
            let is_mirrored = |slice: usize, o: i64| {
                let first = slice as i64 * SLICE as i64 + o;
                o < 0 && has(first, -o) && has(first + SLICE as i64 - 1, -o)
            };
            for format in [Format::Pattern, Format::Symmetric] {
                let halves = format == Format::Symmetric;
                let of_row = |(slice, (longest, table)): (usize, &(u64, Option<Vec<i64>>))| match table {
                    None => 12 * longest,
                    Some(table) => 8 * table.iter().filter(|&&o| !(halves && is_mirrored(slice, o))).count() as u64,
                };
                let bytes = SLICE * slices.iter().enumerate().map(of_row).sum::<u64>();
                let bound = MatrixStorage::from(format).copy_bytes(&sizes.matrix(), true) - rows as u64 / 2;
                let case =
                    format!("{nodes:?}, rank {rank} of {ranks}, {format}: {bytes} bytes of {rows} rows, bound {bound}");
                println!("{case}, {:.3}", bound as f64 / bytes as f64);
                assert!(bytes as f64 <= 1.02 * bound as f64 && bound as f64 <= 1.15 * bytes as f64, "{case}");
            }
        }
    }
}

#[test]
fn the_first_stage_that_does_not_fit_is_named_with_its_bytes() {
    let forecast = Forecast { nodes: 1000, stages: [100, 300, 200, 400], staging: 0, vtk: 0 };
    assert_eq!(forecast.peak(), 400);
    forecast.check(&Solo, 400, 0).unwrap();
    for (free, stage, wanted, fitting) in [(399, "solve", 400, 997), (299, "graph", 300, 747), (0, "mesh", 100, 0)] {
        let text = forecast.check(&Solo, free, 0).unwrap_err().to_string();
        for part in [
            format!("stage `{stage}`"),
            format!("({wanted} bytes)"),
            format!("({free} bytes) are free"),
            format!("about {fitting} "),
        ] {
            assert!(text.contains(&part), "{text}");
        }
    }
    let on_gpu = Forecast { nodes: 1, stages: [1; 4], staging: 50, vtk: 0 };
    on_gpu.check(&Solo, 1, 50).unwrap();
    assert!(on_gpu.check(&Solo, 1, 49).unwrap_err().to_string().contains("(49 bytes) are free"));
}

/// A ghost: coordinates and faces 25, an item of each vector with ghosts and of Newton's, a received value; without a matrix also its mark
/// and the unknowns of the last linearisation.
#[test]
fn a_ghost_and_a_sent_value_cost_what_they_do_by_hand() {
    let part = BoxPart::new(&BoxSpec::new([5, 7, 11], [1.0; 3], CoordinateMap::None).unwrap(), 0, 2).unwrap();
    let sizes = Sizes::of_box(&part);
    let solve = |sizes: &Sizes, operator, variant| {
        let choices = Choices {
            graph: Graph::Gather,
            fill: fill::Strategy::Gather,
            kernel: fill::Kernel::Table,
            workset: fill::Workset::default(),
            is_symmetric: true,
            storage: Format::Crs.into(),
            operator,
            variant,
            threads: 1,
        };
        Forecast::of::<Threads>(sizes, &choices).stages[3]
    };
    let (ghosts, sent) = (Sizes { ghosts: sizes.ghosts + 1, ..sizes }, Sizes { sent: sizes.sent + 1, ..sizes });
    for (operator, variant, ghost) in [
        (Operator::Assembled, CgVariant::Classic, 25 + 8 + 8 + 8),
        (Operator::Assembled, CgVariant::SingleReduction, 25 + 16 + 8 + 8),
        (Operator::MatrixFree, CgVariant::Classic, 25 + 8 + 8 + 8 + 1 + 8),
    ] {
        let now = solve(&sizes, operator, variant);
        let found = [solve(&ghosts, operator, variant) - now, solve(&sent, operator, variant) - now];
        // A sent value has a place in the list of the map and of the exchange, and in the message.
        assert_eq!(found, [ghost, 4 + 4 + 8], "{operator:?} {variant:?}");
    }
}

/// Three unknowns per node: each sent one has a place in the lists of the exchange and of the map, which is made anew, and in the message;
/// a node has one place in the map of nodes.
#[test]
fn a_sent_node_of_several_unknowns_costs_what_they_do_by_hand() {
    let part = BoxPart::new(&BoxSpec::new([5, 7, 11], [1.0; 3], CoordinateMap::None).unwrap(), 0, 2).unwrap();
    let sizes = Sizes::of(&part, ElementType::Hex8, 3, true);
    let stages = |sizes: &Sizes| {
        let choices = Choices {
            graph: Graph::Gather,
            fill: fill::Strategy::Gather,
            kernel: fill::Kernel::Table,
            workset: fill::Workset::default(),
            is_symmetric: true,
            storage: Format::Crs.into(),
            operator: Operator::Assembled,
            variant: CgVariant::Classic,
            threads: 1,
        };
        Forecast::of::<Threads>(sizes, &choices).stages
    };
    let (setup, solve) = (|sizes: &Sizes| stages(sizes)[2], |sizes: &Sizes| stages(sizes)[3]);
    let more = |sizes: Sizes| solve(&sizes) - solve(&Sizes::of(&part, ElementType::Hex8, 3, true));
    assert_eq!(more(Sizes { sent: sizes.sent + 1, ..sizes }), 4 + 3 * (4 + 4 + 8));
    // Coordinates and faces of a ghost; of each unknown an item of CG's vector, of Newton's, and a received value.
    assert_eq!(more(Sizes { ghosts: sizes.ghosts + 1, ..sizes }), 25 + 3 * (8 + 8 + 8));
    // Conditions: a fixed node has 3 rows and 6 entries of its own block, a pair 9.
    let conditions = |sizes: Sizes| {
        fill::Dirichlet::bytes(&sizes) - fill::Dirichlet::bytes(&Sizes { fixed: 0, cleared: 0, ..sizes })
    };
    assert_eq!(conditions(Sizes { fixed: 1, cleared: 0, ..sizes }), 3 * 4 + 6 * 8);
    assert_eq!(conditions(Sizes { fixed: 0, cleared: 1, ..sizes }), 9 * 8);
    // While so many are listed that nothing else counts, an entry takes 24 bytes: its list grows.
    let listed = |cleared: u64| setup(&Sizes { cleared: (1 << 40) + cleared, ..sizes });
    assert_eq!(listed(1) - listed(0), 9 * 24);
}

/// Set-up and solve have what is added; what the host needs is compared with what is free there, and named.
#[test]
fn additions_and_memory_of_the_host_are_in_their_stages() {
    let forecast = Forecast { nodes: 1000, stages: [100, 300, 200, 400], staging: 50, vtk: 70 };
    assert_eq!(forecast.clone().with(7), Forecast { stages: [100, 300, 207, 407], ..forecast.clone() });
    forecast.check(&Solo, 400, 70).unwrap();
    for (free, stage, fitting) in [(69, "vtk", 985), (49, "mesh", 700)] {
        let text = forecast.check(&Solo, 400, free).unwrap_err().to_string();
        assert!(text.contains(&format!("stage `{stage}`")) && text.contains(&format!("about {fitting} ")), "{text}");
    }
}
