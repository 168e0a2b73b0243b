//! Scan, sort, node-element lists and graphs: integers, so the same as on the host.

use super::gpu;
use minifenl::graph::{self, Graph, NodeElem, Positions, Strategy};
use minifenl::mesh::{BoxPart, BoxSpec, CoordinateMap, ElemNode, Mesh};
use minifenl::space::{Cuda, CudaMemory, ExecutionSpace, Serial};
use support::random_bits;

#[test]
fn scans_equal_those_on_the_host() {
    let Some(space) = gpu("scans_equal_those_on_the_host") else { return };
    for n in [0, 1, 2, 3, 4, 5, 31, 127, 4095, 4096, 4097, 8193, 1_000_003, 9_000_001] {
        let mut next = random_bits(n);
        for shift in [61, 32] {
            let counts: Vec<u32> = (0..n).map(|_| (next() >> shift) as u32).collect();
            let mut expected = vec![0u64];
            counts.iter().for_each(|&count| expected.push(expected[expected.len() - 1] + u64::from(count)));
            let found = space.offsets(n as usize, &space.upload(&counts).unwrap()).unwrap();
            assert!(space.download(&found.offsets).unwrap() == expected, "n = {n}");
            let longest = counts.iter().copied().max().unwrap_or(0) as usize;
            assert_eq!((found.total as u64, found.longest), (expected[n as usize], longest), "n = {n}");
        }
    }
    assert!(space.offsets(2, &space.zeros(1).unwrap()).unwrap_err().to_string().contains("counts"));
}

#[test]
fn sorts_are_stable_for_every_range_of_bits() {
    let Some(space) = gpu("sorts_are_stable_for_every_range_of_bits") else { return };
    for n in [0, 1, 2, 33, 4095, 4096, 4097, 100_003, 3_000_017] {
        let mut next = random_bits(n + 7);
        let keys: Vec<u64> = (0..n).map(|_| next()).collect();
        for bits in [0..64, 5..17, 32..40, 63..64, 3..3, 0..20] {
            let mask = u64::MAX.checked_shr(64 - (bits.end - bits.start)).unwrap_or(0);
            let mut expected = keys.clone();
            expected.sort_by_key(|key| key.checked_shr(bits.start).unwrap_or(0) & mask);
            let found = space.sort_keys(space.upload(&keys).unwrap(), bits.clone()).unwrap();
            assert!(space.download(&found).unwrap() == expected, "n = {n}, bits {bits:?}");
        }
        let same = vec![77u64; n as usize];
        assert!(space.download(&space.sort_keys(space.upload(&same).unwrap(), 0..64).unwrap()).unwrap() == same);
    }
}

fn device_table(space: &Cuda, table: &ElemNode) -> ElemNode<CudaMemory> {
    table.upload(space).unwrap()
}

/// Lists of some table with their host twin's.
fn check_lists(space: &Cuda, table: &ElemNode, rows: usize) {
    let found = NodeElem::on_device(space, &device_table(space, table), rows).unwrap();
    let expected = NodeElem::new(&Serial, table, rows).unwrap();
    assert_eq!(found.rows(), expected.rows());
    assert!(space.download(found.row_map()).unwrap() == *expected.row_map(), "row_map");
    assert!(space.download(found.slots_array()).unwrap() == *expected.slots_array(), "slots");
}

/// Sparsity pattern and positions with those of the host.
pub fn check_graph(space: &Cuda, name: &str, found: &Graph<CudaMemory>, expected: &Graph) {
    let (crs, host) = (&found.crs, &expected.crs);
    assert_eq!((crs.rows(), crs.columns(), crs.nnz()), (host.rows(), host.columns(), host.nnz()), "{name}");
    assert!(space.download(crs.row_map()).unwrap() == *host.row_map(), "{name}: other row_map");
    assert!(space.download(crs.entries()).unwrap() == *host.entries(), "{name}: other entries");
    assert_eq!(found.elem.nodes_per_elem(), expected.elem.nodes_per_elem());
    let same = match (found.elem.positions(), expected.elem.positions()) {
        (Positions::U8(found), Positions::U8(host)) => space.download(found).unwrap() == *host,
        (Positions::U16(found), Positions::U16(host)) => space.download(found).unwrap() == *host,
        (Positions::U32(found), Positions::U32(host)) => space.download(found).unwrap() == *host,
        _ => panic!("{name}: positions of another type"),
    };
    assert!(same, "{name}: other positions");
}

/// Lists, and the graphs of every strategy.
fn check(space: &Cuda, table: &ElemNode, rows: usize) {
    check_lists(space, table, rows);
    let expected = graph::build(&Serial, table, rows, Strategy::Gather).unwrap();
    let table = device_table(space, table);
    for strategy in [Strategy::Gather, Strategy::Map, Strategy::Sort] {
        let found = graph::build(space, &table, rows, strategy).unwrap();
        check_graph(space, &format!("{strategy:?}, {rows} rows"), &found, &expected);
    }
}

