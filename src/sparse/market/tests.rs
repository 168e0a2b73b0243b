//! Matrix Market files by hand: every kind of value and symmetry, and every line that is refused.

use super::*;
use crate::sparse::CrsGraph;
use std::sync::Arc;
use tempfile::TempDir;

fn small() -> CrsMatrix {
    let graph = CrsGraph::new(vec![0, 2, 3], vec![0, 2, 1], 3).unwrap();
    CrsMatrix::new(Arc::new(graph), vec![1.5, -2.0, 1e-300]).unwrap()
}

fn file(text: &[u8]) -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mtx");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn read_text<V: MarketValue>(text: &[u8]) -> Result<CrsMatrix<V>> {
    let (_folder, path) = file(text);
    read_matrix_market_as(&path)
}

/// Rows of a dense matrix, `None` where the graph has no entry.
fn dense<V: MarketValue>(kinds: &str, body: &str) -> Vec<Vec<Option<V>>> {
    let matrix = read_text::<V>(format!("%%MatrixMarket matrix {kinds}\n{body}").as_bytes()).unwrap();
    let row = |row| (0..matrix.graph().columns()).map(|column| matrix.get(row, column as u32)).collect();
    (0..matrix.graph().rows()).map(row).collect()
}

#[test]
fn files_are_read_back_and_truncation_is_an_error() {
    let (folder, path) = file(b"");
    write_matrix_market(&path, &small()).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a temporary file is left");
    let back = read_matrix_market(&path).unwrap();
    assert_eq!((back.graph(), back.values()), (small().graph(), small().values()));
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1.5\n1 3 -2.0\n2 2 1e-300\n");
    for keep in 1..text.len() - 1 {
        std::fs::write(&path, &text[..keep]).unwrap();
        if let Err(error) = read_matrix_market(&path) {
            assert!(error.to_string().contains("a.mtx: line "), "{error}");
        }
    }
    let lines: Vec<&str> = text.lines().collect();
    std::fs::write(&path, lines[..lines.len() - 1].join("\n")).unwrap();
    let error = read_matrix_market(&path).unwrap_err().to_string();
    assert!(error.ends_with("a.mtx: line 5: truncated: expected 3 entries, found 2"), "{error}");
    assert!(read_matrix_market(folder.path().join("none.mtx")).unwrap_err().to_string().contains("none.mtx"));
    assert!(write_matrix_market(folder.path().join("no/b.mtx"), &small()).is_err());
}

#[test]
fn numbers_keep_their_bits_in_both_types() {
    let values = vec![0.1, -0.0, f64::MIN_POSITIVE / 3.0, f64::MAX, f64::INFINITY, 1.0 / 3.0, -1e-7];
    let graph = Arc::new(CrsGraph::new(vec![0, 7], (0..7).collect(), 7).unwrap());
    let single: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    let (_folder, path) = file(b"");
    write_matrix_market(&path, &CrsMatrix::new(graph.clone(), values.clone()).unwrap()).unwrap();
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(read_matrix_market(&path).unwrap().values()), bits(&values));
    write_matrix_market(&path, &CrsMatrix::new(graph, single.clone()).unwrap()).unwrap();
    let back = read_matrix_market_as::<f32>(&path).unwrap();
    assert!(back.values().iter().zip(&single).all(|(back, value)| back.to_bits() == value.to_bits()));
}

#[test]
fn each_symmetry_gives_both_triangles() {
    let real = dense::<f64>("coordinate real symmetric", "2 2 2\n1 1 4\n2 1 -1.5\n");
    assert_eq!(real, [[Some(4.0), Some(-1.5)], [Some(-1.5), None]]);
    // The upper triangle serves as well.
    assert_eq!(dense::<f64>("coordinate integer symmetric", "2 2 1\n1 2 7\n"), [[None, Some(7.0)], [Some(7.0), None]]);
    let pattern = dense::<f64>("coordinate pattern symmetric", "2 2 2\n2 2\n2 1\n");
    assert_eq!(pattern, [[None, Some(1.0)], [Some(1.0), Some(1.0)]]);
    let skew = dense::<f32>("coordinate real skew-symmetric", "2 2 1\n2 1 3\n");
    assert_eq!(skew, [[None, Some(-3.0)], [Some(3.0), None]]);
}

