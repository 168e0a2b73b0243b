//! Position of each entry of an element matrix in the CRS matrix.
//!
//! Assembly adds element matrices to rows; these positions spare it a search per entry. Building them once pays off
//! because every Newton step assembles on the same sparsity pattern.

use crate::Result;
use crate::mesh::{ElemNode, Sizes};
use crate::space::{ExecutionSpace, HostMemory, Item, MemorySpace};
use crate::sparse::CrsGraph;
use std::sync::Arc;

/// Index type for positions in a row. [`NONE`](Position::NONE) marks a row that this rank does not own.
pub trait Position: Item + Send + Sync {
    /// Mark of an element row whose node is not owned, and of entries that another row of a symmetric matrix stores.
    const NONE: Self;
    /// Converts a position, which must fit.
    fn new(position: usize) -> Self;
    /// Converts to an index.
    fn get(self) -> usize;
}
macro_rules! position {
    ($($int:ty),*) => {$(
        impl Position for $int {
            const NONE: Self = <$int>::MAX;
            #[inline(always)]
            fn new(position: usize) -> Self {
                position as $int
            }
            #[inline(always)]
            fn get(self) -> usize {
                self as usize
            }
        }
    )*};
}
position!(u8, u16, u32);

/// Positions in the smallest integer type that fits the longest row.
#[derive(Clone, Debug, PartialEq)]
pub enum Positions<M: MemorySpace = HostMemory> {
    /// Rows of up to 255 entries.
    U8(M::Array<u8>),
    /// Rows of up to 65 535 entries.
    U16(M::Array<u16>),
    /// Longer rows.
    U32(M::Array<u32>),
}

/// An element-node table and the positions `[elem, i, j]` in the row of node i. The row's offset plus the position is
/// the index of the entry in the CRS matrix. Rows of up to 255 entries need 1 byte per position: 64 bytes per
/// hexahedron, a quarter of a table of 32-bit indices. Clones share table and positions.
#[derive(Debug)]
pub struct ElemGraph<M: MemorySpace = HostMemory> {
    elem_node: ElemNode<M>,
    positions: Arc<Positions<M>>,
    /// Number of the pattern in which the positions are.
    pattern: u64,
}

impl<M: MemorySpace> Clone for ElemGraph<M> {
    fn clone(&self) -> Self {
        ElemGraph { elem_node: self.elem_node.clone(), positions: self.positions.clone(), pattern: self.pattern }
    }
}

impl PartialEq for ElemGraph {
    fn eq(&self, other: &Self) -> bool {
        let is_same = Arc::ptr_eq(&self.positions, &other.positions);
        self.elem_node == other.elem_node && (is_same || self.positions == other.positions)
    }
}

/// Binds `$p` to the position type for rows of up to `$longest` entries and evaluates `$body`, an array of `$p`.
macro_rules! with_position_type {
    ($longest:expr, $p:ident => $body:expr) => {
        match $longest {
            0..=255 => {
                type $p = u8;
                Positions::U8($body)
            }
            256..=65_535 => {
                type $p = u16;
                Positions::U16($body)
            }
            _ => {
                type $p = u32;
                Positions::U32($body)
            }
        }
    };
}
pub(crate) use with_position_type;

/// Evaluates `$body` with `$array` bound to the positions, for each of the integer types.
macro_rules! with_positions {
    ($positions:expr, $array:ident => $body:expr) => {
        match $positions {
            $crate::graph::Positions::U8($array) => $body,
            $crate::graph::Positions::U16($array) => $body,
            $crate::graph::Positions::U32($array) => $body,
        }
    };
}
pub(crate) use with_positions;

/// Returns the bytes of a position in rows of up to `longest` entries.
pub(super) fn position_bytes(longest: u64) -> u64 {
    match longest {
        0..=255 => 1,
        256..=65_535 => 2,
        _ => 4,
    }
}

