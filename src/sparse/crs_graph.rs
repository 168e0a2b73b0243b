//! Sparsity pattern of a matrix in compressed-row storage (CRS, CSR).
//!
//! Offsets are 64-bit, because 1.6e8 rows of 27 entries exceed 32 bits; columns are 32-bit local ids, because a product
//! reads one per entry. Memory: 8 bytes per row and 4 per entry.

use crate::space::{ExecutionSpace, HostMemory, MemorySpace};
use crate::{Error, LocalOrdinal, Result, RowOffset, error::check_length};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Number of the next graph.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Compressed-row graph: row `i` has the columns `entries[row_map[i]..row_map[i + 1]]`, sorted and without duplicates.
#[derive(Clone, Debug)]
pub struct CrsGraph<M: MemorySpace = HostMemory> {
    rows: usize,
    columns: usize,
    nnz: usize,
    row_map: M::Array<RowOffset>,
    entries: M::Array<LocalOrdinal>,
    /// The same for copies, in any memory: graphs do not change.
    number: u64,
    /// The pattern of several dofs per node that was last made of this one, while it lives.
    of_dofs: Arc<Mutex<Weak<CrsGraph<M>>>>,
}

/// A [`CrsGraph`] in the memory of space `S`.
pub type GraphOf<S> = CrsGraph<<S as ExecutionSpace>::Memory>;

impl CrsGraph {
    /// Checks and takes the arrays of a graph of `row_map.len() - 1` rows.
    ///
    /// # Errors
    /// [`Error::Invalid`], naming the first row whose offsets decrease or whose columns are unsorted, repeated or out
    /// of range. [`Error::Shape`] when the length of `entries` differs from the last offset.
    pub fn new(row_map: Vec<RowOffset>, entries: Vec<LocalOrdinal>, columns: usize) -> Result<Self> {
        let Some(&last) = row_map.last() else {
            return Err(Error::length("CrsGraph::new", "row_map", 0, 1));
        };
        check_length("CrsGraph::new", "entries", entries.len(), last as usize)?;
        if row_map[0] != 0 {
            return Err(Error::Invalid(format!("row_map[0] is {}, expected 0", row_map[0])));
        }
        for (row, pair) in row_map.windows(2).enumerate() {
            if pair[1] < pair[0] || pair[1] > last {
                return Err(Error::Invalid(format!(
                    "row_map[{}] is {}, expected {}..={last}",
                    row + 1,
                    pair[1],
                    pair[0]
                )));
            }
            let row_entries = &entries[pair[0] as usize..pair[1] as usize];
            if let Some(two) = row_entries.windows(2).find(|two| two[1] <= two[0]) {
                return Err(Error::Invalid(format!(
                    "row {row}: column {} follows {}; columns must increase",
                    two[1], two[0]
                )));
            }
            if let Some(column) = row_entries.last().filter(|&&column| column as usize >= columns) {
                return Err(Error::Invalid(format!("row {row}: column {column} is outside 0..{columns}")));
            }
        }
        Ok(Self::trusted(row_map, entries, columns))
    }

    /// Takes the arrays without the checks of [`new`](Self::new), for graphs that this crate builds.
    pub(crate) fn trusted(row_map: Vec<RowOffset>, entries: Vec<LocalOrdinal>, columns: usize) -> Self {
        Self::from_parts(row_map.len() - 1, columns, entries.len(), row_map, entries)
    }

    /// Returns the bytes of a graph.
    pub fn bytes(rows: u64, entries: u64) -> u64 {
        8 * rows + 4 * entries
    }

    /// Returns the range of one row's entries.
    #[inline(always)]
    pub fn row_range(&self, row: usize) -> Range<usize> {
        self.row_map[row] as usize..self.row_map[row + 1] as usize
    }

    /// Returns the columns of one row.
    #[inline(always)]
    pub fn row(&self, row: usize) -> &[LocalOrdinal] {
        &self.entries[self.row_range(row)]
    }

    /// Returns the number of entries in the longest row.
    pub fn longest_row(&self) -> usize {
        self.row_map.windows(2).map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0)
    }

    /// Copies the graph into the memory of a space.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when the memory is not available, [`Error::Device`] when a device fails.
    pub fn upload<S: ExecutionSpace>(&self, space: &S) -> Result<CrsGraph<S::Memory>> {
        let (row_map, entries) = (space.upload(&self.row_map)?, space.upload(&self.entries)?);
        let copy = CrsGraph::from_parts(self.rows, self.columns, self.nnz, row_map, entries);
        Ok(CrsGraph { number: self.number, ..copy })
    }
}

impl<M: MemorySpace> CrsGraph<M> {
    /// Makes a pattern of rows without entries.
    #[cfg_attr(not(feature = "cli"), allow(dead_code))]
    pub(crate) fn without_entries(
        space: &impl ExecutionSpace<Memory = M>,
        rows: usize,
        columns: usize,
    ) -> Result<Self> {
        Ok(Self::from_parts(rows, columns, 0, space.zeros(rows + 1)?, space.zeros(0)?))
    }

