//! Windows of element matrices, and assembly straight into a storage format, on a GPU.

use super::fill::{TAIL, Tables, cubes, heat, hub, mesh};
use super::{difference, gpu, wave};
use minifenl::contraction::Variant;
use minifenl::element::ElementType;
use minifenl::element::equations::Heat;
use minifenl::fill::{
    Assemble, AssemblyChoice, Boundary, CudaAssembly, CudaEquationKernel, CudaFill, Dirichlet, EquationInput, FieldOn,
    Kernel, StoredSystem, Strategy, Workset,
};
use minifenl::mesh::ElemNode;
use minifenl::space::{Cuda, CudaArray, ExecutionSpace};
use minifenl::sparse::{CrsMatrix, Format, Formats, MatrixStorage, Precision, SlicedEll};

/// Values and residual by `Gather` with windows of `step` elements, and the number of element matrices that it stores.
fn windowed(
    space: &Cuda,
    tables: &Tables,
    coord: &CudaArray<[f64; 3]>,
    temperature: &CudaArray<f64>,
    step: usize,
) -> ([Vec<f64>; 2], usize) {
    let graph = &tables.on_device;
    let rows = tables.graph.crs.rows();
    let mut fill = CudaFill::with_step(space, Strategy::Gather, step, graph).unwrap();
    let mut matrix = CrsMatrix::zeros_on(space, graph.crs.clone()).unwrap();
    let mut residual = space.upload(&[vec![f64::NAN; rows], TAIL.to_vec()].concat()).unwrap();
    let input =
        EquationInput { elem_node: graph.elem.elem_node(), node_coord: coord, solution: temperature, given: &[] };
    let mut kernel = CudaEquationKernel::fused(Heat::new(2.5)).unwrap();
    // The second assembly finds columns full of the first one's numbers.
    for _ in 0..2 {
        *matrix.parts_mut().1 = space.upload(&vec![f64::NAN; tables.graph.crs.nnz()]).unwrap();
        fill.assemble_equation(space, &mut kernel, input, &mut matrix, &mut residual).unwrap();
    }
    let values = space.download(matrix.values()).unwrap();
    ([values, space.download(&residual).unwrap()], fill.stored_elements())
}

#[test]
fn windows_of_any_length_give_the_same_bits() {
    let Some(space) = gpu("windows_of_any_length_give_the_same_bits") else { return };
    for (nodes, rank, ranks) in
        [([34, 29, 37], 0, 1), ([61, 23, 17], 1, 3), ([60, 61, 62], 5, 8), ([70, 71, 72], 13, 27)]
    {
        let mesh = mesh(nodes, rank, ranks);
        let tables = Tables::new(&space, mesh.elem_node.clone(), mesh.map.owned_count());
        let coord = space.upload(&mesh.node_coord).unwrap();
        let temperature = space.upload(&wave(mesh.node_coord.len(), 0.7)).unwrap();
        let elems = mesh.elem_count();
        let (expected, all) = windowed(&space, &tables, &coord, &temperature, elems);
        assert!(all == elems && expected[1].ends_with(&TAIL) && !expected[0].iter().any(|value| value.is_nan()));
        let mut shorter = 0;
        for step in [1000, 4096, elems / 5, elems / 2, elems - 1] {
            let (found, stored) = windowed(&space, &tables, &coord, &temperature, step);
            assert!(found == expected, "{nodes:?}, {rank} of {ranks}, {step} elements: other bits");
            shorter += usize::from(stored < elems);
        }
        assert!(shorter >= 2, "{nodes:?}, {rank} of {ranks}: {shorter} windows");
    }
}

