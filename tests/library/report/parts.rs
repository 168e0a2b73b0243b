//! The sizes of each rank's part of a box, counted one by one from the element-node table of the whole box and an owner of each node.

use minifenl::element::ElementType;
use minifenl::mesh::{BoxPart, BoxSpec, Mesh};
use std::collections::{BTreeMap, BTreeSet};

/// What a rank has, as nodes and pairs of nodes.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub owned: u64,
    pub ghosts: u64,
    pub elems: u64,
    /// Pairs (node, neighbour) with an owned node, itself among its neighbours.
    pub nnz: u64,
    /// Owned nodes that other ranks have as ghosts, once for each of them.
    pub sent: u64,
    /// Ranks to which or from which a node goes.
    pub neighbours: u64,
    /// Owned nodes with given values.
    pub fixed: u64,
    /// Pairs of different nodes, the first owned, in which one node or both are fixed.
    pub cleared: u64,
    /// Pairs of nodes of an element, the first owned, summed over the elements.
    pub corner_pairs: u64,
}

/// The parts of all ranks, and the numbers of nodes and elements of the box. All faces have given values, or those at the ends of z.
pub fn parts(element: ElementType, spec: &BoxSpec, ranks: usize, fixes_all_faces: bool) -> (Vec<Part>, u64, u64) {
    let (points, size) = (spec.nodes(), spec.size());
    let cells = points.map(|points| ((points - 1) / element.degree() as u64) as usize);
    let whole = Mesh::of_box(element, cells, size).unwrap();
    let place = |node: u32| {
        let x = whole.node_coord[node as usize];
        [0, 1, 2].map(|axis| (x[axis] / size[axis] * (points[axis] - 1) as f64).round() as u64)
    };
    let boxes: Vec<BoxPart> = (0..ranks).map(|rank| BoxPart::new(spec, rank, ranks).unwrap()).collect();
    let owner = |node: u32| boxes.iter().position(|part| part.owned().contains(place(node))).unwrap();
    let is_fixed = |node: u32| {
        let at_end = |axis: usize| [0, points[axis] - 1].contains(&place(node)[axis]);
        if fixes_all_faces { (0..3).any(at_end) } else { at_end(2) }
    };
    let nodes: BTreeSet<u32> = whole.elem_node.as_slice().iter().copied().collect();
    let mut of_node: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for elem in whole.elem_node.iter() {
        elem.iter().for_each(|&node| of_node.entry(node).or_default().extend(elem));
    }
    let mut parts = vec![Part::default(); ranks];
    // Who has whose nodes as ghosts.
    let mut ghosts: BTreeSet<(usize, u32)> = BTreeSet::new();
    for elem in whole.elem_node.iter() {
        for rank in elem.iter().map(|&node| owner(node)).collect::<BTreeSet<usize>>() {
            parts[rank].elems += 1;
            ghosts.extend(elem.iter().filter(|&&node| owner(node) != rank).map(|&node| (rank, node)));
        }
        elem.iter().for_each(|&node| parts[owner(node)].corner_pairs += elem.len() as u64);
    }
    for (&node, neighbours) in &of_node {
        let part = &mut parts[owner(node)];
        part.owned += 1;
        part.nnz += neighbours.len() as u64;
        part.fixed += u64::from(is_fixed(node));
        part.cleared +=
            neighbours.iter().filter(|&&other| other != node && (is_fixed(node) || is_fixed(other))).count() as u64;
    }
    for (rank, part) in parts.iter_mut().enumerate() {
        let mine = |&&(of, _): &&(usize, u32)| of == rank;
        let sent = |&&(of, node): &&(usize, u32)| of != rank && owner(node) == rank;
        part.ghosts = ghosts.iter().filter(mine).count() as u64;
        part.sent = ghosts.iter().filter(sent).count() as u64;
        let from = ghosts.iter().filter(mine).map(|&(_, node)| owner(node));
        let to = ghosts.iter().filter(sent).map(|&(of, _)| of);
        part.neighbours = from.chain(to).collect::<BTreeSet<usize>>().len() as u64;
    }
    (parts, nodes.len() as u64, whole.elem_node.elem_count() as u64)
}