/// Box of `n`^3 nodes, numbered by `number`.
pub fn hexes(n: usize, number: impl Fn(usize) -> u32) -> Vec<[u32; 8]> {
    let id = |i: usize, j: usize, k: usize| number((k * n + j) * n + i);
    let mut elems = Vec::new();
    for (k, j, i) in (0..n - 1).flat_map(|k| (0..n - 1).flat_map(move |j| (0..n - 1).map(move |i| (k, j, i)))) {
        let face = |k| [id(i, j, k), id(i + 1, j, k), id(i + 1, j + 1, k), id(i, j + 1, k)];
        let ([a, b, c, d], [e, f, g, h]) = (face(k), face(k + 1));
        elems.push([a, b, c, d, e, f, g, h]);
    }
    elems
}

#[test]
fn boxes_have_the_graphs_of_the_host_on_one_rank_and_on_several() {
    let Some(space) = gpu("boxes_have_the_graphs_of_the_host_on_one_rank_and_on_several") else { return };
    for (nodes, ranks) in [([2, 2, 2], 1), ([61, 23, 17], 1), ([61, 23, 17], 3), ([40, 40, 40], 8), ([90, 80, 70], 1)] {
        let spec = BoxSpec::new(nodes, [3.0, 1.0, 1.0], CoordinateMap::None).unwrap();
        for rank in 0..ranks {
            let mesh = Mesh::new(&Serial, BoxPart::new(&spec, rank, ranks).unwrap()).unwrap();
            check(&space, &mesh.elem_node, mesh.map.owned_count());
        }
    }
}

#[test]
fn scattered_numberings_have_the_graphs_of_the_host() {
    let Some(space) = gpu("scattered_numberings_have_the_graphs_of_the_host") else { return };
    let scattered = hexes(32, |node| (node * 12_345 % 32_768) as u32).concat();
    let table = ElemNode::new(scattered, 8, 32_768).unwrap();
    check(&space, &table, 32_768);
    check(&space, &table, 20_001);
}

#[test]
fn one_element_and_none_have_the_graphs_of_the_host() {
    let Some(space) = gpu("one_element_and_none_have_the_graphs_of_the_host") else { return };
    let three = ElemNode::new(vec![2, 0, 1], 3, 5).unwrap();
    let eight = ElemNode::new(vec![9, 2, 0, 1, 8, 4, 3, 6], 8, 10).unwrap();
    for (table, rows) in [(&three, 5), (&three, 1), (&three, 0), (&eight, 10), (&eight, 4), (&eight, 0)] {
        check(&space, table, rows);
    }
    for nodes_per_elem in [1, 3, 8] {
        check(&space, &ElemNode::new(vec![], nodes_per_elem, 300).unwrap(), 300);
        check(&space, &ElemNode::new(vec![], nodes_per_elem, 3).unwrap(), 0);
        check(&space, &ElemNode::new(vec![], nodes_per_elem, 0).unwrap(), 0);
    }
    check(&space, &ElemNode::new(vec![3, 0, 3], 1, 5).unwrap(), 4);
}

#[test]
fn nodes_of_many_elements_have_the_graphs_of_the_host() {
    let Some(space) = gpu("nodes_of_many_elements_have_the_graphs_of_the_host") else { return };
    // Rows for shared memory, for a sort of all, and positions of 16 and 32 bits.
    for elems in [20u32, 100, 300, 2000, 40_000] {
        let fan = (0..elems).flat_map(|e| [0, 2 * e + 1, 2 * e + 2]).collect();
        let nodes = 2 * elems as usize + 1;
        check(&space, &ElemNode::new(fan, 3, nodes).unwrap(), nodes);
    }
    let hub: Vec<u32> =
        (0..300u32).flat_map(|e| [0, 1, 2, 3, 4, 5, 6, 7].map(|i| if i == 0 { 9 } else { 10 + 7 * e + i })).collect();
    check(&space, &ElemNode::new(hub, 8, 2118).unwrap(), 2118);
    // Nine hexahedra at a node, and eight without a common node but it.
    for elems in [8u32, 9] {
        let star: Vec<u32> =
            (0..elems).flat_map(|e| (0..8).map(move |i| if i == 3 { 0 } else { 1 + 8 * e + i })).collect();
        check(&space, &ElemNode::new(star, 8, 100).unwrap(), 90);
    }
}

