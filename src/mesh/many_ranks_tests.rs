//! Tests partitions of 100,000 ranks, one part at a time.
//!
//! ```text
//! w(i, j, k) = a_i b_j c_k                    random weights mod 2^64; a box has the sum A B C of its ranges
//! sum of w over all parts = w(whole)          with equal counts: every node has one owner
//! sum of h(sender, receiver, nodes) over all send lists = the same sum over all ghost lists
//!                                             each neighbour expects the nodes that are sent, in their order
//! ```
//! Neither sum needs a table of parts. A fault leaves one of them equal with a probability of about 2^-60.

use super::{BoxPart, BoxParts, BoxSpec, CoordinateMap, IndexBox, nodes_for_ranks};
use std::hash::BuildHasher;

const RANKS: usize = 100_000;

/// Prefix sums of random weights along one axis.
struct Weights(Vec<u64>);

impl Weights {
    fn new(count: u64, seed: u64) -> Self {
        let mut sum = 0u64;
        let weight =
            |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let weights = (0..count).map(|i| {
            let bits = weight(i);
            sum = sum.wrapping_add(bits ^ bits >> 29);
            sum
        });
        Weights(std::iter::once(0).chain(weights).collect())
    }
    fn range(&self, low: u64, high: u64) -> u64 {
        self.0[high as usize].wrapping_sub(self.0[low as usize])
    }
}

fn weight(weights: &[Weights; 3], nodes: &IndexBox) -> u64 {
    (0..3).fold(1, |product: u64, axis| product.wrapping_mul(weights[axis].range(nodes.low[axis], nodes.high[axis])))
}

/// Sums over the ranks of one partition.
#[derive(Default)]
struct Totals {
    owned: u64,
    weights: u64,
    ghosts: u64,
    /// Surface of cubes with the volume of the parts.
    surface: f64,
    sent: u64,
    sends: u64,
    receives: u64,
    most_neighbours: usize,
}

fn totals(spec: &BoxSpec, ranks: usize) -> Totals {
    let weights = [0, 1, 2].map(|axis| Weights::new(spec.nodes()[axis], axis as u64));
    let hasher = foldhash::quality::FixedState::default();
    // A list is its box, since both sides traverse it in lexicographic order.
    let list = |sender: usize, receiver: usize, nodes: &IndexBox| hasher.hash_one((sender, receiver, nodes));
    let parts = BoxParts::new(spec, ranks).unwrap();
    let mut totals = Totals::default();
    for rank in 0..ranks {
        let part = parts.part(rank).unwrap();
        totals.owned += part.owned().count();
        totals.weights = totals.weights.wrapping_add(weight(&weights, part.owned()));
        totals.surface += 6.0 * (part.owned().count() as f64).powf(2.0 / 3.0);
        let mut next = part.owned().count();
        for neighbour in part.neighbours() {
            assert_eq!(neighbour.first_ghost, next, "rank {rank}: ghosts follow each other");
            next += neighbour.receive.count();
            totals.sent += neighbour.send.count();
            totals.sends = totals.sends.wrapping_add(list(rank, neighbour.rank, &neighbour.send));
            totals.receives = totals.receives.wrapping_add(list(neighbour.rank, rank, &neighbour.receive));
            assert_eq!(neighbour.send.intersection(part.owned()), neighbour.send, "rank {rank} sends what it owns");
            assert_eq!(neighbour.receive.intersection(part.owned()).count(), 0, "rank {rank} owns no ghost");
        }
        assert_eq!(next, part.used().count(), "rank {rank}: every used node is owned or a ghost");
        totals.ghosts += next - part.owned().count();
        totals.most_neighbours = totals.most_neighbours.max(part.neighbours().len());
    }
    assert_eq!(totals.owned, spec.node_count());
    assert_eq!(totals.weights, weight(&weights, &IndexBox::whole(spec.nodes())), "a node with no owner or with two");
    assert_eq!(
        (totals.sends, totals.sent),
        (totals.receives, totals.ghosts),
        "a list that its neighbour does not expect"
    );
    totals
}

/// The nodes that `rank` sends to each neighbour are those that the neighbour's ghosts stand for, by their local ids.
fn check_lists(spec: &BoxSpec, rank: usize, ranks: usize) {
    let part = BoxPart::new(spec, rank, ranks).unwrap();
    for neighbour in part.map().unwrap().neighbours() {
        let other = BoxPart::new(spec, neighbour.rank, ranks).unwrap();
        let map = other.map().unwrap();
        let back = map.neighbours().iter().find(|back| back.rank == rank).unwrap();
        let sent = neighbour.send.iter().map(|&local| part.node_index(local));
        assert!(sent.eq(back.receive.clone().map(|local| other.node_index(local))), "{rank} -> {}", neighbour.rank);
    }
}

/// Checks a partition. Ghosts are at most `most` times the surface of as many cubes.
fn check(nodes: [u64; 3], ranks: usize, imbalance: f64, most: f64, neighbours: usize) {
    let spec = BoxSpec::unit(nodes, CoordinateMap::None).unwrap().with_imbalance(imbalance).unwrap();
    let totals = totals(&spec, ranks);
    let ratio = totals.ghosts as f64 / totals.surface;
    println!("{nodes:?}, {ranks} ranks: ghosts / surface {ratio:.3}, at most {} neighbours", totals.most_neighbours);
    assert!(ratio <= most, "{nodes:?}: {} ghosts are {ratio:.3} times the surface", totals.ghosts);
    assert!(totals.most_neighbours <= neighbours, "{nodes:?}: {} neighbours", totals.most_neighbours);
    // About 20 ranks, spread by a step that is coprime to 2, 3 and 5.
    (0..ranks).step_by(4993).for_each(|rank| check_lists(&spec, rank, ranks));
}

#[test]
fn a_cube_of_100_000_ranks_is_tiled() {
    check([2000; 3], RANKS, 0.0, 1.05, 26);
}

#[test]
fn weak_scaling_to_100_000_ranks_is_tiled() {
    let nodes = nodes_for_ranks([24; 3], RANKS as u64).unwrap();
    check(nodes, RANKS, 0.0, 1.1, 26);
}

#[test]
fn odd_boxes_of_100_000_ranks_are_tiled() {
    check([400_000, 31, 17], RANKS, 0.0, 1.0, 26);
    check([3001, 2, 2999], RANKS, 0.0, 1.0, 26);
}

#[test]
fn a_prime_number_of_ranks_is_tiled() {
    check([1501, 1699, 1303], 99_991, 0.0, 1.15, 36);
}

#[test]
fn uneven_boxes_of_10_000_and_of_a_prime_number_of_ranks_are_tiled() {
    let nodes = nodes_for_ranks([12; 3], 10_000).unwrap();
    check(nodes, 10_000, 50.0, 1.15, 40);
    check([151, 169, 131], 997, 100.0, 1.15, 40);
}