impl ElemGraph {
    /// Returns the bytes of the positions of the graph of nodes.
    pub fn bytes(sizes: &Sizes) -> u64 {
        position_bytes(sizes.longest) * sizes.nodes * sizes.nodes * sizes.elems
    }

    /// Returns the CRS index of entry `(elem, i, j)`, or `None` for rows not owned.
    pub fn entry(&self, crs: &CrsGraph, elem: usize, i: usize, j: usize) -> Option<usize> {
        let row = self.elem_node.elem(elem)[i] as usize;
        let at = (elem * self.nodes_per_elem() + i) * self.nodes_per_elem() + j;
        let position = with_positions!(self.positions(), positions => positions[at] as usize);
        (row < crs.rows()).then(|| crs.row_range(row).start + position)
    }

    /// Copies table and positions into the memory of a space.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available, [`Error::Device`](crate::Error::Device)
    /// when a device fails.
    pub fn upload<S: ExecutionSpace>(&self, space: &S) -> Result<ElemGraph<S::Memory>> {
        let positions = match self.positions() {
            Positions::U8(positions) => Positions::U8(space.upload(positions)?),
            Positions::U16(positions) => Positions::U16(space.upload(positions)?),
            Positions::U32(positions) => Positions::U32(space.upload(positions)?),
        };
        Ok(ElemGraph {
            elem_node: self.elem_node.upload(space)?,
            positions: Arc::new(positions),
            pattern: self.pattern,
        })
    }
}

impl<M: MemorySpace> ElemGraph<M> {
    /// Takes a table and its positions in a pattern, as the narrowest type that fits.
    pub(crate) fn from_parts(elem_node: ElemNode<M>, positions: Positions<M>, crs: &CrsGraph<M>) -> Self {
        ElemGraph { elem_node, positions: Arc::new(positions), pattern: crs.number() }
    }

    /// Returns the same positions in an equal pattern.
    pub(crate) fn in_equal(self, crs: &CrsGraph<M>) -> Self {
        ElemGraph { pattern: crs.number(), ..self }
    }

    /// Returns whether the positions refer to this pattern, or to one that it copies.
    pub fn is_in(&self, crs: &CrsGraph<M>) -> bool {
        self.pattern == crs.number()
    }

    /// Returns the element-node table.
    pub fn elem_node(&self) -> &ElemNode<M> {
        &self.elem_node
    }

    /// Returns the number of nodes per element.
    pub fn nodes_per_elem(&self) -> usize {
        self.elem_node.nodes_per_elem()
    }

    /// Returns the positions `[elem, i, j]`.
    pub fn positions(&self) -> &Positions<M> {
        &self.positions
    }

    /// Returns the bytes of a position.
    pub fn position_bytes(&self) -> u64 {
        match self.positions() {
            Positions::U8(_) => 1,
            Positions::U16(_) => 2,
            Positions::U32(_) => 4,
        }
    }

    /// Returns whether both are clones of one.
    #[cfg(feature = "cuda")]
    pub(crate) fn is_clone_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.positions, &other.positions)
    }
}

#[cfg(feature = "cuda")]
impl ElemGraph<crate::space::CudaMemory> {
    /// Turns the positions into places of another storage format. Positions that others share are copied first.
    pub(crate) fn with_places(
        self,
        turn: impl FnOnce(&mut Positions<crate::space::CudaMemory>) -> Result<()>,
    ) -> Result<Self> {
        let mut positions = match Arc::try_unwrap(self.positions) {
            Ok(positions) => positions,
            Err(shared) => match &*shared {
                Positions::U8(of) => Positions::U8(of.try_clone()?),
                Positions::U16(of) => Positions::U16(of.try_clone()?),
                Positions::U32(of) => Positions::U32(of.try_clone()?),
            },
        };
        turn(&mut positions)?;
        Ok(ElemGraph { positions: Arc::new(positions), ..self })
    }
}
