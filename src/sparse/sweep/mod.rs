//! Triangular sweeps over groups of independent rows, on every space.
//!
//! ```text
//! M = (D + L) D^-1 (D + U)       D: diagonal; L, U: entries in columns of earlier and of later rows
//! forward    y_p = (r_p - L_p y) / d_p       groups in order          (D + L) y = r
//! backward   y_p = y_p - U_p y / d_p         groups in reverse        (D + U) z = D y
//! ```
//! No entry joins two rows of a group, so all rows of a group are computed at once, and each is summed in an order that depends on its
//! length alone: results do not depend on the space's concurrency. With the values of A, M is the symmetric Gauss-Seidel preconditioner
//! from z = 0; with the factors of IC(0) in their place, the same sweeps solve with these.
//!
//! Rows are stored in the order of the groups and vectors are numbered so: a group reads and writes whole ranges. A sweep pair reads each
//! entry off the diagonal once, 12 bytes, and per row 16 for the offsets and 72 for vectors, diagonal and numbering.

#[cfg(feature = "cuda")]
mod cuda;
mod factors;
mod host;
mod row_groups;
#[cfg(test)]
mod tests;
mod triangles;

pub use row_groups::Grouping;
pub use triangles::Triangles;

use crate::Result;
use crate::blas::Blas;
use crate::space::Slice;
use std::fmt::Debug;

/// A space that solves with the triangles of a matrix.
pub trait Sweep: Blas {
    /// Triangles made on the host, with a copy in the memory of a device.
    type Triangles: Debug;

    /// Takes triangles into the memory of the space.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had.
    fn take_triangles(&self, made: Triangles) -> Result<Self::Triangles>;

    /// Lets `work` change the values of triangles on the host, and brings them to the memory of the space.
    ///
    /// # Errors
    /// Those of `work`; a device's failure.
    fn refill_triangles(
        &self,
        triangles: &mut Self::Triangles,
        work: impl FnOnce(&mut Triangles) -> Result<()>,
    ) -> Result<()>;

    /// z = M^-1 r over the rows; y holds a number per row and is overwritten. Only enqueues work.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for short vectors; a device's failure.
    fn sweep(
        &self,
        triangles: &Self::Triangles,
        r: &Slice<Self, f64>,
        y: &mut Slice<Self, f64>,
        z: &mut Slice<Self, f64>,
    ) -> Result<()>;
}
