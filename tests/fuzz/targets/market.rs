//! Matrix Market files.

use super::one_line;
use minifenl::sparse::{CrsMatrix, read_matrix_market, write_matrix_market};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Words of Matrix Market files.
pub const WORDS: &[&str] = &[
    "%%MatrixMarket matrix coordinate real general\n",
    "%%MatrixMarket matrix coordinate real symmetric\n",
    "skew-symmetric",
    "hermitian",
    "integer",
    "complex",
    "pattern",
    "array",
    "% comment\n",
    "\n",
    "\r\n",
    " ",
    "\t",
    "0",
    "1",
    "2",
    "3",
    "-1",
    "1e300",
    "1e-320",
    "nan",
    "inf",
    "4294967295",
    "4294967294",
    "1000000000000",
    "18446744073709551615",
    "18446744073709551616",
    "3 3 2\n",
    "2 3 1\n",
    "1 1 1.5\n",
    "3 1 -2\n",
    "\u{0}",
    "\u{b}",
];

/// The entries of a file that is read are sums by hand, and the matrix is written and read back to the last bit.
pub fn market(data: &[u8]) -> bool {
    let folder = std::env::temp_dir();
    let place = format!("minifenl-fuzz-{}-{:?}.mtx", std::process::id(), std::thread::current().id());
    let path = folder.join(place.replace(['(', ')'], ""));
    let guard = Removed(path.clone());
    std::fs::write(&path, data).unwrap();
    let matrix = match read_matrix_market(&path) {
        Ok(matrix) => matrix,
        Err(error) => return one_line(&error),
    };
    compare(&matrix, &by_hand(std::str::from_utf8(data).unwrap()));
    write_matrix_market(&path, &matrix).unwrap();
    let again = read_matrix_market(&path).unwrap();
    let bits = |matrix: &CrsMatrix| matrix.values().iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert!(again.graph() == matrix.graph() && (bits(&again) == bits(&matrix) || has_nan(&matrix)));
    drop(guard);
    true
}

struct Removed(PathBuf);
impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn has_nan(matrix: &CrsMatrix) -> bool {
    matrix.values().iter().any(|value| value.is_nan())
}

/// Rows, columns, and per entry the sum and the sum of magnitudes.
type Sums = (usize, usize, BTreeMap<(usize, usize), (f64, f64)>);

/// The sums of a well-formed file: lines of words, mirrored where the header says so.
fn by_hand(text: &str) -> Sums {
    let header = text.lines().next().unwrap().to_lowercase();
    let mirror = match () {
        () if header.contains("general") => None,
        () if header.contains("skew-symmetric") => Some(-1.0),
        () => Some(1.0),
    };
    let mut lines = text.lines().skip(1).filter(|line| !line.starts_with('%') && !line.trim().is_empty());
    let number = |word: Option<&str>| word.unwrap().parse::<usize>().unwrap();
    let mut size = lines.next().unwrap().split_whitespace();
    let (rows, columns) = (number(size.next()), number(size.next()));
    let mut sums: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
    let mut add = |row, column, value: f64| {
        let (sum, magnitude) = sums.entry((row, column)).or_default();
        (*sum, *magnitude) = (*sum + value, *magnitude + value.abs());
    };
    for line in lines {
        let mut words = line.split_whitespace();
        let (row, column) = (number(words.next()) - 1, number(words.next()) - 1);
        let value: f64 = words.next().unwrap().parse().unwrap();
        add(row, column, value);
        if let Some(sign) = mirror.filter(|_| row != column) {
            add(column, row, sign * value);
        }
    }
    (rows, columns, sums)
}

fn compare(matrix: &CrsMatrix, (rows, columns, sums): &Sums) {
    let graph = matrix.graph();
    assert_eq!((graph.rows(), graph.columns(), graph.nnz()), (*rows, *columns, sums.len()));
    for (&(row, column), &(sum, magnitude)) in sums {
        let found = matrix.get(row, column as u32).expect("an entry of the file is missing");
        // Duplicates are added in any order.
        assert!((found - sum).abs() <= 1e-12 * magnitude || !magnitude.is_finite(), "{row}, {column}: {found} {sum}");
    }
}
