//! Kokkos FENL (example/fenl of Kokkos 2.9): its flags and the table that it prints.
//!
//! It counts elements, and its last line has milliseconds per node, with those of CG per iteration. Built without MPI, each rank solves
//! the whole box and prints a table of its own; such a run is refused.
//!
//! ```text
//! ELEMS, NODES, NEWTON, CG, MAP_RATIO, SET_FILL, SCAN, GRAPH_FILL, SORT, ELEM_GRAPH_FILL, MATRIX_CREATE, MATRIX_FILL, BOUNDARY,
//! MAT_VEC, CG, ERROR          the six columns from SET_FILL on make the graph
//! ```

use minifenl::{Error, Result, files};
use std::path::Path;

/// Largest output, in bytes.
const LARGEST: u64 = 1 << 20;
/// The file of the output in the folder of a run.
pub const OUTPUT: &str = "fenl.txt";
/// Columns that are read.
const COLUMNS: usize = 15;

/// One run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fenl {
    elements: u64,
    nodes: u64,
    /// Seconds of the graph, the fill, an iteration of CG, a product.
    seconds: [f64; 4],
}

/// The words after the program: elements are added atomically, as by the strategy `scatter`.
pub fn words(nodes: [u64; 3]) -> Vec<String> {
    let [x, y, z] = nodes.map(|nodes| nodes - 1);
    vec!["fixture".into(), format!("{x}x{y}x{z}"), "atomic".into()]
}

/// Reads the times from a run's folder. The output does not name ranks and threads: the folder does.
///
/// # Errors
/// [`Error::File`] if there is no output, [`Error::Invalid`] if it is not one of a run on this box.
pub fn read(folder: &Path, nodes: [u64; 3]) -> Result<[f64; 4]> {
    let run = Fenl::parse(&files::read_text(&folder.join(OUTPUT), LARGEST)?)?;
    let elements = nodes.map(|nodes| nodes - 1).iter().product::<u64>();
    if run.elements != elements || run.nodes != nodes.iter().product::<u64>() {
        return Err(Error::Invalid(format!("FENL's output: a box of {} elements, not {elements}", run.elements)));
    }
    Ok(run.seconds)
}

impl Fenl {
    /// Reads the last line.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is no row of numbers, or if ranks printed tables of their own.
    pub fn parse(text: &str) -> Result<Self> {
        let tables = text.lines().filter(|line| line.trim_start().starts_with("ELEMS")).count();
        if tables > 1 {
            return Err(Error::Invalid(format!("FENL's output: expected 1 table, not {tables}: built without MPI")));
        }
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("");
        let cells = last.split(',').map(str::trim).filter(|cell| !cell.is_empty());
        let column: Option<Vec<f64>> =
            cells.map(|cell| cell.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)).collect();
        let column = column.filter(|column| column.len() >= COLUMNS).ok_or_else(|| {
            Error::Invalid(format!("FENL's output: expected a last line with {COLUMNS} numbers or more, not `{last}`"))
        })?;
        let seconds = |milliseconds: f64| 1e-3 * milliseconds * column[1];
        Ok(Fenl {
            elements: column[0] as u64,
            nodes: column[1] as u64,
            seconds: [
                seconds(column[5..11].iter().sum()),
                seconds(column[11]),
                seconds(column[14]),
                seconds(column[13]),
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recorded run on 8 x 16 x 8 nodes, 1 thread.
    const RECORDED: &str = " , LINEAR-ELEMENT , USING ATOMICS
     ELEMS ,     NODES ,    NEWTON ,        CG , MAP_RATIO , SET_FILL/NODE , SCAN/NODE , GRAPH_FILL/NODE , SORT/NODE , ELEM_GRAPH_FILL/NODE , MATRIX_CREATE/NODE , MATRIX_FILL/NODE , BOUNDARY/NODE , MAT_VEC/ITER/ROW , CG/ITER/ROW ,     ERROR ,  
     count ,     count ,      iter ,      iter ,     ratio ,      millisec ,  millisec ,        millisec ,  millisec ,             millisec ,           millisec ,         millisec ,      millisec ,         millisec ,    millisec ,     ratio ,  
       735 ,      1024 ,         3 ,       198 , 6.944e-01 ,     8.620e-04 , 3.763e-05 ,       1.287e-04 , 2.518e-04 ,            2.874e-04 ,          6.414e-05 ,        7.392e-04 ,     2.164e-05 ,        9.887e-06 ,   1.494e-05 , 1.422e-02
";

    #[test]
    fn a_recorded_table_is_read() {
        let run = Fenl::parse(RECORDED).unwrap();
        assert_eq!((run.elements, run.nodes), (7 * 15 * 7, 8 * 16 * 8));
        // By hand: the graph has 0.862 + 0.03763 + 0.1287 + 0.2518 + 0.2874 + 0.06414 us per node.
        let known = [1.63167e-6, 0.7392e-6, 14.94e-9, 9.887e-9].map(|per_node| 1024.0 * per_node);
        assert!(run.seconds.iter().zip(known).all(|(found, known)| (found / known - 1.0).abs() < 1e-5), "{run:?}");
        for text in ["", "Error generating finite element fixture\n", &RECORDED.replace("7.392e-04", "-")] {
            let error = Fenl::parse(text).unwrap_err().to_string();
            assert!(error.contains("expected a last line with 15 numbers") && error.lines().count() == 1, "{error}");
        }
    }

    #[test]
    fn a_table_of_another_box_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(OUTPUT), RECORDED).unwrap();
        assert!(read(folder.path(), [8, 16, 8]).is_ok());
        assert!(read(folder.path(), [8; 3]).unwrap_err().to_string().ends_with("a box of 735 elements, not 343"));
        std::fs::write(folder.path().join(OUTPUT), RECORDED.replace(" 1024 ,", " 1025 ,")).unwrap();
        assert!(read(folder.path(), [8, 16, 8]).is_err());
        // Two ranks of a program without MPI.
        std::fs::write(folder.path().join(OUTPUT), RECORDED.repeat(2)).unwrap();
        let error = read(folder.path(), [8, 16, 8]).unwrap_err().to_string();
        assert!(error.ends_with("expected 1 table, not 2: built without MPI"), "{error}");
        assert_eq!(words([8, 16, 8]).join(" "), "fixture 7x15x7 atomic");
    }
}
