//! Several element groups in one sparsity pattern on a GPU.

use super::gpu;
use super::graph::{check_graph, hexes};
use minifenl::graph::{Strategy, build_groups};
use minifenl::mesh::ElemNode;
use minifenl::space::Serial;
use std::sync::Arc;

#[test]
fn groups_have_the_graphs_of_the_host() {
    let Some(space) = gpu("groups_have_the_graphs_of_the_host") else { return };
    let n = 17;
    let nodes = n * n * n;
    let boxes = ElemNode::new(hexes(n, |node| node as u32).concat(), 8, nodes).unwrap();
    // The faces z = 0, whose pairs the hexahedra have, and segments that no hexahedron has.
    let faces =
        hexes(n, |node| node as u32).iter().take((n - 1) * (n - 1)).flat_map(|elem| elem[..4].to_vec()).collect();
    let faces = ElemNode::new(faces, 4, nodes).unwrap();
    let far = ElemNode::new((0..1000).flat_map(|k| [k, nodes as u32 - 1 - k]).collect(), 2, nodes).unwrap();
    let hub = ElemNode::new((1..400).flat_map(|k| [7, k + 100]).collect(), 2, nodes).unwrap();
    let none = ElemNode::new(vec![], 3, nodes).unwrap();
    for tables in
        [vec![&boxes, &faces], vec![&faces, &boxes, &far], vec![&far, &none, &hub, &boxes], vec![&none, &none]]
    {
        let on_device: Vec<_> = tables.iter().map(|table| table.upload(&space).unwrap()).collect();
        let on_device: Vec<_> = on_device.iter().collect();
        for rows in [nodes, nodes - 1000] {
            let expected = build_groups(&Serial, &tables, rows, Strategy::Gather).unwrap();
            for strategy in [Strategy::Gather, Strategy::Map] {
                let found = build_groups(&space, &on_device, rows, strategy).unwrap();
                assert_eq!(found.len(), expected.len());
                for (group, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    check_graph(&space, &format!("{strategy:?}, {rows} rows, group {group}"), found, expected);
                }
                assert!(
                    found.iter().all(|graph| Arc::ptr_eq(&graph.crs, &found[0].crs) && graph.elem.is_in(&graph.crs))
                );
            }
        }
    }
}