/// Jacobian and residual by `Gather` with boundary conditions, in a storage format.
fn stored(
    space: &Cuda,
    (storage, direct, kernel, step): (MatrixStorage, bool, Kernel, usize),
    tables: &Tables,
    (coord, temperature): (&CudaArray<[f64; 3]>, &CudaArray<f64>),
    fixed: &CudaArray<u8>,
) -> (StoredSystem<Cuda>, Vec<f64>) {
    let graph = &tables.on_device;
    let conditions = Dirichlet::new(space, &graph.crs, fixed).unwrap();
    let mut system = StoredSystem::new(space, storage, direct, graph.clone(), conditions).unwrap();
    let on = FieldOn { element: ElementType::Hex8, elem_node: graph.elem.elem_node(), node_coord: coord };
    let model = heat(Heat::new(2.5));
    // Several worksets, the last one smaller, and the same bits by any of them.
    let workset = Workset { cells: Some(300), variant: Variant::AutoInOrder, ..Workset::default() };
    let given = (AssemblyChoice { strategy: Some(Strategy::Gather), kernel, workset }, step);
    let mut assembly = CudaAssembly::with_step(space, given, &model, on, &system).unwrap();
    let mut residual = space.upload(&vec![f64::NAN; tables.graph.crs.rows()]).unwrap();
    for _ in 0..2 {
        // Places behind the last row, which nothing has to write, stay zero.
        let len = system.matrix.values().len();
        let garbage: Vec<f64> = (0..len).map(|at| if at < len / 2 { f64::NAN } else { 0.0 }).collect();
        *Cuda::values_mut(&mut system.matrix) = space.upload(&garbage).unwrap();
        space.assemble(&mut assembly, coord, temperature, &mut system, &mut residual).unwrap();
        let StoredSystem { matrix, conditions, .. } = &mut system;
        space.apply_dirichlet(conditions, Cuda::values_mut(matrix), &mut residual).unwrap();
    }
    let is_copied = !direct && storage.format != Format::Crs || storage.values == Precision::F32;
    assert_eq!(space.update(&mut system.matrix).unwrap(), is_copied);
    (system, space.download(&residual).unwrap())
}

/// Assembles in each format directly and compares with CRS assembled and copied, to the bit, padding included.
fn check_stored(space: &Cuda, name: &str, tables: &Tables, node_coord: &[[f64; 3]]) {
    let (rows, columns, elems) = (tables.graph.crs.rows(), tables.graph.crs.columns(), tables.elem_node.elem_count());
    let coord = space.upload(node_coord).unwrap();
    let temperature = space.upload(&wave(node_coord.len(), 0.7)).unwrap();
    let fixed: Vec<u8> = (0..columns).map(|node| u8::from(node * 7 % 11 == 0)).collect();
    let fixed = space.upload(&fixed).unwrap();
    let x = space.upload(&wave(columns.max(rows), 0.31)).unwrap();
    let graph = &tables.on_device.crs;
    for (kernel, kernel_name) in Kernel::ALL {
        let given = (&coord, &temperature);
        let (crs, residual) = stored(space, (Format::Crs.into(), false, kernel, elems), tables, given, &fixed);
        let mut matrix = CrsMatrix::zeros_on(space, graph.clone()).unwrap();
        *matrix.parts_mut().1 = crs.matrix.values().try_clone().unwrap();
        for (format, format_name) in Format::ALL.into_iter().filter(|&(format, _)| format != Format::Crs) {
            let mut slices = SlicedEll::<f64>::new(space, format == Format::Symmetric, graph).unwrap();
            slices.update(space, &matrix).unwrap();
            let expected = space.download(slices.values()).unwrap();
            let mut y = space.zeros(rows).unwrap();
            slices.spmv(space, &x, &mut y).unwrap();
            let product = space.download(&y).unwrap();
            for (direct, step) in [(false, elems), (true, elems), (true, 700)] {
                let name = format!("{name}, {kernel_name}, {format_name}, direct: {direct}, {step} elements");
                let given = (&coord, &temperature);
                let (found, its) = stored(space, (format.into(), direct, kernel, step), tables, given, &fixed);
                assert!(its == residual, "{name}: another residual");
                if direct {
                    assert!(space.download(found.matrix.values()).unwrap() == expected, "{name}: other values");
                }
                Cuda::in_f64(&found.matrix).apply(space, &mut x.try_clone().unwrap(), &mut y).unwrap();
                assert!(space.download(&y).unwrap() == product, "{name}: another product");
            }
            let mut single = SlicedEll::<f32>::new(space, format == Format::Symmetric, graph).unwrap();
            single.update(space, &matrix).unwrap();
            single.spmv(space, &x, &mut y).unwrap();
            let rounded = space.download(&y).unwrap();
            assert!(rounded != product, "{name}, {format_name}: rounding changes nothing");
            for direct in [false, true] {
                let (name, given) = (format!("{name}, {format_name}, f32, direct: {direct}"), (&coord, &temperature));
                let storage = MatrixStorage { values: Precision::F32, ..format.into() };
                let (found, _) = stored(space, (storage, direct, kernel, 700), tables, given, &fixed);
                Cuda::operator(&found.matrix).apply(space, &mut x.try_clone().unwrap(), &mut y).unwrap();
                assert!(space.download(&y).unwrap() == rounded, "{name}: another product");
                // The true residual is that of the values as assembled, which a direct assembly keeps in the same format.
                Cuda::in_f64(&found.matrix).apply(space, &mut x.try_clone().unwrap(), &mut y).unwrap();
                let found = space.download(&y).unwrap();
                assert!(if direct { found == product } else { difference(&found, &product) < 1e-13 }, "{name}");
            }
        }
    }
}