#[test]
fn arrays_are_read_by_columns() {
    let some =
        |rows: &[&[f64]]| rows.iter().map(|row| row.iter().copied().map(Some).collect()).collect::<Vec<Vec<_>>>();
    let general = dense::<f64>("array real general", "2 3\n1\n2\n3\n\n4\n0\n6\n");
    assert_eq!(general, some(&[&[1.0, 3.0, 0.0], &[2.0, 4.0, 6.0]]));
    assert_eq!(dense::<f64>("array integer general", "3 1\n1\n2\n3\n"), some(&[&[1.0], &[2.0], &[3.0]]));
    let symmetric = dense::<f64>("array real symmetric", "3 3\n1\n2\n3\n4\n5\n6\n");
    assert_eq!(symmetric, some(&[&[1.0, 2.0, 3.0], &[2.0, 4.0, 5.0], &[3.0, 5.0, 6.0]]));
    let skew = dense::<f64>("array real skew-symmetric", "3 3\n1\n2\n3\n");
    assert_eq!(skew, some(&[&[0.0, -1.0, -2.0], &[1.0, 0.0, -3.0], &[2.0, 3.0, 0.0]]));
    assert_eq!(dense::<f64>("array real general", "0 3\n"), some(&[]));
    assert_eq!(dense::<f64>("array real skew-symmetric", "1 1\n"), some(&[&[0.0]]));
}

#[cfg(feature = "num-complex")]
#[test]
fn complex_values_are_mirrored_and_written() {
    use num_complex::Complex;
    let c = |re, im| Some(Complex::<f64> { re, im });
    let hermitian = dense("coordinate complex hermitian", "2 2 2\n1 1 4 0\n2 1 1 -2\n");
    assert_eq!(hermitian, [[c(4.0, 0.0), c(1.0, 2.0)], [c(1.0, -2.0), None]]);
    let skew = dense("coordinate complex skew-symmetric", "2 2 1\n2 1 1 -2\n");
    assert_eq!(skew, [[None, c(-1.0, 2.0)], [c(1.0, -2.0), None]]);
    let symmetric = dense("array complex symmetric", "2 2\n1 1\n2 2\n3 3\n");
    assert_eq!(symmetric, [[c(1.0, 1.0), c(2.0, 2.0)], [c(2.0, 2.0), c(3.0, 3.0)]]);
    assert_eq!(dense("coordinate real general", "1 1 1\n1 1 5\n"), [[c(5.0, 0.0)]]);
    let (_folder, path) = file(b"%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 0.1\n3 0\n");
    let matrix = read_matrix_market_as::<Complex<f32>>(&path).unwrap();
    assert_eq!(matrix.get(0, 1), Some(Complex { re: 2.0, im: -0.1 }));
    write_matrix_market(&path, &matrix).unwrap();
    let back = read_matrix_market_as::<Complex<f32>>(&path).unwrap();
    assert_eq!((back.graph(), back.values()), (matrix.graph(), matrix.values()));
    assert!(read_matrix_market(&path).unwrap_err().to_string().contains("line 1: complex values: expected real"));
}

/// 1e16 + 1 - 1e16 depends on the order, and on whether the sum is in f32.
#[test]
fn duplicates_are_added_in_the_order_of_the_file_in_f64() {
    let body = "2 2 5\n1 1 1e16\n2 2 5\n1 1 1\n1 1 -1e16\n1 1 2\n";
    assert_eq!(dense("coordinate real general", body), [[Some(2.0), None], [None, Some(5.0)]]);
    let body = "2 2 4\n1 1 -1e16\n1 1 1e16\n2 2 5\n1 1 1.5\n";
    assert_eq!(dense("coordinate real general", body), [[Some(1.5), None], [None, Some(5.0)]]);
    assert_eq!(dense("coordinate real general", "1 1 3\n1 1 16777216\n1 1 1\n1 1 1\n"), [[Some(16777218f32)]]);
}

/// The line is that of the last value of the place; the file gives the place, whichever triangle overflows first.
#[test]
fn sums_beyond_the_range_are_refused_with_their_line() {
    let refused = |text: String, wide: bool| {
        let found =
            if wide { read_text::<f64>(text.as_bytes()).err() } else { read_text::<f32>(text.as_bytes()).err() };
        found.map_or(String::new(), |error| error.to_string().split("a.mtx: ").last().unwrap().to_string())
    };
    let general = "%%MatrixMarket matrix coordinate real general\n% about\n2 2 4\n";
    // Twice 2^127.
    let body =
        "1 2 170141183460469231731687303715884105728\n\n1 1 1\n1 2 170141183460469231731687303715884105728\n2 2 3\n";
    let expected =
        "line 7: expected values of entry (1, 2) whose sum is in the range of f32, found a sum of 3.402823669209385e38";
    assert_eq!(refused(format!("{general}{body}"), false), expected);
    assert_eq!(refused(format!("{general}{body}"), true), "");
    let body = "2 2 1\n2 1 -1e308\n2 1 -1e308\n1 1 1\n";
    let expected = "line 6: expected values of entry (2, 1) whose sum is in the range of f64, found a sum of -inf";
    assert_eq!(refused(format!("{general}{body}"), true), expected);
    let symmetric = general.replace("general", "symmetric");
    assert_eq!(refused(format!("{symmetric}{body}"), true), expected);
    // What overflows on the way is no fault in f64, and infinities that the file holds stay.
    let body = "1 1 3e38\n1 1 3e38\n1 1 -3e38\n2 2 1\n";
    assert_eq!(refused(format!("{general}{body}"), false), "");
    let body = "1 1 inf\n1 1 1\n2 1 inf\n2 1 -inf\n";
    let found = read_text::<f32>(format!("{general}{body}").as_bytes()).unwrap();
    assert!(found.values()[0] == f32::INFINITY && found.values()[1].is_nan());
}

