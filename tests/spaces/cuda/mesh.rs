//! Tables of the box, and checks of meshes.

use super::gpu;
use minifenl::mesh::{BoxPart, BoxSpec, CoordinateMap, Face, Mesh, MeshSpace};
use minifenl::space::{Cuda, CudaMemory, ExecutionSpace, Serial};

fn meshes(space: &Cuda, map: CoordinateMap, rank: usize, ranks: usize) -> (Mesh<CudaMemory>, Mesh) {
    let spec = BoxSpec::new([29, 13, 7], [3.0, 1.0, 0.7], map).unwrap();
    let part = || BoxPart::new(&spec, rank, ranks).unwrap();
    (Mesh::new(space, part()).unwrap(), Mesh::new(&Serial, part()).unwrap())
}

#[test]
fn mesh_tables_of_boxes_and_parts_equal_those_of_the_host() {
    let Some(space) = gpu("mesh_tables_of_boxes_and_parts_equal_those_of_the_host") else { return };
    for map in [CoordinateMap::None, CoordinateMap::BUBBLE, CoordinateMap::TWIST] {
        for (rank, ranks) in [(0, 1), (1, 3)] {
            let (found, expected) = meshes(&space, map, rank, ranks);
            assert_eq!(space.download(found.elem_node.nodes()).unwrap(), expected.elem_node.as_slice());
            assert_eq!(space.download(&found.node_faces).unwrap(), expected.node_faces);
            let coord = space.download(&found.node_coord).unwrap();
            if map == CoordinateMap::TWIST {
                let pairs = coord.as_flattened().iter().zip(expected.node_coord.as_flattened());
                assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-15), "{map}");
            } else {
                assert_eq!(coord, expected.node_coord, "{map}");
            }
            let faces = [Face::ZMin, Face::XMax];
            let on = space.on_faces(&found, faces).unwrap();
            assert_eq!(space.download(&on).unwrap(), Serial.on_faces(&expected, faces).unwrap());
            let mut vector = vec![0.5; expected.node_faces.len()];
            let mut on_gpu = space.upload(&vector).unwrap();
            Serial.set_on_face(&expected, Face::YMax, 7.0, &mut vector).unwrap();
            space.set_on_face(&found, Face::YMax, 7.0, &mut on_gpu).unwrap();
            assert_eq!(space.download(&on_gpu).unwrap(), vector);
            let mut vector = vec![0.5; 3 * expected.node_faces.len()];
            let mut on_gpu = space.upload(&vector).unwrap();
            let nodes = found.nodes_on(&[Face::YMax, Face::XMin]);
            let values: Vec<f64> = (0..3 * nodes.len()).map(|i| i as f64).collect();
            Serial.set_nodes(&nodes, &values, &mut vector).unwrap();
            space.set_nodes(&nodes, &values, &mut on_gpu).unwrap();
            assert_eq!(space.download(&on_gpu).unwrap(), vector);
            for axis in 0..3 {
                let (h, exact) = (space.spacing(&found, axis).unwrap(), Serial.spacing(&expected, axis).unwrap());
                assert!((h - exact).abs() < 1e-14, "{map}, axis {axis}: {h} {exact}");
            }
            let owned = expected.map.owned_count();
            let (mut numbers, mut on_host) = (space.zeros(owned).unwrap(), vec![0.0; owned]);
            space.scatter_by_id(&found, 77, 1, &mut numbers).unwrap();
            Serial.scatter_by_id(&expected, 77, 1, &mut on_host).unwrap();
            assert_eq!(space.download(&numbers).unwrap(), on_host);
        }
    }
}

/// Compares every table of every part of a box, entry by entry.
fn parts_equal_those_of_the_host(space: &Cuda, nodes: [u64; 3], ranks: usize) {
    let spec = BoxSpec::new(nodes, [1.0, 2.5, 0.3], CoordinateMap::BUBBLE).unwrap();
    for rank in 0..ranks {
        let part = || BoxPart::new(&spec, rank, ranks).unwrap();
        let (found, expected) = (Mesh::new(space, part()).unwrap(), Mesh::new(&Serial, part()).unwrap());
        let case = format!("{nodes:?}, rank {rank} of {ranks}");
        assert_eq!(found.map, expected.map, "{case}");
        assert_eq!(found.download(space).unwrap().elem_node, expected.elem_node, "{case}");
        assert_eq!(space.download(&found.node_coord).unwrap(), expected.node_coord, "{case}");
        assert_eq!(space.download(&found.node_faces).unwrap(), expected.node_faces, "{case}");
        // Items behind the owned nodes keep their values.
        let mut numbers = vec![9.0; expected.map.local_count()];
        let mut on_gpu = space.upload(&numbers).unwrap();
        Serial.scatter_by_id(&expected, 5, 1, &mut numbers).unwrap();
        space.scatter_by_id(&found, 5, 1, &mut on_gpu).unwrap();
        assert_eq!(space.download(&on_gpu).unwrap(), numbers, "{case}");
    }
}

#[test]
fn tables_of_every_part_equal_those_of_the_host() {
    let Some(space) = gpu("tables_of_every_part_equal_those_of_the_host") else { return };
    for ranks in [1, 2, 3, 5, 12] {
        parts_equal_those_of_the_host(&space, [13, 11, 7], ranks);
        parts_equal_those_of_the_host(&space, [40, 17, 33], ranks);
    }
    // Parts that are one node wide along one, two or three axes, without interior, and with many neighbours.
    for (nodes, ranks) in
        [([12, 2, 2], 12), ([3, 3, 3], 27), ([2, 2, 2], 8), ([2, 40, 3], 7), ([5, 2, 12], 30), ([9, 9, 9], 64)]
    {
        parts_equal_those_of_the_host(&space, nodes, ranks);
    }
}

#[test]
fn the_lowest_folded_element_is_named() {
    let Some(space) = gpu("the_lowest_folded_element_is_named") else { return };
    for map in [CoordinateMap::TWIST, CoordinateMap::Twist(1.4), CoordinateMap::Twist(3.0), CoordinateMap::Bubble(6.0)]
    {
        let (found, expected) = meshes(&space, map, 0, 1);
        let found = space.check_folding(&found);
        let expected = Serial.check_folding(&expected);
        match (found, expected) {
            (Ok(()), Ok(())) => assert_eq!(map, CoordinateMap::TWIST),
            (Err(found), Err(expected)) => assert_eq!(found.to_string(), expected.to_string()),
            (found, expected) => panic!("{map}: {found:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn the_lowest_node_outside_the_box_is_named() {
    let Some(space) = gpu("the_lowest_node_outside_the_box_is_named") else { return };
    for map in [CoordinateMap::TWIST, CoordinateMap::Twist(6.5), CoordinateMap::Bubble(12.0)] {
        let (found, expected) = meshes(&space, map, 0, 1);
        match (space.check_inside(&found), Serial.check_inside(&expected)) {
            (Ok(()), Ok(())) => assert_eq!(map, CoordinateMap::TWIST),
            (Err(found), Err(expected)) => {
                let node = |error: minifenl::Error| error.to_string().split(':').next().map(str::to_string);
                assert_eq!(node(found), node(expected));
            }
            (found, expected) => panic!("{map}: {found:?}, expected {expected:?}"),
        }
    }
}