#[test]
fn assembly_in_slices_equals_crs_and_a_copy() {
    let Some(space) = gpu("assembly_in_slices_equals_crs_and_a_copy") else { return };
    for (nodes, rank, ranks) in [([34, 9, 17], 0, 1), ([64, 20, 5], 0, 1), ([61, 23, 17], 1, 3), ([60, 41, 42], 5, 8)] {
        let mesh = mesh(nodes, rank, ranks);
        let tables = Tables::new(&space, mesh.elem_node.clone(), mesh.map.owned_count());
        check_stored(&space, &format!("{nodes:?} rank {rank} of {ranks}"), &tables, &mesh.node_coord);
    }
    // Rows shorter than their slice's table in any place, and rows beyond the last slice.
    let mesh = mesh([17, 13, 11], 0, 1);
    let count = mesh.node_coord.len();
    let moved = |node: usize| (node * 1009 + 7) % count;
    let mut coord = vec![[0.0; 3]; count];
    (0..count).for_each(|node| coord[moved(node)] = mesh.node_coord[node]);
    let nodes: Vec<u32> = mesh.elem_node.as_slice().iter().map(|&node| moved(node as usize) as u32).collect();
    for rows in [count, count / 2] {
        let tables = Tables::new(&space, ElemNode::new(nodes.clone(), 8, count).unwrap(), rows);
        check_stored(&space, &format!("scattered, {rows} rows"), &tables, &coord);
    }
    // Positions of 16 bits.
    let (elem_node, coords) = hub(600);
    let rows = elem_node.node_count();
    check_stored(&space, "hub", &Tables::new(&space, elem_node, rows), &coords);
    let graph = &Tables::new(&space, cubes(9, 1), 1000).on_device;
    for format in [Format::Pattern, Format::Symmetric] {
        let free = Dirichlet::new(&space, &graph.crs, &space.zeros(1000).unwrap()).unwrap();
        let system = StoredSystem::new(&space, format.into(), true, graph.clone(), free).unwrap();
        let coord = space.zeros(1000).unwrap();
        let on = FieldOn { element: ElementType::Hex8, elem_node: graph.elem.elem_node(), node_coord: &coord };
        let model = heat(Heat::new(1.0));
        let refused =
            space.assembly((Strategy::Scatter, Kernel::Fused).into(), &model, on, &system).unwrap_err().to_string();
        assert!(refused.contains("scatter") && refused.contains("expected gather"), "{refused}");
    }
}

/// Each value of the halves is, to the bit, that of an entry above the diagonal in the format `pattern`, and each is there once.
#[test]
fn halves_are_the_upper_entries_of_the_pattern() {
    let Some(space) = gpu("halves_are_the_upper_entries_of_the_pattern") else { return };
    for (nodes, rank, ranks, share) in [([64, 20, 9], 0, 1, 0.6), ([128, 41, 42], 1, 2, 0.9)] {
        let mesh = mesh(nodes, rank, ranks);
        let rows = mesh.map.owned_count();
        let tables = Tables::new(&space, mesh.elem_node.clone(), rows);
        let coord = space.upload(&mesh.node_coord).unwrap();
        let temperature = space.upload(&wave(mesh.node_coord.len(), 0.7)).unwrap();
        let fixed: Vec<u8> = (0..tables.graph.crs.columns()).map(|node| u8::from(node % 13 == 0)).collect();
        let fixed = space.upload(&fixed).unwrap();
        let values = |format: Format| {
            let given = (&coord, &temperature);
            let (system, _) = stored(&space, (format.into(), true, Kernel::Fused, 700), &tables, given, &fixed);
            let mut values = space.download(system.matrix.values()).unwrap();
            values.retain(|value| *value != 0.0);
            values.sort_by(f64::total_cmp);
            values
        };
        let (halves, pattern) = (values(Format::Symmetric), values(Format::Pattern));
        let found = halves.len() as f64 / pattern.len() as f64;
        assert!(halves.len() > rows && found < share, "{nodes:?}: {} of {}", halves.len(), pattern.len());
        let mut at = 0;
        for value in halves {
            at += pattern[at..].iter().take_while(|other| **other < value).count();
            assert!(pattern.get(at) == Some(&value), "{nodes:?}: {value:e} is no entry");
            at += 1;
        }
    }
}