    /// Takes the arrays of a graph. The caller guarantees the order that [`new`](Self::new) checks.
    pub(crate) fn from_parts(
        rows: usize,
        columns: usize,
        nnz: usize,
        row_map: M::Array<RowOffset>,
        entries: M::Array<LocalOrdinal>,
    ) -> Self {
        let number = NEXT.fetch_add(1, Relaxed);
        CrsGraph { rows, columns, nnz, row_map, entries, number, of_dofs: Arc::default() }
    }

    /// Returns the pattern of `dofs` dofs per node: the one that was last made, if it still lives, or that of `make`. So graphs
    /// of several groups of elements have one pattern of dofs, as they have one of nodes.
    pub(crate) fn of_dofs(&self, dofs: usize, make: impl FnOnce() -> Result<Self>) -> Result<Arc<Self>> {
        let kept = || self.of_dofs.lock().unwrap_or_else(PoisonError::into_inner);
        let last = kept().upgrade();
        if let Some(last) = last.filter(|last| (last.rows, last.columns) == (dofs * self.rows, dofs * self.columns)) {
            return Ok(last);
        }
        let made = Arc::new(make()?);
        *kept() = Arc::downgrade(&made);
        Ok(made)
    }

    /// Returns whether both are copies of one graph, in any memory: clones and uploads. Graphs that were built apart are none, even
    /// if they are equal. Compares two numbers.
    pub(crate) fn is_copy_of<N: MemorySpace>(&self, other: &CrsGraph<N>) -> bool {
        self.number == other.number
    }

    /// Returns a number that only copies share.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the number of entries (non-zeros).
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the offsets of the rows in `entries`, of length rows + 1.
    pub fn row_map(&self) -> &M::Array<RowOffset> {
        &self.row_map
    }

    /// Returns the column of each entry.
    pub fn entries(&self) -> &M::Array<LocalOrdinal> {
        &self.entries
    }
}

#[cfg(feature = "cuda")]
impl CrsGraph<crate::space::CudaMemory> {
    /// Frees memory behind the columns, which builders allocate before they know their number.
    pub(crate) fn exact(self) -> Result<Self> {
        Ok(CrsGraph { entries: self.entries.exact()?, ..self })
    }
}

impl PartialEq for CrsGraph {
    fn eq(&self, other: &Self) -> bool {
        self.columns == other.columns && self.row_map == other.row_map && self.entries == other.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_graphs_are_named() {
        let refused =
            |map: &[u64], entries: &[u32]| CrsGraph::new(map.to_vec(), entries.to_vec(), 3).unwrap_err().to_string();
        assert!(refused(&[], &[]).contains("row_map"));
        assert!(refused(&[0, 2], &[1]).contains("entries"));
        assert!(refused(&[1, 2], &[0, 1]).contains("row_map[0] is 1"));
        assert!(refused(&[0, 2, 1, 3], &[0, 1, 2]).contains("row_map[2] is 1"));
        assert!(refused(&[0, 2], &[1, 1]).contains("row 0: column 1 follows 1"));
        assert!(refused(&[0, 1, 2], &[0, 3]).contains("row 1: column 3"));
        assert!(refused(&[0, 0, 2], &[2, 0]).contains("row 1: column 0 follows 2"));
        assert!(refused(&[0, 3], &[0, 2, 1]).contains("row 0: column 1 follows 2"));
        assert!(refused(&[0, 4, 3], &[0, 1, 2]).contains("row_map[1] is 4"));
        let graph = CrsGraph::new(vec![0, 2, 2, 3], vec![0, 2, 1], 3).unwrap();
        assert_eq!((graph.rows(), graph.nnz(), graph.longest_row(), graph.row(2)), (3, 3, 2, &[1][..]));
        let again = CrsGraph::new(vec![0, 2, 2, 3], vec![0, 2, 1], 3).unwrap();
        let uploaded = graph.upload(&crate::space::Serial).unwrap();
        assert!(graph == again && !graph.is_copy_of(&again));
        assert!(graph.is_copy_of(&graph.clone()) && graph.is_copy_of(&uploaded));
    }

    /// One fault anywhere in a graph of 5000 rows is found and its row named.
    #[test]
    fn no_row_escapes_the_checks() {
        let row_map: Vec<u64> = (0..=5000).map(|row| 3 * row).collect();
        let entries: Vec<u32> = (0..5000).flat_map(|row| [row, row + 7, row + 9]).collect();
        assert!(CrsGraph::new(row_map.clone(), entries.clone(), 5009).is_ok());
        for row in [0, 1, 4095, 4096, 4999] {
            let named = |change: &dyn Fn(&mut [u32])| {
                let mut entries = entries.clone();
                change(&mut entries[3 * row..3 * row + 3]);
                let refused = CrsGraph::new(row_map.clone(), entries, 5009).unwrap_err().to_string();
                assert!(refused.contains(&format!("row {row}: column")), "{refused}");
            };
            named(&|row| row.swap(0, 1));
            named(&|row| row.swap(1, 2));
            named(&|row| row[1] = row[0]);
            named(&|row| row[2] = row[1]);
            named(&|row| row[2] = 5009);
        }
    }
}
