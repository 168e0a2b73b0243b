//! Tests of the partition against brute force over all ranks, of the mesh against counts, and of the coordinate maps.

use super::*;
use crate::comm::ranks::on_ranks;
use crate::element::{ElementType, fold};
use crate::space::{Serial, Threads};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};

fn spec(nodes: [u64; 3]) -> BoxSpec {
    BoxSpec::unit(nodes, CoordinateMap::None).unwrap()
}

fn parts(nodes: [u64; 3], ranks: usize) -> Vec<BoxPart> {
    (0..ranks).map(|rank| BoxPart::new(&spec(nodes), rank, ranks).unwrap()).collect()
}

/// Checks every promise of an even partition.
fn check_partition(nodes: [u64; 3], ranks: usize) {
    check_parts(&parts(nodes, ranks));
}

/// Checks every promise of a partition, computed node by node.
fn check_parts(parts: &[BoxPart]) {
    let nodes = parts[0].spec().nodes();
    let whole = IndexBox::whole(nodes);
    let mut owner = HashMap::new();
    for (rank, part) in parts.iter().enumerate() {
        assert!(part.owned().iter().all(|index| owner.insert(index, rank).is_none()), "a node with two owners");
    }
    assert_eq!(owner.len() as u64, whole.count(), "a node without owner");
    let around = |index: [u64; 3]| IndexBox::from_axes(|axis| (index[axis], index[axis] + 1)).grown(&whole);
    for (rank, part) in parts.iter().enumerate() {
        let used: HashSet<_> = part.owned().iter().flat_map(|index| around(index).iter()).collect();
        let mut expected: Vec<_> = part.owned().iter().collect();
        expected.sort_by_key(|&index| {
            let shell = around(index).iter().any(|near| owner[&near] != rank);
            (shell, whole.position(index))
        });
        let mut ghosts: Vec<_> = used.into_iter().filter(|index| owner[index] != rank).collect();
        ghosts.sort_by_key(|index| (owner[index], whole.position(*index)));
        let interior = expected.iter().filter(|&&i| around(i).iter().all(|near| owner[&near] == rank)).count();
        assert_eq!(part.interior().count(), interior as u64);
        expected.extend(&ghosts);
        assert_eq!(part.used().count(), expected.len() as u64);
        for (local, &index) in expected.iter().enumerate() {
            assert_eq!(part.node_index(local as u32), index);
            assert_eq!(part.local_node(index), local as u32);
        }
        check_exchange(parts, rank, &owner);
        let touching = |corner: &[u64; 3]| {
            let corners = IndexBox { low: *corner, high: corner.map(|i| i + 2) };
            corners.intersection(part.owned()).count() > 0
        };
        let elements: Vec<_> = IndexBox::whole(nodes.map(|count| count - 1)).iter().filter(touching).collect();
        assert_eq!(part.elements().iter().collect::<Vec<_>>(), elements);
    }
}

/// Checks that the values `rank` sends to each neighbour are those that the neighbour expects, node by node.
fn check_exchange(parts: &[BoxPart], rank: usize, owner: &HashMap<[u64; 3], usize>) {
    let map = parts[rank].map().unwrap();
    let ranks: Vec<_> = map.neighbours().iter().map(|neighbour| neighbour.rank).collect();
    let mut owners: Vec<_> = parts[rank].used().iter().map(|index| owner[&index]).filter(|&o| o != rank).collect();
    owners.sort_unstable();
    owners.dedup();
    assert_eq!(ranks, owners);
    for neighbour in map.neighbours() {
        let (other, other_map) = (&parts[neighbour.rank], parts[neighbour.rank].map().unwrap());
        let back = other_map.neighbours().iter().find(|back| back.rank == rank).unwrap();
        let sent: Vec<_> = neighbour.send.iter().map(|&local| parts[rank].node_index(local)).collect();
        let expected: Vec<_> = back.receive.clone().map(|local| other.node_index(local)).collect();
        assert_eq!(sent, expected, "{rank} -> {}", neighbour.rank);
    }
}

