//! Files for VTK read back by hand; tests/vtk.py reads them with a package.

use super::*;
use crate::comm::Solo;
use crate::comm::ranks::on_ranks_that_add;
use crate::run::deck::{Deck, Device, Nodes};
use crate::run::{Silent, solution_on};
use crate::space::Threads;

/// The numbers of an appended array, found by its name and offset.
fn array<const SIZE: usize, T>(file: &[u8], name: &str, read: fn([u8; SIZE]) -> T) -> Vec<T> {
    let data = file.windows(2).position(|two| two == b"\n_").unwrap() + 2;
    let text = std::str::from_utf8(&file[..data - 1]).unwrap();
    let line = text.lines().find(|line| line.contains(&format!("Name=\"{name}\""))).unwrap();
    let offset: usize = line.split("offset=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    let at = data + offset;
    let bytes = u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    file[at + 8..at + 8 + bytes].chunks_exact(SIZE).map(|item| read(item.try_into().unwrap())).collect()
}

#[test]
fn pieces_of_all_ranks_hold_each_element_once_with_the_solution_at_its_nodes() {
    let mut deck = Deck::default();
    (deck.mesh.nodes, deck.run.device) = (Nodes::new([6, 5, 9]).ok(), Device::Cpu);
    let exact = Analytic::new(1.0, 2.0, 0.0, 1.0);
    for ranks in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a & b.vtu");
        let errors = on_ranks_that_add(1, ranks, |comm| {
            check_vtu(&path, comm).unwrap();
            let solution = solution_on(&Threads::new(1).unwrap(), &deck, comm, &Silent).unwrap();
            solution.write_vtu(&path, &exact, comm).unwrap();
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

#[test]
fn a_folder_that_is_missing_is_refused() {
    let refused = check_vtu(Path::new("/no/such/folder/a.vtu"), &Solo).unwrap_err().to_string();
    assert!(refused.starts_with("/no/such/folder/a.vtu"), "{refused}");
}
