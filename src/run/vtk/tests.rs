//! Files for VTK read back by hand; tests/vtk.py reads them with a package.

use super::*;
use crate::Error;
use crate::comm::Solo;
use crate::comm::ranks::{on_ranks, on_ranks_that_add};
use crate::element::ElementType;
use crate::mesh::vtu_numbers as array;
use crate::mesh::{BoxPart, check_vtu};
use crate::run::deck::{Deck, Device, Nodes};
use crate::run::{Analytic, silent, solution_on};
use crate::space::{Serial, Threads};

#[test]
fn pieces_of_all_ranks_hold_each_element_once_with_the_solution_at_its_nodes() {
    let mut deck = Deck::default();
    (deck.mesh.nodes, deck.run.device) = (Nodes::new([6, 5, 9]).ok(), Device::Cpu);
    for ranks in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a & b.vtu");
        let errors = on_ranks_that_add(1, ranks, |comm| {
            check_vtu(&path, comm).unwrap();
            let solution = solution_on(&Threads::new(1).unwrap(), &deck, comm, &silent).unwrap();
            solution.write_vtu(&path, &deck, comm).unwrap();
            solution.report.error_max
        });
        let mut corners = Vec::new();
        let mut largest = 0.0_f64;
        for rank in 0..ranks {
            let name = if ranks == 1 { path.clone() } else { path.with_extension(format!("{rank}.vtu")) };
            let file = std::fs::read(name).unwrap();
            let points = array(&file, "points", f64::from_le_bytes);
            let [temperature, error] = ["temperature", "error"].map(|name| array(&file, name, f64::from_le_bytes));
            let nodes = array(&file, "connectivity", u32::from_le_bytes);
            let cells = nodes.len() / 8;
            assert_eq!(array(&file, "rank", i32::from_le_bytes), vec![rank as i32; cells]);
            assert_eq!(array(&file, "types", u8::from_le_bytes), vec![12; cells]);
            assert_eq!(array(&file, "offsets", i64::from_le_bytes).last().copied(), Some(8 * cells as i64));
            assert_eq!((points.len(), temperature.len()), (3 * error.len(), error.len()));
            largest = error.iter().fold(largest, |largest, error| largest.max(error.abs()));
            for nodes in nodes.chunks_exact(8) {
                let at = |k: usize| &points[3 * nodes[k] as usize..][..3];
                let [low, along_x, opposite] = [0, 1, 6].map(at);
                assert!(along_x[0] > low[0] && along_x[1..] == low[1..], "VTK's order of nodes");
                assert!((0..3).all(|axis| opposite[axis] > low[axis]), "VTK's order of nodes");
                corners.push([0, 1, 2].map(|axis| (low[axis] * 1e6).round() as i64));
            }
        }
        corners.sort_unstable();
        corners.dedup();
        assert_eq!(corners.len(), 5 * 4 * 8, "{ranks} ranks");
        assert!((largest / 2.0 / errors[0] - 1.0).abs() < 1e-10, "{largest} and {}", errors[0]);
        let named = std::fs::read_to_string(path.with_extension("pvtu"));
        assert_eq!(named.is_ok(), ranks > 1);
        assert!(named.is_ok_and(|text| text.contains("\"a &amp; b.2.vtu\"") && !text.contains("Cells")) == (ranks > 1));
    }
}

/// A folder lies where rank 1 has its piece.
#[test]
fn a_piece_that_cannot_be_written_is_a_failure_of_all_ranks() {
    let mut deck = Deck::default();
    (deck.mesh.nodes, deck.run.device) = (Nodes::new([5; 3]).ok(), Device::Cpu);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.vtu");
    std::fs::create_dir(path.with_extension("1.vtu")).unwrap();
    let ends = on_ranks(3, |comm| {
        solution_on(&Serial, &deck, comm, &silent).unwrap().write_vtu(&path, &deck, comm).unwrap_err()
    });
    assert!(
        matches!(ends[..], [Error::Elsewhere { rank: 1 }, Error::File { .. }, Error::Elsewhere { rank: 1 }]),
        "{ends:?}"
    );
    assert!(!path.with_extension("pvtu").exists());
}

#[test]
fn a_folder_that_is_missing_is_refused() {
    let refused = check_vtu(Path::new("/no/such/folder/a.vtu"), &Solo).unwrap_err().to_string();
    assert!(refused.starts_with("/no/such/folder/a.vtu"), "{refused}");
}

