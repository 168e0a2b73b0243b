//! Constructors of sparse matrices, and products against the dense matrix.

use super::one_line;
use arbitrary::{Result, Unstructured};
use minifenl::space::{Serial, Threads};
use minifenl::sparse::{CrsGraph, CrsMatrix, Spmv};
use std::sync::{Arc, OnceLock};

struct Input {
    row_map: Vec<u64>,
    entries: Vec<u32>,
    columns: usize,
    values: Vec<f64>,
}

fn input(data: &[u8]) -> Result<Input> {
    let mut bytes = Unstructured::new(data);
    let columns = bytes.int_in_range(0..=70usize)?;
    let (mut row_map, mut entries) = (Vec::new(), Vec::new());
    if bytes.ratio(31, 32)? {
        row_map.push(0);
    }
    while !bytes.is_empty() && row_map.len() < 64 {
        match bytes.int_in_range(0..=40u32)? {
            // Any number, which may decrease or overflow.
            0 => row_map.push(bytes.arbitrary()?),
            // A row of a few columns, mostly in order.
            length => {
                let mut column = 0u32;
                for _ in 0..length % 8 {
                    column += u32::from(bytes.arbitrary::<u8>()? % 12);
                    entries.push(column);
                    column += 1;
                }
                row_map.push(entries.len() as u64);
                if length == 40 {
                    entries.push(bytes.arbitrary()?);
                }
            }
        }
    }
    let values = (0..entries.len()).map(|i| ((i * 37 + 11) % 64) as f64 - 31.5).collect();
    Ok(Input { row_map, entries, columns, values })
}

/// Offsets start at 0, do not decrease and end at the number of entries; columns increase and exist.
fn is_graph(input: &Input) -> bool {
    let (map, entries) = (&input.row_map, &input.entries);
    let ends = map.first() == Some(&0) && map.last() == Some(&(entries.len() as u64));
    ends && map.is_sorted()
        && map.windows(2).all(|pair| {
            let row = &entries[pair[0] as usize..pair[1] as usize];
            row.windows(2).all(|two| two[0] < two[1]) && row.iter().all(|&column| (column as usize) < input.columns)
        })
}

/// Graphs are accepted as by hand; products equal those of the dense matrix, exactly, since all numbers are small
/// multiples of one half.
pub fn crs(data: &[u8]) -> bool {
    let Ok(input) = input(data) else { return false };
    let graph = match CrsGraph::new(input.row_map.clone(), input.entries.clone(), input.columns) {
        Ok(graph) => Arc::new(graph),
        Err(error) => {
            assert!(!is_graph(&input), "refused: {error}");
            return one_line(&error);
        }
    };
    assert!(is_graph(&input), "a wrong graph was accepted");
    let (rows, columns) = (input.row_map.len() - 1, input.columns);
    one_line(&CrsMatrix::new(graph.clone(), vec![0.0; input.values.len() + 1]).unwrap_err());
    let matrix = CrsMatrix::new(graph.clone(), input.values.clone()).unwrap();
    let mut dense = vec![0.0; rows * columns];
    for row in 0..rows {
        for at in input.row_map[row] as usize..input.row_map[row + 1] as usize {
            dense[row * columns + input.entries[at] as usize] = input.values[at];
            assert_eq!(matrix.get(row, input.entries[at]), Some(input.values[at]));
        }
    }
    let x: Vec<f64> = (0..columns).map(|i| (i % 9) as f64 - 4.0).collect();
    let product = |row: usize| -> f64 { (0..columns).map(|column| dense[row * columns + column] * x[column]).sum() };
    let expected: Vec<f64> = (0..rows).map(product).collect();
    static THREADS: OnceLock<Threads> = OnceLock::new();
    let threads = THREADS.get_or_init(|| Threads::new(2).unwrap());
    // The old y is not read.
    let (mut serial, mut parallel) = (vec![f64::NAN; rows], vec![f64::NAN; rows]);
    Serial.spmv(&matrix, &x, &mut serial).unwrap();
    threads.spmv(&matrix, &x, &mut parallel).unwrap();
    assert_eq!((&serial, &parallel), (&expected, &expected));
    let again = CrsMatrix::from_sprs(matrix.as_sprs().to_other_storage()).unwrap();
    assert!(again.graph() == matrix.graph() && again.values() == matrix.values(), "through columns");
    if rows > 0 {
        one_line(&Serial.spmv(&matrix, &x, &mut vec![0.0; rows - 1]).unwrap_err());
    }
    true
}