#[test]
fn partitions_keep_their_promises() {
    for ranks in 1..=64 {
        check_partition([13, 12, 11], ranks);
    }
    for (nodes, ranks) in [([8, 8, 8], 27), ([2, 2, 2], 8), ([40, 2, 3], 12), ([2, 3, 40], 7), ([5, 5, 5], 125)] {
        check_partition(nodes, ranks);
    }
}

#[test]
fn uneven_partitions_keep_their_promises() {
    for (nodes, ranks, imbalance) in [
        ([13, 12, 11], 2, 70.0),
        ([13, 12, 11], 7, 50.0),
        ([13, 12, 11], 15, 100.0),
        ([9, 8, 20], 12, 25.0),
        ([2, 3, 40], 4, 250.0),
    ] {
        let spec = spec(nodes).with_imbalance(imbalance).unwrap();
        let parts: Vec<_> = (0..ranks).map(|rank| BoxPart::new(&spec, rank, ranks).unwrap()).collect();
        let most = parts.iter().map(|part| part.owned().count()).max().unwrap();
        assert_eq!(parts[0].owned().count(), most, "{nodes:?}, {ranks} ranks");
        check_parts(&parts);
    }
    let refused = BoxPart::new(&spec([9; 3]).with_imbalance(100.0).unwrap(), 1, 2).unwrap_err().to_string();
    assert!(refused.contains("expected less than 100 % on 2 ranks"), "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]
    #[test]
    fn small_partitions_keep_their_promises(nodes in [2u64..9, 2u64..9, 2u64..9], ranks in 1usize..24) {
        if BoxPart::new(&spec(nodes), 0, ranks).is_ok() {
            check_partition(nodes, ranks);
        } else {
            // All ranks reject with one message, and only if the number of ranks is close to the number of nodes.
            let message = |rank| BoxPart::new(&spec(nodes), rank, ranks).unwrap_err().to_string();
            prop_assert!((1..ranks).all(|rank| message(rank) == message(0)));
            prop_assert!(32 * ranks as u64 > nodes.iter().product::<u64>());
        }
    }
}

#[test]
fn two_ranks_number_their_nodes_as_by_hand() {
    // 3x3x3 nodes: rank 0 owns z = 0, rank 1 owns z = 1 and 2.
    let meshes = parts([3; 3], 2).into_iter().map(|part| Mesh::new(&Serial, part).unwrap());
    let [first, second]: [Mesh; 2] = meshes.collect::<Vec<_>>().try_into().unwrap();
    assert_eq!((first.elem_count(), second.elem_count()), (4, 8));
    assert_eq!((first.interior_count(), second.interior_count()), (0, 9));
    // Rank 0: its nodes (i, j, 0), then the ghosts (i, j, 1).
    assert_eq!(first.elem_node.elem(0), [0, 1, 4, 3, 9, 10, 13, 12]);
    // Rank 1: interior z = 2 first (0..9), shell z = 1 (9..18), ghosts z = 0 (18..27).
    assert_eq!(second.elem_node.elem(0), [18, 19, 22, 21, 9, 10, 13, 12]);
    assert_eq!(second.elem_node.elem(4), [9, 10, 13, 12, 0, 1, 4, 3]);
    assert_eq!(first.map.neighbours()[0].send, (0..9).collect::<Vec<_>>());
    assert_eq!(second.map.neighbours()[0].send, (9..18).collect::<Vec<_>>());
    assert_eq!((second.global_node(0), second.global_node(18), second.part.global_elem(4)), (18, 0, 4));
    assert_eq!(first.node_coord[13], [0.5, 0.5, 0.5]);
    assert_eq!(first.node_faces[0], Face::XMin as u8 | Face::YMin as u8 | Face::ZMin as u8);
    assert_eq!(first.node_faces[9], Face::XMin as u8 | Face::YMin as u8);
    assert!(Face::ZMax.is_in(second.node_faces[8]) && Face::XMax.is_in(second.node_faces[8]));
}

#[test]
fn meshes_conform_and_agree_between_spaces_and_ranks() {
    let spec = BoxSpec::new([17, 18, 19], [1.0, 2.0, 0.5], CoordinateMap::TWIST).unwrap();
    let mut elem_by_global = BTreeMap::new();
    for rank in 0..6 {
        let part = BoxPart::new(&spec, rank, 6).unwrap();
        let mesh = Mesh::new(&Serial, part.clone()).unwrap();
        let threads = Mesh::new(&Threads::new(3).unwrap(), part).unwrap();
        assert_eq!((&mesh.elem_node, &mesh.node_coord), (&threads.elem_node, &threads.node_coord));
        ElemNode::new(mesh.elem_node.as_slice().to_vec(), 8, mesh.map.local_count()).unwrap();
        let mut elems_of_node = vec![0; mesh.map.local_count()];
        mesh.elem_node.as_slice().iter().for_each(|&node| elems_of_node[node as usize] += 1);
        for (node, &elems) in elems_of_node[..mesh.map.owned_count()].iter().enumerate() {
            assert_eq!(elems, 8 >> mesh.node_faces[node].count_ones(), "owned nodes have all their elements");
            assert_eq!(Face::ZMin.is_in(mesh.node_faces[node]), mesh.node_coord[node][2] == 0.0);
            assert_eq!(Face::ZMax.is_in(mesh.node_faces[node]), mesh.node_coord[node][2] == 0.5);
        }
        for (elem, nodes) in mesh.elem_node.iter().enumerate() {
            let seen: Vec<_> = nodes.iter().map(|&n| (mesh.global_node(n), mesh.node_coord[n as usize])).collect();
            assert_eq!(*elem_by_global.entry(mesh.part.global_elem(elem)).or_insert(seen.clone()), seen);
        }
    }
    assert_eq!(elem_by_global.len() as u64, spec.elem_count());
}

#[test]
fn ghosts_and_duplicates_are_those_of_the_original() {
    for (ranks, ghosts, elements) in [(2, 3.1, 1.016), (4, 6.3, 1.032), (8, 9.7, 1.048), (27, 19.9, 1.098)] {
        let parts = parts([64; 3], ranks);
        let used: u64 = parts.iter().map(|part| part.used().count() - part.owned().count()).sum();
        let elems: u64 = parts.iter().map(|part| part.elements().count()).sum();
        assert!((used as f64 / 64f64.powi(3) * 100.0 - ghosts).abs() < 0.06, "{ranks} ranks: {used} ghosts");
        assert!((elems as f64 / 63f64.powi(3) - elements).abs() < 0.0006, "{ranks} ranks: {elems} elements");
    }
}

#[test]
fn weak_scaling_shares_are_about_equal() {
    for ranks in 1..=64 {
        let nodes = nodes_for_ranks([12; 3], ranks).unwrap();
        for part in parts(nodes, ranks as usize) {
            let ratio = part.owned().count() as f64 / 1728.0;
            assert!((0.75..1.3).contains(&ratio), "{ranks} ranks: {ratio}");
            let powers = [2u64, 3, 5].into_iter().any(|p| (0..7).any(|e| p.pow(e) == ranks));
            assert!(ratio == 1.0 || !powers, "{ranks} ranks: {ratio}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_before_it_is_made() {
    let refused = |nodes, ranks| BoxPart::new(&spec(nodes), 0, ranks).unwrap_err().to_string();
    assert!(refused([2000; 3], 1).contains("a rank's nodes needs 8000000000 ids"));
    // 8 table entries per element: 536,870,912 elements have 2^32, and one less fits.
    assert!(refused([1025, 1025, 513], 1).contains("element-node table entries needs 4294967296 ids"));
    assert!(BoxPart::new(&spec([1024, 1024, 514]), 0, 1).is_ok());
    assert!(refused([2; 3], 16).contains("too many ranks"));
    assert!(BoxPart::new(&spec([3; 3]), 2, 2).is_err());
}

/// Returns the determinants of the edge vectors at each corner, which suffice to detect a fold.
fn corner_determinants(x: [[f64; 3]; 8]) -> [f64; 8] {
    const AHEAD: [[usize; 3]; 8] =
        [[1, 3, 4], [2, 0, 5], [3, 1, 6], [0, 2, 7], [7, 5, 0], [4, 6, 1], [5, 7, 2], [6, 4, 3]];
    std::array::from_fn(|corner| {
        let [a, b, c] = AHEAD[corner].map(|to| std::array::from_fn::<f64, 3, _>(|d| x[to][d] - x[corner][d]));
        a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0])
    })
}

#[test]
fn folded_elements_are_named_by_their_global_id() {
    let mesh = |map, rank| {
        let part = BoxPart::new(&BoxSpec::unit([13; 3], map).unwrap(), rank, 2).unwrap();
        Mesh::new(&Serial, part).unwrap()
    };
    for map in [CoordinateMap::None, CoordinateMap::BUBBLE, CoordinateMap::TWIST] {
        Serial.check_folding(&mesh(map, 0)).unwrap();
        Serial.check_folding(&mesh(map, 1)).unwrap();
    }
    for (rank, space) in [(0, Threads::new(2).unwrap()), (1, Threads::new(1).unwrap())] {
        let folded = mesh(CoordinateMap::Bubble(6.0), rank);
        space.check_inside(&folded).unwrap();
        let lowest = (0..folded.elem_count()).find(|&elem| {
            let nodes: [u32; 8] = folded.elem_node.elem(elem).try_into().unwrap();
            fold(&nodes.map(|n| folded.node_coord[n as usize])).is_some()
        });
        let error = space.check_folding(&folded).unwrap_err();
        let named = matches!(error, crate::Error::Folded { element, .. } if element == folded.part.global_elem(lowest.unwrap()));
        assert!(named, "{error}");
    }
    let mut unknown = mesh(CoordinateMap::None, 0);
    unknown.node_coord[17] = [f64::NAN; 3];
    assert!(Serial.check_folding(&unknown).is_err());
}

/// 8 of the corner determinants of 32 elements are negative; their Gauss points are positive.
#[test]
fn folds_between_gauss_points_are_found() {
    for (nodes, map, folded) in
        [(9, CoordinateMap::Twist(1.4), 32), (9, CoordinateMap::TWIST, 0), (9, CoordinateMap::None, 0)]
    {
        let mesh = Mesh::new(&Serial, BoxPart::new(&BoxSpec::unit([nodes; 3], map).unwrap(), 0, 1).unwrap()).unwrap();
        let elems = || mesh.elem_node.iter().map(|nodes| std::array::from_fn(|i| mesh.node_coord[nodes[i] as usize]));
        let negative = elems().filter(|&x| corner_determinants(x).iter().any(|&d| d <= 0.0)).count();
        assert_eq!(negative, folded, "{map}");
        assert!(elems().all(|x| crate::element::testing::determinants(x).iter().all(|&d| d > 0.0)), "{map}");
        assert_eq!(elems().filter(|x| fold(x).is_some()).count(), folded, "{map}");
        assert_eq!(Serial.check_folding(&mesh).is_err(), folded > 0, "{map}");
    }
}

#[test]
fn a_node_outside_the_box_is_named_with_its_map() {
    for (rank, ranks) in [(0, 1), (0, 2), (1, 2)] {
        let spec = BoxSpec::new([3; 3], [1.0, 2.0, 3.0], CoordinateMap::Twist(6.5)).unwrap();
        let mesh = Mesh::new(&Serial, BoxPart::new(&spec, rank, ranks).unwrap()).unwrap();
        let error = Threads::new(2).unwrap().check_inside(&mesh).unwrap_err().to_string();
        assert!(error.starts_with("node 13: the map twist:6.5 moves it to (0.5, 1, 3.9375), "), "{error}");
    }
    let mut mesh = Mesh::new(&Serial, BoxPart::new(&spec([4; 3]), 0, 1).unwrap()).unwrap();
    Serial.check_inside(&mesh).unwrap();
    for (value, axis) in [(-1e-9, 0), (1.0 + 1e-9, 1), (f64::NAN, 2)] {
        let kept = std::mem::replace(&mut mesh.node_coord[21][axis], value);
        assert!(Serial.check_inside(&mesh).unwrap_err().to_string().starts_with("node 21: "), "{value}");
        mesh.node_coord[21][axis] = kept;
    }
}

/// One element after another is stretched along one edge; its spacing follows that edge for the axis along which it moved.
#[test]
fn the_spacing_follows_every_edge_and_the_axis_alone() {
    let size = [0.5, 3.0, 7.0];
    let spec = BoxSpec::new([3, 4, 5], size, CoordinateMap::None).unwrap();
    let mut mesh = Mesh::new(&Serial, BoxPart::new(&spec, 0, 1).unwrap()).unwrap();
    for (axis, expected) in [0.25, 1.0, 1.75].into_iter().enumerate() {
        assert!((Serial.spacing(&mesh, axis).unwrap() - expected).abs() < 1e-15, "{axis}");
    }
    // One node of the corner element, moved along z by s: its z edge shrinks, the edges along x and y differ by s in z.
    let (s, node) = (0.5f64, 31);
    mesh.node_coord[node][2] += s;
    let exact = ((1.75 + s).powi(2) + 2.0 * s * s).sqrt();
    assert!((Serial.spacing(&mesh, 2).unwrap() - exact).abs() < 1e-14);
    assert!((Serial.spacing(&mesh, 0).unwrap() - 0.25).abs() < 1e-15, "the other axes do not change");
    // Every edge alone: a box of one element, whose node `m` is lifted above all others.
    let one = BoxSpec::new([2; 3], [1.0; 3], CoordinateMap::None).unwrap();
    for m in 0..8 {
        let mut mesh = Mesh::new(&Serial, BoxPart::new(&one, 0, 1).unwrap()).unwrap();
        let node = mesh.elem_node.elem(0)[m] as usize;
        mesh.node_coord.iter_mut().for_each(|x| x[2] = 0.0);
        mesh.node_coord[node][2] = 2.0;
        assert!((Serial.spacing(&mesh, 2).unwrap() - 12f64.sqrt()).abs() < 1e-14, "{m}");
    }
    let overflow = BoxSpec::new([3; 3], [1e-100, 1e-100, 1e200], CoordinateMap::None).unwrap();
    let mesh = Mesh::new(&Serial, BoxPart::new(&overflow, 0, 1).unwrap()).unwrap();
    assert_eq!(Serial.spacing(&mesh, 2).unwrap(), 0.5e200);
}

#[test]
fn numbers_by_global_id_are_the_same_on_every_partition() {
    // Above one chunk of nodes.
    let (nodes, count) = ([17, 16, 19], 5168);
    let of_whole = |fields: usize| {
        let mesh = Mesh::new(&Serial, BoxPart::new(&spec(nodes), 0, 1).unwrap()).unwrap();
        let mut numbers = vec![0.0; count * fields];
        Serial.scatter_by_id(&mesh, 5, fields, &mut numbers).unwrap();
        numbers
    };
    // Neither nodes nor their fields share a number.
    for (fields, mean) in [(1, 125.0), (3, 216.0)] {
        let mut numbers = of_whole(fields);
        assert!(numbers.iter().all(|x| x.abs() < 1.0) && numbers.iter().sum::<f64>().abs() < mean);
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        assert_eq!(numbers.len(), count * fields);
    }
    let whole = of_whole(1);
    for rank in 0..3 {
        let mesh = Mesh::new(&Serial, BoxPart::new(&spec(nodes), rank, 3).unwrap()).unwrap();
        let mut numbers = vec![9.0; mesh.map.local_count()];
        Threads::new(2).unwrap().scatter_by_id(&mesh, 5, 1, &mut numbers).unwrap();
        let owned = mesh.map.owned_count();
        assert!((0..owned).all(|node| numbers[node] == whole[mesh.global_node(node as u32) as usize]), "{rank}");
        assert!(numbers[owned..].iter().all(|&x| x == 9.0));
        numbers.truncate(owned - 1);
        assert!(Serial.scatter_by_id(&mesh, 5, 1, &mut numbers).is_err());
    }
}

#[test]
fn faces_are_marked_on_every_space() {
    let part = BoxPart::new(&spec([5, 4, 3]), 1, 2).unwrap();
    let mesh = Mesh::new(&Serial, part).unwrap();
    let faces = [Face::ZMin, Face::XMax];
    let on = Serial.on_faces(&mesh, faces).unwrap();
    assert_eq!(on, Threads::new(3).unwrap().on_faces(&mesh, faces).unwrap());
    let mut vector = vec![0.0; mesh.map.local_count() + 1];
    faces.into_iter().for_each(|face| Serial.set_on_face(&mesh, face, 7.0, &mut vector).unwrap());
    for (node, x) in mesh.node_coord.iter().enumerate() {
        let expected = x[2] == 0.0 || x[0] == 1.0;
        assert_eq!((on[node] == 1, vector[node] == 7.0), (expected, expected), "{x:?}");
    }
    assert_eq!(vector.pop(), Some(0.0));
    vector.pop();
    let refused = Serial.set_on_face(&mesh, Face::ZMin, 7.0, &mut vector).unwrap_err().to_string();
    assert!(refused.contains("`vector`"), "{refused}");
}

#[test]
fn nodes_on_faces_are_listed_once() {
    let chosen = [&[Face::ZMin, Face::XMax][..], &[Face::YMin], &Face::ALL, &[]];
    for (ranks, faces) in [1, 2, 5].into_iter().flat_map(|ranks| chosen.map(|faces| (ranks, faces))) {
        for element in [ElementType::Hex8, ElementType::Tet10] {
            let meshes = on_ranks(ranks, |comm| {
                let part = BoxPart::new(&spec([7, 5, 5]), comm.rank(), ranks).unwrap();
                match element {
                    ElementType::Hex8 => Mesh::new(&Serial, part).unwrap(),
                    _ => Mesh::of_elements(comm, element, &part).unwrap(),
                }
            });
            for (rank, mesh) in meshes.iter().enumerate() {
                let mut found = mesh.nodes_on(faces);
                found.sort();
                let is_on = |&node: &u32| faces.iter().any(|face| face.is_in(mesh.node_faces[node as usize]));
                let expected: Vec<u32> = (0..mesh.map.local_count() as u32).filter(is_on).collect();
                assert_eq!(found, expected, "{element}, rank {rank} of {ranks}, {faces:?}");
            }
        }
    }
}

#[test]
fn the_twist_bends_every_element_and_keeps_its_shape() {
    let part = BoxPart::new(&BoxSpec::unit([17; 3], CoordinateMap::TWIST).unwrap(), 0, 1).unwrap();
    let mesh = Mesh::new(&Serial, part).unwrap();
    let mut worst = f64::INFINITY;
    for nodes in mesh.elem_node.iter() {
        let x: [[f64; 3]; 8] = std::array::from_fn(|i| mesh.node_coord[nodes[i] as usize]);
        // x0 - x1 + x2 - x3 vanishes on all six faces for parallelepipeds only.
        let bend =
            |[a, b, c, d]: [usize; 4]| (0..3).map(|k| (x[a][k] - x[b][k] + x[c][k] - x[d][k]).abs()).sum::<f64>();
        assert!(bend([0, 1, 2, 3]) + bend([4, 5, 6, 7]) + bend([0, 1, 5, 4]) + bend([3, 2, 6, 7]) > 1e-5);
        let volume = (1.0f64 / 16.0).powi(3);
        worst = corner_determinants(x).into_iter().fold(worst, |worst, d| worst.min(d / volume));
    }
    assert!((0.55..0.75).contains(&worst), "smallest determinant, as a part of the brick's: {worst}");
}