#[test]
fn other_element_shapes_have_the_graphs_of_the_host() {
    let Some(space) = gpu("other_element_shapes_have_the_graphs_of_the_host") else { return };
    let n = 14;
    let corners = [[0, 1, 2, 6], [0, 2, 3, 6], [0, 3, 7, 6], [0, 7, 4, 6], [0, 4, 5, 6], [0, 5, 1, 6]];
    let boxes = hexes(n, |node| node as u32);
    let tetrahedra: Vec<u32> =
        boxes.iter().flat_map(|elem| corners.iter().flat_map(|tet| tet.map(|i| elem[i])).collect::<Vec<_>>()).collect();
    check(&space, &ElemNode::new(tetrahedra, 4, n * n * n).unwrap(), n * n * n);
    // Quadratic hexahedra: 125 columns in a corner's row.
    let (m, mut quadratic) = (2 * 6 + 1, Vec::new());
    for (k, j, i) in (0..6).flat_map(|k| (0..6).flat_map(move |j| (0..6).map(move |i| (k, j, i)))) {
        for (c, b, a) in (0..3).flat_map(|c| (0..3).flat_map(move |b| (0..3).map(move |a| (c, b, a)))) {
            quadratic.push((((2 * k + c) * m + 2 * j + b) * m + 2 * i + a) as u32);
        }
    }
    check(&space, &ElemNode::new(quadratic.clone(), 27, m * m * m).unwrap(), m * m * m);
    check(&space, &ElemNode::new(quadratic, 27, m * m * m).unwrap(), 1000);
}

#[test]
fn columns_far_from_their_row_have_the_graphs_of_the_host() {
    let Some(space) = gpu("columns_far_from_their_row_have_the_graphs_of_the_host") else { return };
    let far = 1 << 27;
    let four = ElemNode::new(vec![0, 1, far, far + 1, 1, 2, far + 1, far + 2], 4, (1 << 27) + 3).unwrap();
    check(&space, &four, 3);
    for far in [(1 << 25) - 8, (1 << 25) - 1, 1 << 25, 1 << 26, 1 << 27] {
        let eight = vec![0, 1, 2, 3, far, far + 1, far + 2, far + 3, 2, 3, 4, 5, far + 2, far + 3, far + 4, far + 5];
        check(&space, &ElemNode::new(eight, 8, (1 << 27) + 6).unwrap(), 6);
    }
    // Three ranges of columns, and an upper one that is too wide for keys.
    for (middle, far) in [(1 << 25, 1 << 26), ((1 << 26) - 1, 1 << 27)] {
        let eight = vec![0, 1, 2, 3, middle, middle + 1, far, far + 1];
        check(&space, &ElemNode::new(eight, 8, (1 << 27) + 6).unwrap(), 6);
    }
}

/// Rows of 57 columns in lists of 8 elements: many blocks find that rows do not fit, at different times.
#[test]
fn rows_longer_than_those_of_boxes_have_the_graphs_of_the_host() {
    let Some(space) = gpu("rows_longer_than_those_of_boxes_have_the_graphs_of_the_host") else { return };
    let count = 60_000u32;
    for factor in [1, 7919] {
        // Differences of these places occur once.
        let elem = |e: u32| [0, 1, 4, 9, 15, 22, 32, 34].map(|place| (e + place) % count * factor % count);
        let table = ElemNode::new((0..count).flat_map(elem).collect(), 8, count as usize).unwrap();
        (0..5).for_each(|_| check(&space, &table, count as usize));
    }
}

#[test]
fn rows_far_above_their_columns_have_the_graphs_of_the_host() {
    let Some(space) = gpu("rows_far_above_their_columns_have_the_graphs_of_the_host") else { return };
    let far = (1 << 25) + 64;
    let eight = vec![0, far, 1, far + 2, 7, far + 1, 8, far + 3, far + 3, far + 4, 9, 10, 11, 12, 13, 14];
    check(&space, &ElemNode::new(eight, 8, far as usize + 5).unwrap(), far as usize + 5);
}

#[test]
fn random_tables_have_the_graphs_of_the_host() {
    let Some(space) = gpu("random_tables_have_the_graphs_of_the_host") else { return };
    for (case, nodes_per_elem) in (0..40).map(|case| (case, 1 + case as usize % 10)) {
        let mut next = random_bits(case);
        let (elems, spread) = (next() % 700, 30 + next() % 2000);
        let mut nodes: Vec<u32> = Vec::new();
        for _ in 0..elems {
            let start = nodes.len();
            while nodes.len() < start + nodes_per_elem {
                let node = (next() % spread) as u32;
                if !nodes[start..].contains(&node) {
                    nodes.push(node);
                }
            }
        }
        let table = ElemNode::new(nodes, nodes_per_elem, spread as usize).unwrap();
        check(&space, &table, (next() % (spread + 1)) as usize);
        check(&space, &table, spread as usize);
    }
}