/// Edges and faces of a cell in VTK's numbering: the corners between which each further node lies, and those of each face in the order
/// that turns around the normal out of the cell. From the arrays of vtkTriQuadraticHexahedron.cxx, vtkQuadraticTetra.cxx and
/// vtkWedge.cxx. The order of the faces is that of their nodes in a cell of 27.
fn vtk_cell(element: ElementType) -> (usize, Vec<Vec<usize>>, Vec<Vec<usize>>) {
    let lists = |lists: &[&[usize]]| lists.iter().map(|list| list.to_vec()).collect::<Vec<_>>();
    let hexahedron = lists(&[&[0, 4, 7, 3], &[1, 2, 6, 5], &[0, 1, 5, 4], &[3, 7, 6, 2], &[0, 3, 2, 1], &[4, 5, 6, 7]]);
    let tetrahedron = lists(&[&[0, 1, 3], &[1, 2, 3], &[2, 0, 3], &[0, 2, 1]]);
    let wedge = lists(&[&[0, 1, 2], &[3, 5, 4], &[0, 3, 4, 1], &[1, 4, 5, 2], &[2, 5, 3, 0]]);
    let edges = lists(&[
        &[0, 1],
        &[1, 2],
        &[2, 3],
        &[3, 0],
        &[4, 5],
        &[5, 6],
        &[6, 7],
        &[7, 4],
        &[0, 4],
        &[1, 5],
        &[2, 6],
        &[3, 7],
    ]);
    let centre = lists(&[&[0, 1, 2, 3, 4, 5, 6, 7]]);
    match element {
        ElementType::Hex8 => (8, vec![], hexahedron),
        ElementType::Hex20 => (8, edges, hexahedron),
        ElementType::Hex27 => (8, [edges, hexahedron.clone(), centre].concat(), hexahedron),
        ElementType::Tet4 => (4, vec![], tetrahedron),
        ElementType::Tet10 => (4, lists(&[&[0, 1], &[1, 2], &[2, 0], &[0, 3], &[1, 3], &[2, 3]]), tetrahedron),
        ElementType::Wedge6 => (6, vec![], wedge),
        ElementType::Wedge15 => {
            let edges = lists(&[&[0, 1], &[1, 2], &[2, 0], &[3, 4], &[4, 5], &[5, 3], &[0, 3], &[1, 4], &[2, 5]]);
            (6, edges, wedge)
        }
        _ => unreachable!(),
    }
}

fn mean(points: &[[f64; 3]]) -> [f64; 3] {
    [0, 1, 2].map(|axis| points.iter().map(|point| point[axis]).sum::<f64>() / points.len() as f64)
}

