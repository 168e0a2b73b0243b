//! Names of the steps in [`Graph::step_times`](super::Graph::step_times). Reports show them unchanged.
//!
//! A strategy marks only the steps that it has. Launches on a GPU are asynchronous: there, a step's time covers all kernels
//! launched since the preceding size read-back.

/// Node -> element lists.
pub const LISTS: &str = "graph/lists";
/// Keys of all node pairs.
pub const PAIRS: &str = "graph/pairs";
/// Entries per row, with the search for them: inserts into the pair map, or sorting of rows.
pub const COUNT: &str = "graph/count";
/// Row offsets, by an exclusive prefix sum of the counts.
pub const SCAN: &str = "graph/scan";
/// Allocation of the columns.
pub const ALLOCATE: &str = "graph/allocate";
/// Columns of all rows. The name is not "fill", which is the assembly of values in a report.
pub const COLUMNS: &str = "graph/columns";
/// Sorting of all pairs, or of the columns of each row.
pub const SORT: &str = "graph/sort";
/// Position of each element-matrix entry in its row.
pub const ELEM_GRAPH: &str = "graph/elem_graph";