/// Pattern by definition: the sorted pairs of all elements, as row offsets and columns.
fn by_sorting(nodes: &[u32], nodes_per_elem: usize, rows: usize) -> (Vec<u64>, Vec<u32>) {
    let elems = nodes.chunks(nodes_per_elem);
    let all = elems.flat_map(|elem| elem.iter().flat_map(move |&row| elem.iter().map(move |&column| (row, column))));
    let mut pairs: Vec<(u32, u32)> = all.filter(|&(row, _)| (row as usize) < rows).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let offset = |row: usize| pairs.partition_point(|pair| (pair.0 as usize) < row) as u64;
    ((0..=rows).map(offset).collect(), pairs.iter().map(|pair| pair.1).collect())
}

/// The elements `copies` times, in a random order, so that threads of many blocks insert the same pairs at the same time.
fn shuffled_copies(nodes: &[u32], nodes_per_elem: usize, copies: usize, seed: u64) -> Vec<u32> {
    let mut next = random_bits(seed);
    let elems = nodes.len() / nodes_per_elem;
    let mut order: Vec<usize> = (0..elems * copies).map(|at| at % elems).collect();
    (1..order.len()).rev().for_each(|last| order.swap(last, (next() % (last as u64 + 1)) as usize));
    order.iter().flat_map(|&elem| nodes[elem * nodes_per_elem..][..nodes_per_elem].to_vec()).collect()
}

/// Twin of the models of the host's insert (`tests/models`): a lost pair, a pair stored twice and a failure that is not
/// counted all change the pattern.
#[test]
fn pairs_that_many_blocks_insert_at_once_are_stored_once_in_a_map_that_is_nearly_full() {
    let test = "pairs_that_many_blocks_insert_at_once_are_stored_once_in_a_map_that_is_nearly_full";
    let Some(space) = gpu(test) else { return };
    let check = |name: &str, nodes: &[u32], nodes_per_elem: usize, node_count: usize, copies: usize, seed: u64| {
        let expected = by_sorting(nodes, nodes_per_elem, node_count);
        let copies = shuffled_copies(nodes, nodes_per_elem, copies, seed);
        let table = device_table(&space, &ElemNode::new(copies, nodes_per_elem, node_count).unwrap());
        // Threads meet in another order in every run.
        for run in 0..3 {
            let found = graph::build(&space, &table, node_count, Strategy::Map).unwrap().crs;
            assert!(space.download(found.row_map()).unwrap() == expected.0, "{name}, seed {seed}, run {run}: rows");
            assert!(space.download(found.entries()).unwrap() == expected.1, "{name}, seed {seed}, run {run}: columns");
        }
    };
    for seed in 0..6 {
        // Each pair is in 32 elements, whose threads meet at its slot.
        for (per_row, rows) in [(14u32, 3000u32), (15, 3000), (16, 3000), (17, 3000), (15, 200)] {
            let mut next = random_bits(100 * seed + u64::from(per_row));
            let mut pairs = Vec::new();
            for low in 0..rows {
                let mut far: Vec<u32> = (1..=40).collect();
                for at in 0..per_row as usize {
                    let left = (far.len() - at) as u64;
                    far.swap(at, at + (next() % left) as usize);
                    pairs.extend([low, low + far[at]]);
                }
            }
            check(&format!("{per_row} pairs in each of {rows} rows"), &pairs, 2, rows as usize + 41, 32, seed);
        }
        // One row with nearly all pairs.
        let fan: Vec<u32> = (1..5000).flat_map(|node| [0, node]).collect();
        check("a fan", &fan, 2, 5000, 32, seed);
        let boxes = hexes(14, |node| (node * 1235 % 2744) as u32).concat();
        check("hexahedra", &boxes, 8, 2744, 32, seed);
    }
}

#[test]
fn a_gpu_refuses_dashmap_and_tables_that_do_not_fit() {
    let Some(space) = gpu("a_gpu_refuses_dashmap_and_tables_that_do_not_fit") else { return };
    let table = device_table(&space, &ElemNode::new(vec![0, 1], 2, 2).unwrap());
    let refused = |rows, strategy| graph::build(&space, &table, rows, strategy).unwrap_err().to_string();
    assert!(refused(2, Strategy::DashMap).contains("choose map, gather or sort"));
    assert!(refused(3, Strategy::Sort).contains("elem_node"));
    assert!(NodeElem::on_device(&space, &table, 3).unwrap_err().to_string().contains("elem_node"));
    let repeated = device_table(&space, &ElemNode::with_repeats(vec![0, 1, 1], 3, 2).unwrap());
    let refused = graph::build(&space, &repeated, 2, Strategy::Sort).unwrap_err().to_string();
    assert!(refused.contains("expected different nodes on a GPU"), "{refused}");
}
