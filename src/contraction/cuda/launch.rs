//! The launch of one contraction kernel, complete but for its arguments.

use super::work::{WARP, Work};
use crate::space::cuda::{Grid, KernelFile};
use std::fmt::Write;

/// A launch without its arguments.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The file of the kernel.
    pub file: &'static KernelFile,
    /// The `#define` lines of a file that is compiled for the sizes of a call.
    pub defines: Option<String>,
    /// The kernel.
    pub kernel: &'static str,
    /// Blocks, threads and shared memory.
    pub grid: Grid,
    /// The kernel's argument of this name.
    pub option: usize,
    /// Whether the output has to be zero before the launch.
    pub clears: bool,
}

/// Reason why a variant does not apply to a contraction.
pub type Refusal = &'static str;

impl Launch {
    /// A launch of a file that is compiled for the sizes of a call: `REAL` is the C++ type of the numbers, `LEFT` and `RIGHT` count the
    /// fields, and `values` become one `#define` each.
    pub fn specialised(file: &'static KernelFile, work: &Work, values: &[(&str, usize)], grid: Grid) -> Self {
        let (real, [_, left, right]) = (if work.item == 8 { "double" } else { "float" }, work.sizes);
        let mut defines = format!("#define REAL {real}\n#define LEFT {left}\n#define RIGHT {right}\n");
        for (name, value) in values {
            // Writing to a string cannot fail.
            let _ = writeln!(defines, "#define {name} {value}");
        }
        Launch { file, defines: Some(defines), kernel: "contract", grid, option: 0, clears: false }
    }
}

/// Returns the number of warps that compute `rows` x `columns` tiles of 32 cells.
pub fn tiled_warps(work: &Work, rows: usize, columns: usize) -> usize {
    let [cells, left, right] = work.sizes;
    cells.div_ceil(WARP) * left.div_ceil(rows) * right.div_ceil(columns)
}