#[cfg(feature = "num-complex")]
#[test]
fn each_part_of_a_complex_sum_is_checked() {
    use num_complex::Complex;
    let text =
        |im: &str| format!("%%MatrixMarket matrix coordinate complex general\n1 1 2\n1 1 1 {im}\n1 1 inf {im}\n");
    assert!(read_text::<Complex<f32>>(text("1e38").as_bytes()).unwrap().values()[0].re.is_infinite());
    let error = read_text::<Complex<f32>>(text("2e38").as_bytes()).unwrap_err().to_string();
    assert!(
        error.contains("line 4: expected values of entry (1, 1) whose sum is in the range of Complex<f32>"),
        "{error}"
    );
}

/// A permuted tridiagonal matrix with each entry in two parts, against the entries of its definition.
#[test]
fn entries_in_any_order_are_sorted() {
    const N: usize = 257;
    let mut lines: Vec<(usize, usize, f64)> =
        (0..3 * N).flat_map(|i| [(i / 3, i / 3 + i % 3, 1.0), (i / 3, i / 3 + i % 3, i as f64)]).collect();
    lines.retain(|&(_, column, _)| (1..=N).contains(&column));
    let count = lines.len();
    let body: String =
        (0..count).map(|i| lines[i * 389 % count]).map(|(r, c, v)| format!("{} {c} {v}\n", r + 1)).collect();
    let text = format!("%%MatrixMarket matrix coordinate real general\r\n%\u{e9}\r\n \n{N} {N} {count}\r\n{body}");
    let matrix = read_text::<f64>(text.as_bytes()).unwrap();
    assert_eq!(matrix.graph().nnz(), 3 * N - 2);
    for row in 0..N {
        let columns: Vec<u32> = (row.saturating_sub(1)..N.min(row + 2)).map(|column| column as u32).collect();
        assert_eq!(matrix.graph().row(row), columns);
        for column in columns {
            let expected = 1.0 + (3 * row + column as usize + 1 - row) as f64;
            assert_eq!(matrix.get(row, column), Some(expected), "{row} {column}");
        }
    }
}

