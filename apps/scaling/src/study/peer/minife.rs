//! miniFE: its flags and the YAML that it writes.
//!
//! miniFE counts elements (`nx=N-1` for N nodes) and stops after 200 CG iterations. `load_imbalance=P` moves planes between its boxes until
//! a rank's rows deviate from their mean by P per cent.

use super::super::plan::Point;
use minifenl::{Error, Result, files};
use std::path::Path;

/// Largest YAML, in bytes.
const LARGEST: u64 = 1 << 20;

/// One run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MiniFe {
    /// Elements along each axis.
    elements: [u64; 3],
    ranks: usize,
    /// Per cent that was asked for.
    imbalance: f64,
    /// Seconds of the matrix structure, the assembly, an iteration of CG, a product.
    seconds: [f64; 4],
}

/// The words after the program.
pub fn words(nodes: [u64; 3], point: Point) -> Vec<String> {
    let [x, y, z] = nodes.map(|nodes| nodes - 1);
    let mut words = vec![format!("nx={x}"), format!("ny={y}"), format!("nz={z}")];
    words.extend(point.is_uneven().then(|| format!("load_imbalance={}", point.imbalance)));
    words
}

/// Reads the times from a run's folder.
///
/// # Errors
/// [`Error::File`] for a YAML that cannot be read, [`Error::Invalid`] if there is none or not of this box and point.
pub fn read(folder: &Path, nodes: [u64; 3], point: Point) -> Result<[f64; 4]> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut yaml = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "yaml"));
    let yaml = yaml.next().ok_or_else(|| Error::Invalid("miniFE wrote no YAML".into()))?;
    let run = MiniFe::parse(&files::read_text(&yaml, LARGEST)?)?;
    let fits = run.elements == nodes.map(|nodes| nodes - 1)
        && run.ranks == point.ranks
        && run.imbalance == f64::from(point.imbalance);
    if !fits {
        let ([x, y, z], ranks) = (run.elements, run.ranks);
        return Err(Error::Invalid(format!("miniFE's YAML: {x}x{y}x{z} elements on {ranks} ranks, not {point}")));
    }
    Ok(run.seconds)
}

impl MiniFe {
    /// Reads the YAML: lines of `key: value`, indented.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the key that is missing or no number.
    pub fn parse(text: &str) -> Result<Self> {
        let value = |key: &str| {
            let found = text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(':'));
            let number = found
                .and_then(|value| value.trim().parse::<f64>().ok())
                .filter(|value| value.is_finite() && *value >= 0.0);
            number.ok_or_else(|| Error::Invalid(format!("miniFE's YAML: expected a number after `{key}:`")))
        };
        let iterations = value("Iterations")?.max(1.0);
        Ok(MiniFe {
            elements: [value("nx")? as u64, value("ny")? as u64, value("nz")? as u64],
            ranks: value("number of processors")? as usize,
            // Older versions have no such key.
            imbalance: value("load_imbalance").unwrap_or(0.0),
            seconds: [
                value("Mat-struc-gen Time")?,
                value("FE assembly Time")?,
                value("Total CG Time")? / iterations,
                value("MATVEC Time")? / iterations,
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recorded run of miniFE 2.0 on 384 ranks, without its platform.
    const RECORDED: &str = "Mini-Application Version: 2.0\nGlobal Run Parameters: \n  dimensions: \n    nx: 230\n    ny: 230\n    nz: 230\n  \
load_imbalance: 0\n  OpenMP Max Threads:: 1\n  number of processors: 384\n  ScalarType: double\nMatrix structure generation: \n  \
Mat-struc-gen Time: 0.0331519\nFE assembly: \n  FE assembly Time: 0.061553\nMatrix attributes: \n  Global Nrows: 12326391\n\
CG solve: \n  Iterations: 200\n  Final Resid Norm: 0.00137808\n  MATVEC Time: 0.168564\n  MATVEC Flops: 1.32636e+11\n  Total: \n    \
Total CG Time: 0.36647\n  Time per iteration: 0.00183235\n";

    #[test]
    fn a_recorded_yaml_is_read() {
        let record = MiniFe::parse(RECORDED).unwrap();
        assert_eq!((record.elements, record.ranks, record.imbalance), ([230; 3], 384, 0.0));
        let expected = [0.0331519, 0.061553, 0.00183235, 0.168564 / 200.0];
        let close = |(found, known): (&f64, f64)| (found / known - 1.0).abs() < 1e-5;
        assert!(record.seconds.iter().zip(expected).all(close), "{record:?}");
        let error = MiniFe::parse(&RECORDED.replace("0.36647", "much")).unwrap_err().to_string();
        assert!(error.contains("expected a number after `Total CG Time:`"), "{error}");
    }

    #[test]
    fn a_yaml_of_another_run_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.yaml"), RECORDED).unwrap();
        let read = |nodes, ranks, imbalance| read(folder.path(), nodes, Point { ranks, threads: 1, imbalance });
        assert!(read([231; 3], 384, 0).is_ok());
        for (nodes, ranks, imbalance) in [([230; 3], 384, 0), ([231; 3], 383, 0), ([231; 3], 384, 50)] {
            let error = read(nodes, ranks, imbalance).unwrap_err().to_string();
            assert!(error.contains("230x230x230 elements on 384 ranks, not"), "{nodes:?}, {ranks} ranks: {error}");
        }
        assert_eq!(
            words([8, 16, 8], Point { ranks: 2, threads: 1, imbalance: 50 }).join(" "),
            "nx=7 ny=15 nz=7 load_imbalance=50"
        );
        assert_eq!(words([8, 16, 8], Point::even(2, 1)).join(" "), "nx=7 ny=15 nz=7");
    }
}