#[test]
fn nodes_are_where_vtk_looks_for_them() {
    for (element, name) in ElementType::volumes() {
        let (corners, middles, faces) = vtk_cell(element);
        let mut deck = Deck::default();
        (deck.mesh.nodes, deck.mesh.element, deck.run.device) = (Nodes::new([5, 3, 7]).ok(), element, Device::Cpu);
        (deck.problem.kind, deck.mesh.size) = (ProblemKind::Poisson, [1.0, 2.0, 3.0]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.vtu");
        solution_on(&Serial, &deck, &Solo, &silent).unwrap().write_vtu(&path, &deck, &Solo).unwrap();
        let file = std::fs::read(&path).unwrap();
        let points: Vec<[f64; 3]> = array(&file, "points", f64::from_le_bytes).as_chunks::<3>().0.to_vec();
        let nodes = array(&file, "connectivity", u32::from_le_bytes);
        assert_eq!(middles.len() + corners, element.nodes());
        let mut volume = 0.0;
        for cell in nodes.chunks_exact(element.nodes()) {
            let at: Vec<[f64; 3]> = cell.iter().map(|&node| points[node as usize]).collect();
            for (middle, ends) in middles.iter().enumerate() {
                let between: Vec<_> = ends.iter().map(|&corner| at[corner]).collect();
                let (found, expected) = (at[corners + middle], mean(&between));
                assert!((0..3).all(|a| (found[a] - expected[a]).abs() < 1e-14), "{name}: node {}", corners + middle);
            }
            // The faces close the cell and look outwards: volume = 1/3 of the sum of x . normal, by triangles around the first corner.
            for face in &faces {
                for pair in face[1..].windows(2) {
                    let [a, b, c] = [face[0], pair[0], pair[1]].map(|corner| at[corner]);
                    let cross = [0, 1, 2].map(|i| b[(i + 1) % 3] * c[(i + 2) % 3] - b[(i + 2) % 3] * c[(i + 1) % 3]);
                    volume += (0..3).map(|i| a[i] * cross[i]).sum::<f64>() / 6.0;
                }
            }
        }
        assert!((volume - 6.0).abs() < 1e-12, "{name}: {volume}");
    }
}

/// The field, the exact solution and the error of every problem at the points of the file, on one rank and on three.
#[test]
fn fields_of_all_problems_are_written_at_their_points() {
    for (kind, element, name, components) in [
        (ProblemKind::Heat, ElementType::Wedge6, "temperature", 1),
        (ProblemKind::Poisson, ElementType::Tet10, "u", 1),
        (ProblemKind::Elasticity, ElementType::Hex27, "displacement", 3),
        (ProblemKind::Minife, ElementType::Hex8, "u", 1),
    ] {
        let mut deck = Deck::default();
        (deck.mesh.nodes, deck.mesh.element, deck.run.device) = (Nodes::new([5, 5, 7]).ok(), element, Device::Cpu);
        deck.problem.kind = kind;
        for ranks in [1, 3] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.vtu");
            let parts = on_ranks(ranks, |comm| {
                let solution = solution_on(&Serial, &deck, comm, &silent).unwrap();
                solution.write_vtu(&path, &deck, comm).unwrap();
                solution
            });
            let mut elements = 0;
            for (rank, part) in parts.iter().enumerate() {
                let part_of_box = BoxPart::new(part.mesh.spec(), rank, ranks).unwrap();
                let case = Case::new(&deck, part.mesh.spec());
                let sizes = Sizes::of(&part_of_box, element, components, case.fixes_all_faces);
                let file = if ranks == 1 { path.clone() } else { path.with_extension(format!("{rank}.vtu")) };
                let file = std::fs::read(file).unwrap();
                // Tables and field beside the file. Listed ids are forecast too, and elements that another rank writes.
                let tables = 4 * part.mesh.elem_node.as_slice().len() + 25 * part.mesh.node_coord.len();
                let needed = (tables + 8 * part.field.len() + file.len()) as u64;
                let foreign = (13 + 4 * sizes.nodes) * sizes.elems * u64::from(ranks > 1);
                let (forecast, ids) = (bytes(&sizes, &case), 8 * sizes.local() + 4 * sizes.sent);
                assert!(
                    (needed..=needed + VTU_HEAD + ids + foreign).contains(&forecast),
                    "{kind}: {forecast}, {needed}"
                );
                let points = array(&file, "points", f64::from_le_bytes);
                assert_eq!(array(&file, name, f64::from_le_bytes), part.field);
                assert_eq!(components * points.len(), 3 * part.field.len());
                elements += array(&file, "types", u8::from_le_bytes).len();
                let text = String::from_utf8_lossy(&file);
                assert_eq!(text.contains("NumberOfComponents=\"3\" format=\"appended\" offset=\"0\""), components == 3);
                if kind == ProblemKind::Minife {
                    assert!(!text.contains("Name=\"exact\"") && !text.contains("Name=\"error\""));
                    continue;
                }
                let [exact, error] = ["exact", "error"].map(|name| array(&file, name, f64::from_le_bytes));
                for (node, point) in points.as_chunks::<3>().0.iter().enumerate() {
                    let wave = (2.0 * point[0] + 1.5 * point[1] + point[2] + 0.3).sin();
                    let expected = match kind {
                        ProblemKind::Heat => [Analytic::new(1.0, 2.0, 0.0, 1.0).at(point[2]), 0.0, 0.0],
                        ProblemKind::Elasticity => [wave, -0.5 * wave, 0.75 * wave],
                        _ => [wave, 0.0, 0.0],
                    };
                    for c in 0..components {
                        let at = components * node + c;
                        assert!((exact[at] - expected[c]).abs() < 1e-14, "{kind}: {} and {}", exact[at], expected[c]);
                        assert_eq!(error[at], part.field[at] - exact[at]);
                        assert!(error[at].abs() < 0.02, "{kind}: {}", error[at]);
                    }
                }
            }
            assert_eq!(elements as u64, parts[0].report.elements, "{kind} on {ranks} ranks");
            let named = std::fs::read_to_string(path.with_extension("pvtu"));
            assert_eq!(named.is_ok_and(|text| text.contains(&format!("Name=\"{name}\""))), ranks > 1);
        }
    }
}
