//! Matrix Market files.

use super::one_line;
use minifenl::sparse::{CrsMatrix, MarketValue, read_matrix_market, read_matrix_market_as, write_matrix_market};
use num_complex::Complex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
    "%%MatrixMarket matrix array real general\n",
    "%%MatrixMarket matrix coordinate complex hermitian\n",
    "2 2\n",
    "1 1 1.5\n",
    "2 1 0 1\n",
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
        Err(error) => {
            let is_complex = error.to_string().contains("complex values");
            return if is_complex { check::<Complex<f64>>(data, &path) } else { one_line(&error) };
        }
    };
    assert!(check::<f64>(data, &path));
    // Real values are complex values, too.
    std::fs::write(&path, data).unwrap();
    let complex = read_matrix_market_as::<Complex<f64>>(&path).unwrap();
    assert!(complex.graph() == matrix.graph());
    assert!(complex.values().iter().zip(matrix.values()).all(|(a, b)| a.im == 0.0 && a.re.to_bits() == b.to_bits()));
    drop(guard);
    true
}

fn check<V: MarketValue>(data: &[u8], path: &Path) -> bool {
    let matrix = match read_matrix_market_as::<V>(path) {
        Ok(matrix) => matrix,
        Err(error) => return one_line(&error),
    };
    compare(&matrix, &by_hand(&String::from_utf8_lossy(data)));
    write_matrix_market(path, &matrix).unwrap();
    let again = read_matrix_market_as::<V>(path).unwrap();
    let bits = |matrix: &CrsMatrix<V>| {
        let bits = matrix.values().iter().map(|value| value.parts().map(f64::to_bits));
        bits.collect::<Vec<_>>()
    };
    assert!(again.graph() == matrix.graph() && (bits(&again) == bits(&matrix) || has_nan(&matrix)));
    true
}

struct Removed(PathBuf);
impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn has_nan<V: MarketValue>(matrix: &CrsMatrix<V>) -> bool {
    matrix.values().iter().any(|value| value.parts().iter().any(|part| part.is_nan()))
}

/// Rows, columns, and per entry the sum and the sum of magnitudes, of real and imaginary part.
type Sums = (usize, usize, BTreeMap<(usize, usize), [(f64, f64); 2]>);

/// The sums of a well-formed file: lines of words, mirrored where the header says so.
fn by_hand(text: &str) -> Sums {
    let header = text.lines().next().unwrap().to_lowercase();
    // Signs of both parts in the other triangle.
    let mirror = match () {
        () if header.contains("general") => None,
        () if header.contains("skew-symmetric") => Some([-1.0, -1.0]),
        () if header.contains("hermitian") => Some([1.0, -1.0]),
        () => Some([1.0, 1.0]),
    };
    let mut lines = text.lines().skip(1).filter(|line| !line.starts_with('%') && !line.trim().is_empty());
    let number = |word: Option<&str>| word.unwrap().parse::<usize>().unwrap();
    let mut size = lines.next().unwrap().split_whitespace();
    let (rows, columns) = (number(size.next()), number(size.next()));
    let mut sums: BTreeMap<(usize, usize), [(f64, f64); 2]> = BTreeMap::new();
    let mut add = |row, column, value: [f64; 2]| {
        let sums = sums.entry((row, column)).or_default();
        for ((sum, magnitude), value) in sums.iter_mut().zip(value) {
            (*sum, *magnitude) = (*sum + value, *magnitude + value.abs());
        }
    };
    // The places of an array.
    let first_row = |column| match () {
        () if mirror.is_none() => 0,
        () if header.contains("skew") => column + 1,
        () => column,
    };
    let mut places = (0..columns).flat_map(|column| (first_row(column)..rows).map(move |row| (row, column)));
    let is_array = header.contains("array");
    if is_array && header.contains("skew") {
        (0..rows).for_each(|row| add(row, row, [0.0; 2]));
    }
    for line in lines {
        let mut words = line.split_whitespace();
        let (row, column) = match is_array {
            true => places.next().unwrap(),
            false => (number(words.next()) - 1, number(words.next()) - 1),
        };
        let mut part = |default: f64| words.next().map_or(default, |word| word.parse().unwrap());
        let value = [part(1.0), part(0.0)];
        add(row, column, value);
        if let Some(signs) = mirror.filter(|_| row != column) {
            add(column, row, [signs[0] * value[0], signs[1] * value[1]]);
        }
    }
    assert!(!is_array || places.next().is_none());
    (rows, columns, sums)
}

fn compare<V: MarketValue>(matrix: &CrsMatrix<V>, (rows, columns, sums): &Sums) {
    let graph = matrix.graph();
    assert_eq!((graph.rows(), graph.columns(), graph.nnz()), (*rows, *columns, sums.len()));
    for (&(row, column), sums) in sums {
        let found = matrix.get(row, column as u32).expect("an entry of the file is missing");
        for (found, &(sum, magnitude)) in found.parts().into_iter().zip(sums) {
            let is_same = (found - sum).abs() <= 1e-12 * magnitude || !magnitude.is_finite();
            assert!(is_same, "{row}, {column}: {found} {sum}");
        }
    }
}
