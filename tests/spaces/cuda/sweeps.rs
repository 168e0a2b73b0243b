//! Triangular sweeps on a GPU against those of a host.

use super::sparse::neighbours;
use super::{difference, gpu, wave};
use minifenl::space::{ExecutionSpace, Serial};
use minifenl::sparse::{CrsMatrix, Grouping, Sweep, Triangles};

/// Symmetric, with a dominant diagonal.
fn dominant(sizes: [usize; 3], scale: f64) -> CrsMatrix {
    let mut matrix = neighbours(sizes);
    let (graph, values) = matrix.parts_mut();
    for row in 0..graph.rows() {
        for at in graph.row_range(row) {
            let column = graph.entries()[at] as usize;
            let pair = (row.min(column) * 7 + row.max(column)) as f64;
            values[at] = scale * if row == column { 30.0 } else { -1.0 - 0.1 * pair.sin() };
        }
    }
    matrix
}

#[test]
fn sweeps_agree_with_those_of_a_host() {
    let Some(space) = gpu("sweeps_agree_with_those_of_a_host") else { return };
    for sizes in [[1, 1, 1], [5, 4, 3], [33, 30, 21]] {
        for (grouping, factorises) in [(Grouping::Colours, false), (Grouping::Colours, true), (Grouping::Levels, true)]
        {
            let matrix = dominant(sizes, 1.0);
            let mut host = Triangles::new(&Serial, matrix.graph(), grouping).unwrap();
            let mut device = space.take_triangles(host.clone()).unwrap();
            for scale in [1.0, 3.0] {
                let matrix = dominant(sizes, scale);
                let fill = |triangles: &mut Triangles| match factorises {
                    true => triangles.factorise(&Serial, &matrix).map(drop),
                    false => triangles.fill(&Serial, &matrix),
                };
                fill(&mut host).unwrap();
                space.refill_triangles(&mut device, fill).unwrap();
                let n = matrix.graph().rows();
                let (r, mut y, mut expected) = (wave(n, 0.37), vec![0.0; n], vec![0.0; n]);
                Serial.sweep(&host, &r, &mut y, &mut expected).unwrap();
                let (on_device, mut work) = (space.upload(&r).unwrap(), space.zeros(n).unwrap());
                let mut z = space.upload(&vec![f64::NAN; n]).unwrap();
                space.sweep(&device, &on_device, &mut work, &mut z).unwrap();
                let found = space.download(&z).unwrap();
                let far = difference(&found, &expected);
                assert!(far < 1e-13, "{sizes:?}, {grouping:?}, {factorises}, {scale}: {far:e}");
            }
        }
    }
}