#[test]
fn odd_files_are_refused_with_their_line() {
    let refused = |text: &[u8]| {
        let message = read_text::<f64>(text).unwrap_err().to_string();
        assert!(message.contains("a.mtx: ") && message.lines().count() == 1 && message.len() < 400, "{message}");
        message
    };
    let big = "9".repeat(400);
    for (kinds, body, part) in [
        (
            "coordinate real general",
            "2 2 1\n3 1 1.0\n",
            "line 3: expected \"row column value\" of a 2 x 2 matrix, found \"3 1 1.0\"",
        ),
        ("coordinate real general", "2 2 1\n0 1 1.0\n", "line 3"),
        ("coordinate real general", "2 2 1\n1 18446744073709551617 1.0\n", "line 3"),
        ("coordinate real general", "% comment\n\n2 2 1\n1 1 one\n", "line 5: expected \"row column value\""),
        ("coordinate real general", "2 2 1\n1 1\n", "line 3"),
        ("coordinate real general", "2 2 1\n1 1 1.0 0.0\n", "line 3"),
        ("coordinate integer general", "2 2 1\n1 1 1.5\n", "line 3: expected \"row column value\""),
        ("coordinate pattern general", "2 2 1\n1 1 1\n", "line 3: expected \"row column\" of"),
        ("coordinate real general", "2 2 1 x\n1 1 1.0\n", "line 2: expected a size line \"rows columns entries\""),
        ("coordinate real general", "2 -2 1\n1 1 1.0\n", "line 2: expected a size line"),
        ("array real general", "2 2 1\n1\n", "line 2: expected a size line \"rows columns\", found \"2 2 1\""),
        ("array real general", "2 2\n1\n2\n3\n", "line 6: truncated: expected 4 entries, found 3"),
        ("array real general", "1 2\n1\n2 2\n", "line 4: expected \"value\", found \"2 2\""),
        (
            "array real symmetric",
            "2 2\n1\n2\n3\n4\n",
            "line 6: expected the end of the file after 3 entries, found \"4\"",
        ),
        ("coordinate real general", "2 2 2\n1 1 1.0\n", "line 4: truncated: expected 2 entries, found 1"),
        ("coordinate real general", "2 2 1\n1 1 1.0\n1 2 1.0\n", "line 4: expected the end of the file after 1 entry"),
        ("coordinate real general", "", "line 2: truncated: expected a size line"),
        ("coordinate real symmetric", "2 3 1\n1 3 1.0\n", "line 2: a 2 x 3 matrix with a symmetry"),
        ("array real skew-symmetric", "2 3\n1\n", "line 2: a 2 x 3 matrix with a symmetry"),
        (
            "coordinate real symmetric",
            "3 3 3\n1 1 1\n2 1 1\n1 2 1\n",
            "line 5: entry (1, 2) lies above the diagonal, earlier ones below it",
        ),
        (
            "coordinate real skew-symmetric",
            "2 2 2\n1 1 0\n2 2 1\n",
            "line 4: entry (2, 2) of a skew-symmetric matrix: expected 0",
        ),
        ("coordinate real general", "5000000000 1 0\n", "32-bit"),
        (
            "coordinate real general",
            "1 1 999999999999999999\n",
            "line 2: 999999999999999999 entries: expected at most 12 in a file of 69 bytes",
        ),
        ("array real general", "4000000000 4000000000\n1\n", "line 2: 16000000000000000000 entries: expected at most"),
        (
            "coordinate real general",
            "1 2000000 0\n",
            "line 2: a 1 x 2000000 matrix of 0 entries: expected at most 1048576 rows and columns",
        ),
        (
            "coordinate complex general",
            "1 1 1\n1 1 1 1\n",
            "line 1: complex values: expected real, integer or pattern for values f64",
        ),
        (
            "coordinate real hermitian",
            "1 1 0\n",
            "line 1: unknown symmetry: expected general, symmetric or skew-symmetric",
        ),
        ("coordinate pattern skew-symmetric", "1 1 0\n", "line 1: unknown symmetry: expected general or symmetric"),
        ("array pattern general", "1 1\n1\n", "line 1: unknown field"),
        ("coordinate quaternion general", "1 1\n1\n", "line 1: unknown field"),
        (
            "sparse real general",
            "1 1\n1\n",
            "line 1: unknown format: expected coordinate or array, found \"%%MatrixMarket matrix sparse",
        ),
        ("coordinate real", "1 1 1\n1 1 1\n", "line 1: expected \"%%MatrixMarket matrix FORMAT FIELD SYMMETRY\""),
        ("coordinate integer general", &format!("1 1 1\n1 1 {big}\n"), "line 3"),
    ] {
        let message = refused(format!("%%MatrixMarket matrix {kinds}\n{body}").as_bytes());
        assert!(message.contains(part), "{kinds}, {body:?}: {message}");
    }
    assert!(refused(b"").contains("line 1: expected"));
    assert!(refused(b"%%MatrixMarket\n\xff").contains("line 1: expected"));
    let bytes =
        [b"%%MatrixMarket matrix coordinate real general\n% \xff is fine here\n1 1 1\n", &b"1 1 \xff\n"[..]].concat();
    assert!(refused(&bytes).contains("line 4: byte 0xff is not UTF-8 text"));
    assert!(refused(&[b'x'; 100_000]).contains("line 1: expected at most 65536 bytes"));
    let single = read_text::<f32>(b"%%MatrixMarket matrix array real general\n1 1\n1e39\n").unwrap_err().to_string();
    assert!(single.contains("line 3: expected a value of f32, found \"1e39\""), "{single}");
    for special in ["/", "/dev/zero"] {
        let message = read_matrix_market(special).unwrap_err().to_string();
        assert!(message.contains("expected a regular file"), "{message}");
    }
}

/// The offsets of rows need memory without any entry.
#[test]
fn what_exceeds_the_free_memory_is_refused_before_it_is_read() {
    use super::header::{Field, Format, Header, Symmetry};
    let header = |symmetry, rows, entries| Header {
        format: Format::Coordinate,
        field: Field::Real,
        symmetry,
        rows,
        columns: rows,
        entries,
    };
    let check = |header: Header| header.check::<f64>(1 << 40, 1 << 30);
    let rows = check(header(Symmetry::General, 4_000_000_000, 0)).unwrap_err();
    assert_eq!(rows, "4000000000 rows and 0 entries need 91552 MiB, 1024 MiB are free");
    let most = ((1 << 30) - 24) / 36;
    assert!(check(header(Symmetry::General, 1, most)).is_ok());
    assert!(check(header(Symmetry::Symmetric, 1, most / 2 + 1)).unwrap_err().contains("MiB are free"));
    assert!(check(header(Symmetry::General, 1, most + 1)).unwrap_err().contains("MiB are free"));
}
