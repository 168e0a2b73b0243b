//! One rank's part of the box: which nodes and elements it has, and how it numbers them.
//!
//! ```text
//! owned      nodes of the recursive cut: the rank's rows
//! elements   all that touch an owned node, so that assembly needs no communication
//! used       nodes of these elements: owned and one layer of ghosts towards other ranks
//! interior   owned nodes without a ghost among their neighbours: rows to multiply while ghosts travel
//! ```
//! Local node ids: interior, then the rest of the owned (the shell), then the ghosts by owner, lowest rank first; each
//! group lexicographic, x fastest. Elements are lexicographic too. All is given by a few boxes, so that numbers are
//! computed both ways in O(1) (ghosts: O(neighbours)) and nothing is stored for each node.

use super::{BoxSpec, IndexBox, split::Share};
use crate::comm::{Map, Neighbour};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result};

/// Memory that a node takes in the whole run: mesh, graph, matrix, element graph and vectors, in bytes.
const BYTES_PER_NODE: u64 = 800;

/// Another rank whose nodes and this rank's share elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartNeighbour {
    /// The other rank.
    pub rank: usize,
    /// Nodes of this rank that it uses.
    pub send: IndexBox,
    /// Nodes of it that this rank uses.
    pub receive: IndexBox,
    /// Local id of the first of `receive`.
    pub first_ghost: u64,
}

/// The part of a box that one rank has.
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
    /// The part of `rank` among `ranks`.
    ///
    /// # Errors
    /// [`Error::Invalid`] when some rank would get no node (all ranks find the same), or `rank` is none of `ranks`;
    /// [`Error::TooLarge`] when local ids pass 32 bits.
    pub fn new(spec: &BoxSpec, rank: usize, ranks: usize) -> Result<Self> {
        if rank >= ranks {
            return Err(Error::Invalid(format!("rank {rank} of {ranks}: ranks are 0..{ranks}")));
        }
        let whole = IndexBox::whole(spec.nodes());
        let share = Share { nodes: whole, first: 0, ranks: ranks as u64 };
        share.check()?;
        let owned = share.of_rank(rank as u64);
        let used = owned.grown(&whole);
        let mut part = BoxPart {
            spec: *spec,
            owned,
            used,
            interior: IndexBox::from_axes(|axis| {
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

    /// Refuses a part whose run would need more than `available` bytes (about 800 a node), before any of it is made.
    ///
    /// # Errors
    /// [`Error::TooLarge`] with both numbers.
    pub fn check_memory(&self, available: u64) -> Result<()> {
        let needed = self.used.count().saturating_mul(BYTES_PER_NODE);
        if needed <= available {
            return Ok(());
        }
        let mib = |bytes: u64| bytes >> 20;
        Err(Error::TooLarge {
            what: format!("a run with {} nodes on a rank", self.used.count()),
            needed: format!("about {} MiB", mib(needed)),
            limit: format!("{} MiB of free memory", mib(available)),
        })
    }

    /// The box of which this is a part.
    pub fn spec(&self) -> &BoxSpec {
        &self.spec
    }
    /// Nodes that this rank owns.
    pub fn owned(&self) -> &IndexBox {
        &self.owned
    }
    /// Owned nodes that share no element with a ghost; their local ids are `0..interior().count()`.
    pub fn interior(&self) -> &IndexBox {
        &self.interior
    }
    /// Owned nodes and ghosts.
    pub fn used(&self) -> &IndexBox {
        &self.used
    }
    /// Elements, by their lowest corner.
    pub fn elements(&self) -> &IndexBox {
        &self.elements
    }
    /// Ranks to exchange with, lowest first.
    pub fn neighbours(&self) -> &[PartNeighbour] {
        &self.neighbours
    }

    /// Local id of a used node; the largest number for a node that this rank does not use.
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

    /// Interior nodes that come lexicographically before an owned node.
    fn interior_before(&self, index: [u64; 3]) -> u64 {
        let inner = &self.interior;
        let counts = inner.counts();
        let mut before = 0;
        for axis in [2, 1, 0] {
            let slice: u64 = counts[..axis].iter().product();
            before += slice * index[axis].saturating_sub(inner.low[axis]).min(counts[axis]);
            if !(inner.low[axis]..inner.high[axis]).contains(&index[axis]) {
                break;
            }
        }
        before
    }

    /// Grid index of a local node.
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

    /// The shell's node at a position: slice by slice from z to x, where slices beside the interior are full and those
    /// through it lack a part.
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

    /// Global id of the node at a grid index: its position in the whole box.
    pub fn global_node(&self, index: [u64; 3]) -> GlobalOrdinal {
        IndexBox::whole(self.spec.nodes()).position(index)
    }

    /// Global id of a local element.
    pub fn global_elem(&self, local: usize) -> GlobalOrdinal {
        let whole = IndexBox::whole(self.spec.nodes().map(|count| count - 1));
        whole.position(self.elements.at(local as u64))
    }

    /// Owned and ghost nodes with their owners, for the exchange.
    ///
    /// # Errors
    /// None for a part made by [`new`](Self::new); [`Map`] checks it all the same.
    pub fn map(&self) -> Result<Map> {
        let neighbour = |neighbour: &PartNeighbour| {
            let first = neighbour.first_ghost as LocalOrdinal;
            Neighbour {
                rank: neighbour.rank,
                send: neighbour.send.iter().map(|index| self.local_node(index)).collect(),
                receive: first..first + neighbour.receive.count() as LocalOrdinal,
            }
        };
        let neighbours = self.neighbours.iter().map(neighbour).collect();
        Map::new(self.spec.node_count(), self.owned.count() as usize, neighbours)
    }
}
