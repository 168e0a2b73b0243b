//! One rank's part of the box: its nodes and elements, and their local numbering.
//!
//! ```text
//! owned      nodes of the recursive cut: the rank's rows
//! elements   all elements that touch an owned node, so that assembly needs no communication
//! used       nodes of these elements: owned nodes and one layer of ghosts towards other ranks
//! interior   owned nodes without a ghost among their neighbours: rows to multiply while ghosts travel
//! ```
//! Local node ids: first the interior, then the other owned nodes (the shell), then the ghosts by owner, lowest rank
//! first. Each group is in lexicographic order, x fastest, and so are the elements. A few boxes describe the part, so
//! ids are computed in both directions in O(1) (for ghosts O(neighbours)) and nothing is stored per node.

use super::{BoxSpec, IndexBox, split::Share};
use crate::comm::{Map, Neighbour};
use crate::space::try_reserve;
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result};

/// A rank whose nodes share elements with nodes of this rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartNeighbour {
    /// The other rank.
    pub rank: usize,
    /// Nodes of this rank that the neighbour uses.
    pub send: IndexBox,
    /// Nodes of the neighbour that this rank uses.
    pub receive: IndexBox,
    /// Local id of the first node of `receive`.
    pub first_ghost: u64,
}

/// A box cut among ranks; any part can be computed in O(log p) time: for partitions of many ranks that no rank holds.
///
/// ```
/// use minifenl::mesh::{BoxParts, BoxSpec, CoordinateMap};
///
/// let spec = BoxSpec::unit([200; 3], CoordinateMap::None)?.with_imbalance(50.0)?;
/// let parts = BoxParts::new(&spec, 1000)?;
/// let owned = (0..1000).map(|rank| Ok(parts.part(rank)?.owned().count())).collect::<minifenl::Result<Vec<u64>>>()?;
/// assert_eq!(owned.iter().sum::<u64>(), 200 * 200 * 200);
/// assert!(owned[0] > 11_000 && owned[1..].iter().all(|&count| count < owned[0]));
/// # Ok::<(), minifenl::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BoxParts {
    spec: BoxSpec,
    share: Share,
}

impl BoxParts {
    /// Checks that every rank owns a node.
    ///
    /// # Errors
    /// [`Error::Invalid`] for too many ranks or too large an imbalance.
    pub fn new(spec: &BoxSpec, ranks: usize) -> Result<Self> {
        let share = Share::whole(spec.nodes(), ranks as u64, spec.imbalance())?;
        share.check()?;
        Ok(BoxParts { spec: *spec, share })
    }

    /// Returns the nodes that `rank` owns.
    pub(super) fn owned(&self, rank: usize) -> IndexBox {
        self.share.of_rank(rank as u64)
    }

    /// Computes the part of `rank`.
    ///
    /// # Errors
    /// [`Error::Invalid`] when `rank` is not below the number of ranks; [`Error::TooLarge`] when local ids exceed 32 bits.
    pub fn part(&self, rank: usize) -> Result<BoxPart> {
        let ranks = self.share.ranks;
        if rank as u64 >= ranks {
            return Err(Error::Invalid(format!("invalid rank {rank}: expected 0..{ranks}")));
        }
        BoxPart::of_share(&self.spec, self.share, rank)
    }
}

/// One rank's part of a box.
#[derive(Clone, Debug, PartialEq)]
pub struct BoxPart {
    spec: BoxSpec,
    owned: IndexBox,
    interior: IndexBox,
    used: IndexBox,
    elements: IndexBox,
    neighbours: Vec<PartNeighbour>,
}

impl BoxPart {
    /// Computes the part of `rank` among `ranks`.
    ///
    /// # Errors
    /// [`Error::Invalid`] when some rank would own no node (too many ranks or too large an imbalance; all ranks return the same
    /// error), or when `rank` is not below `ranks`; [`Error::TooLarge`] when local ids exceed 32 bits.
    pub fn new(spec: &BoxSpec, rank: usize, ranks: usize) -> Result<Self> {
        BoxParts::new(spec, ranks)?.part(rank)
    }

    /// Returns the part of `rank` in a checked share of the whole box.
    fn of_share(spec: &BoxSpec, share: Share, rank: usize) -> Result<Self> {
        let whole = IndexBox::whole(spec.nodes());
        let owned = share.of_rank(rank as u64);
        let used = owned.grown(&whole);
        let mut part = BoxPart {
            spec: *spec,
            owned,
            used,
            interior: IndexBox::from_axes(|axis| {
                // A side with ghosts behind it loses one layer of nodes.
                let inward = |is_cut: bool| u64::from(is_cut);
                let low = owned.low[axis] + inward(used.low[axis] < owned.low[axis]);
                (low, owned.high[axis] - inward(used.high[axis] > owned.high[axis]))
            }),
            elements: IndexBox::from_axes(|axis| (used.low[axis], used.high[axis] - 1)),
            neighbours: Vec::new(),
        };
        part.check_ids()?;
        let mut first_ghost = owned.count();
        share.for_each_touching(&used, &mut |other, nodes| {
            if other != rank as u64 {
                let receive = nodes.intersection(&used);
                // The neighbour uses one layer around its nodes; the part of it owned here is sent.
                let send = owned.intersection(&nodes.grown(&whole));
                part.neighbours.push(PartNeighbour { rank: other as usize, send, receive, first_ghost });
                first_ghost += receive.count();
            }
        });
        Ok(part)
    }

