//! Files read back by hand.

use super::*;
use crate::comm::Solo;
use crate::comm::ranks::on_ranks;

/// The numbers of an appended array, found by its name and offset.
pub(crate) fn numbers<const SIZE: usize, T>(file: &[u8], name: &str, read: fn([u8; SIZE]) -> T) -> Vec<T> {
    let data = file.windows(2).position(|two| two == b"\n_").unwrap() + 2;
    let text = std::str::from_utf8(&file[..data - 1]).unwrap();
    let line = text.lines().find(|line| line.contains(&format!("Name=\"{name}\""))).unwrap();
    let offset: usize = line.split("offset=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    let at = data + offset;
    let bytes = u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    file[at + 8..at + 8 + bytes].chunks_exact(SIZE).map(|item| read(item.try_into().unwrap())).collect()
}

/// Two quadrilaterals side by side, of 8 nodes each, with values of nodes, elements and a function.
#[test]
fn a_mesh_of_a_caller_is_written_with_its_fields() {
    let node_coord: Vec<[f64; 3]> = (0..13)
        .map(|node| {
            let [x, y] = [
                [0, 0],
                [2, 0],
                [2, 2],
                [0, 2],
                [1, 0],
                [2, 1],
                [1, 2],
                [0, 1],
                [4, 0],
                [4, 2],
                [3, 0],
                [4, 1],
                [3, 2],
            ][node];
            [f64::from(x), f64::from(y), 1.5]
        })
        .collect();
    let table = vec![0, 1, 2, 3, 4, 5, 6, 7, 1, 8, 9, 2, 10, 11, 12, 5];
    let elem_node = ElemNode::new(table.clone(), 8, 13).unwrap();
    let velocity: Vec<f64> = (0..26).map(f64::from).collect();
    let double = |node: usize| [2.0 * node as f64, 0.0, 0.0];
    let fields = [
        VtuField::elements("material <b>", 1, &[7.0, 9.0]),
        VtuField::nodes("velocity", 2, &velocity),
        VtuField::function("double", 1, &double),
    ];
    let of = |owned: usize| Vtu {
        element: ElementType::Quad8,
        elem_node: &elem_node,
        node_coord: &node_coord,
        owned,
        fields: &fields,
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mesh.vtu");
    of(13).write(&path, &Solo).unwrap();
    let file = std::fs::read(&path).unwrap();
    assert_eq!(numbers(&file, "points", f64::from_le_bytes), node_coord.as_flattened());
    assert_eq!(numbers(&file, "connectivity", u32::from_le_bytes), table);
    assert_eq!(numbers(&file, "types", u8::from_le_bytes), [23, 23]);
    assert_eq!(numbers(&file, "velocity", f64::from_le_bytes), velocity);
    assert_eq!(numbers(&file, "material &lt;b>", f64::from_le_bytes), [7.0, 9.0]);
    assert_eq!(numbers(&file, "double", f64::from_le_bytes)[12], 24.0);
    let text = String::from_utf8_lossy(&file);
    assert!(text.contains("NumberOfPoints=\"13\" NumberOfCells=\"2\"") && !folder.path().join("mesh.pvtu").exists());
    assert!(text.contains("<DataArray type=\"Float64\" Name=\"velocity\" NumberOfComponents=\"2\""));

    // The first node of the second element is of another rank in the first piece.
    let owned = [1, 13];
    on_ranks(2, |comm| of(owned[comm.rank()]).write(&path, comm).unwrap());
    for (rank, material) in [vec![7.0], vec![7.0, 9.0]].into_iter().enumerate() {
        let file = std::fs::read(path.with_extension(format!("{rank}.vtu"))).unwrap();
        assert_eq!(numbers(&file, "material &lt;b>", f64::from_le_bytes), material);
        assert_eq!(numbers(&file, "rank", i32::from_le_bytes), vec![rank as i32; material.len()]);
    }
    let index = std::fs::read_to_string(path.with_extension("pvtu")).unwrap();
    assert!(index.contains("<Piece Source=\"mesh.1.vtu\"/>") && index.contains("Name=\"velocity\""), "{index}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let (elem_node, node_coord) = (ElemNode::new(vec![0, 1, 2], 3, 3).unwrap(), [[0.0; 3]; 3]);
    let refused = |element: ElementType, node_coord: &[[f64; 3]], fields: &[VtuField<'_>]| {
        let vtu = Vtu { element, elem_node: &elem_node, node_coord, owned: 3, fields };
        vtu.write(Path::new("/no/such/folder/a.vtu"), &Solo).unwrap_err().to_string()
    };
    let tri3 = ElementType::Tri3;
    assert!(refused(ElementType::Tet4, &node_coord, &[]).contains("`elem_node (nodes per element)` has extents [3]"));
    assert!(refused(tri3, &node_coord[..2], &[]).contains("`node_coord` has extents [2], expected [3]"));
    let of_elements = VtuField::elements("a", 2, &[1.0; 3]);
    assert!(refused(tri3, &node_coord, &[of_elements]).contains("`fields (values)` has extents [3], expected [2]"));
    let of_nodes = VtuField::nodes("a", 2, &[1.0; 3]);
    assert!(refused(tri3, &node_coord, &[of_nodes]).contains("`fields (values)` has extents [3], expected [6]"));
    let (values, cells) = (VtuField::nodes("a", 1, &[1.0; 3]), VtuField::elements("a", 1, &[1.0]));
    assert!(refused(tri3, &node_coord, &[values, cells, values]).contains("two fields are named `a`"));
    let rank = VtuField::elements("rank", 1, &[0.0]);
    assert!(refused(tri3, &node_coord, &[rank]).contains("that of elements `rank` is taken"));
    assert!(refused(tri3, &node_coord, &[values, cells]).starts_with("/no/such/folder/a.vtu"));
    let at = |_: usize| [0.0; 3];
    assert!(refused(tri3, &node_coord, &[VtuField::function("a", 4, &at)]).contains("a function of 4 components"));
    assert!(refused(tri3, &node_coord, &[]).starts_with("/no/such/folder/a.vtu"));
    assert!(refused(tri3, &node_coord, &[VtuField::nodes("a", 0, &[])]).contains("field `a` has 0 components"));
    let uncountable = VtuField::nodes("a", usize::MAX, &[1.0; 3]);
    assert!(refused(tri3, &node_coord, &[uncountable]).contains("`fields (values)` has extents [3]"));
}

/// On one rank all nodes are owned: elements of others would be missing in the file.
#[test]
fn owned_nodes_that_do_not_fit_are_refused() {
    let (elem_node, node_coord) = (ElemNode::new(vec![0, 1, 2], 3, 3).unwrap(), [[0.0; 3]; 3]);
    let folder = tempfile::tempdir().unwrap();
    let write = |owned: usize, comm: &dyn Communicator| {
        let vtu =
            Vtu { element: ElementType::Tri3, elem_node: &elem_node, node_coord: &node_coord, owned, fields: &[] };
        vtu.write(&folder.path().join("a.vtu"), comm)
    };
    for owned in [0, 2, 4] {
        let error = write(owned, &Solo).unwrap_err().to_string();
        assert_eq!(error, format!("Vtu::write: `owned` has extents [{owned}], expected [3]"));
    }
    let errors = on_ranks(2, |comm| write([2, 4][comm.rank()], comm).unwrap_err().to_string());
    assert_eq!(errors[1], "Vtu::write: `owned` has extents [4], expected [3]");
}
