//! Matrix Market files that SciPy wrote, of every format, field and symmetry that it writes, against what SciPy reads from them.
//!
//! The files and the references (`KIND.csv`) come from `make.py`.

use minifenl::sparse::{CrsMatrix, MarketValue, read_matrix_market_as};
use std::path::{Path, PathBuf};

/// (row, column, real part, imaginary part) of each entry by rows.
type Entries = Vec<(usize, usize, f64, f64)>;

fn files() -> Vec<PathBuf> {
    let folder = support::root().join("tests/library/market");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "mtx"));
    paths.sort();
    paths
}

fn reference(path: &Path) -> (usize, usize, Entries) {
    let text = std::fs::read_to_string(path.with_extension("csv")).unwrap();
    let mut lines = text.lines();
    let (rows, columns) = lines.next().unwrap().split_once(',').unwrap();
    let entry = |line: &str| {
        let words: Vec<&str> = line.split(',').collect();
        let [row, column, re, im] = words[..] else { panic!("{line}") };
        (row.parse().unwrap(), column.parse().unwrap(), re.parse().unwrap(), im.parse().unwrap())
    };
    (rows.parse().unwrap(), columns.parse().unwrap(), lines.map(entry).collect())
}

fn entries<V: MarketValue>(matrix: &CrsMatrix<V>) -> (usize, usize, Entries) {
    let graph = matrix.graph();
    let mut found = vec![];
    for row in 0..graph.rows() {
        for at in graph.row_range(row) {
            let [re, im] = matrix.values()[at].parts();
            found.push((row, graph.entries()[at] as usize, re, im));
        }
    }
    (graph.rows(), graph.columns(), found)
}

#[test]
fn real_files_give_what_scipy_reads() {
    let mut seen = 0;
    for path in files() {
        let (is_complex, read) = (path.to_str().unwrap().contains("complex"), read_matrix_market_as::<f64>(&path));
        if is_complex {
            let message = read.unwrap_err().to_string();
            assert!(message.contains("line 1: complex values: expected real"), "{message}");
        } else {
            assert_eq!(entries(&read.unwrap()), reference(&path), "{}", path.display());
            seen += 1;
        }
    }
    assert_eq!(seen, 19);
}

#[cfg(feature = "num-complex")]
#[test]
fn every_file_gives_what_scipy_reads_in_complex_numbers() {
    for path in files() {
        let matrix = read_matrix_market_as::<num_complex::Complex<f64>>(&path).unwrap();
        assert_eq!(entries(&matrix), reference(&path), "{}", path.display());
    }
    assert_eq!(files().len(), 27);
}