    fn check_ids(&self) -> Result<()> {
        let table = 8 * u128::from(self.elements.count());
        for (what, needed) in [("nodes", u128::from(self.used.count())), ("element-node table entries", table)] {
            if needed >= LocalOrdinal::MAX.into() {
                return Err(Error::TooLarge {
                    what: format!("the numbering of a rank's {what}"),
                    needed: format!("{needed} ids"),
                    limit: format!("{} (32 bits); use more ranks", LocalOrdinal::MAX - 1),
                });
            }
        }
        Ok(())
    }

    /// Returns the whole box.
    pub fn spec(&self) -> &BoxSpec {
        &self.spec
    }
    /// Returns the nodes that this rank owns.
    pub fn owned(&self) -> &IndexBox {
        &self.owned
    }
    /// Returns the owned nodes that share no element with a ghost. Their local ids are `0..interior().count()`.
    pub fn interior(&self) -> &IndexBox {
        &self.interior
    }
    /// Returns the owned and ghost nodes.
    pub fn used(&self) -> &IndexBox {
        &self.used
    }
    /// Returns the elements, indexed by their lowest corner.
    pub fn elements(&self) -> &IndexBox {
        &self.elements
    }
    /// Returns the ranks with which this rank exchanges values, lowest first.
    pub fn neighbours(&self) -> &[PartNeighbour] {
        &self.neighbours
    }

    /// Returns the local id of a node, or `LocalOrdinal::MAX` if this rank lacks it.
    pub fn local_node(&self, index: [u64; 3]) -> LocalOrdinal {
        let id = if self.interior.contains(index) {
            self.interior.position(index)
        } else if self.owned.contains(index) {
            self.interior.count() + self.owned.position(index) - self.interior_before(index)
        } else {
            let owner = self.neighbours.iter().find(|neighbour| neighbour.receive.contains(index));
            owner.map_or(u64::MAX, |owner| owner.first_ghost + owner.receive.position(index))
        };
        id as LocalOrdinal
    }

    /// Returns the number of interior nodes that precede an owned node in lexicographic order.
    fn interior_before(&self, index: [u64; 3]) -> u64 {
        let inner = &self.interior;
        let counts = inner.counts();
        let mut before = 0;
        for axis in [2, 1, 0] {
            let slice: u64 = counts[..axis].iter().product();
            // Counts complete slices of the interior before the index along this axis.
            before += slice * index[axis].saturating_sub(inner.low[axis]).min(counts[axis]);
            if !(inner.low[axis]..inner.high[axis]).contains(&index[axis]) {
                break;
            }
        }
        before
    }

    /// Returns the grid index of a local node.
    pub fn node_index(&self, local: LocalOrdinal) -> [u64; 3] {
        let local = u64::from(local);
        let interior = self.interior.count();
        if local < interior {
            self.interior.at(local)
        } else if local < self.owned.count() {
            self.shell_at(local - interior)
        } else {
            let after = self.neighbours.partition_point(|neighbour| neighbour.first_ghost <= local);
            let owner = &self.neighbours[after - 1];
            owner.receive.at(local - owner.first_ghost)
        }
    }

    /// Returns the shell node at a position. Walks the axes from z to x: slices beside the interior are complete,
    /// slices through it have a hole.
    fn shell_at(&self, position: u64) -> [u64; 3] {
        let (outer, inner) = (self.owned.counts(), self.interior.counts());
        let mut index = self.owned.low;
        let mut rest = position;
        let mut through = true;
        for axis in [2, 1, 0] {
            let full: u64 = outer[..axis].iter().product();
            let (mut slice, mut slice_through) = (rest / full, false);
            let mut start = slice * full;
            let before = self.interior.low[axis] - self.owned.low[axis];
            if through && rest >= before * full {
                // Nodes of a slice through the interior that belong to the shell.
                let hollow = full - inner[..axis].iter().product::<u64>();
                let passed = before * full;
                if hollow > 0 && rest < passed + inner[axis] * hollow {
                    slice = before + (rest - passed) / hollow;
                    start = passed + (slice - before) * hollow;
                    slice_through = true;
                } else {
                    let passed = passed + inner[axis] * hollow;
                    slice = before + inner[axis] + (rest - passed) / full;
                    start = passed + (slice - before - inner[axis]) * full;
                }
            }
            index[axis] += slice;
            rest -= start;
            through = slice_through;
        }
        index
    }

    /// Returns the global id of the node at a grid index.
    pub fn global_node(&self, index: [u64; 3]) -> GlobalOrdinal {
        IndexBox::whole(self.spec.nodes()).position(index)
    }

    /// Returns the global id of a local element.
    pub fn global_elem(&self, local: usize) -> GlobalOrdinal {
        let whole = IndexBox::whole(self.spec.nodes().map(|count| count - 1));
        whole.position(self.elements.at(local as u64))
    }

    /// Returns the owned and ghost nodes with their owners, for the halo exchange. Takes time and memory in proportion to the
    /// surface of the part.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when the memory is not available.
    pub fn map(&self) -> Result<Map> {
        let mut neighbours = Vec::new();
        for neighbour in &self.neighbours {
            let first = neighbour.first_ghost as LocalOrdinal;
            let mut send = Vec::new();
            try_reserve("nodes to send", &mut send, neighbour.send.count() as usize)?;
            let IndexBox { low, high } = neighbour.send;
            // Nodes to send lie outside the interior, so the ids of a line of them along x are consecutive.
            let length = (high[0] - low[0]) as LocalOrdinal;
            for (z, y) in (low[2]..high[2]).flat_map(|z| (low[1]..high[1]).map(move |y| (z, y))) {
                let first = self.local_node([low[0], y, z]);
                send.extend(first..first + length);
            }
            let receive = first..first + neighbour.receive.count() as LocalOrdinal;
            neighbours.push(Neighbour { rank: neighbour.rank, send, receive });
        }
        Map::new(self.spec.node_count(), self.owned.count() as usize, neighbours)
    }
}
