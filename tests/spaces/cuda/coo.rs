//! Plans of index pairs on a GPU: the graph and the bits of the host's plan.

use super::gpu;
use minifenl::contraction::Sum;
use minifenl::fill::{Coo, CudaCoo, DeviceIndices, ElementIndices};
use minifenl::space::{Cuda, ExecutionSpace, Serial};
use minifenl::sparse::CrsMatrix;
use support::random_bits;

/// Numbers whose sums depend on the order.
fn values(n: usize, seed: u64) -> Vec<f64> {
    let mut next = random_bits(seed);
    (0..n).map(|_| (next() >> 11) as f64 / (1u64 << 53) as f64 - 0.4).collect()
}

fn check_graph(space: &Cuda, found: &CudaCoo, expected: &Coo) {
    let (crs, host) = (found.graph(), expected.graph());
    assert_eq!((crs.rows(), crs.columns(), crs.nnz()), (host.rows(), host.columns(), host.nnz()));
    assert!(space.download(crs.row_map()).unwrap() == *host.row_map(), "other row offsets");
    assert!(space.download(crs.entries()).unwrap() == *host.entries(), "other columns");
    assert_eq!(found.value_count(), expected.value_count());
}

/// Two sums, the second into the first, have the host's bits.
fn check_sums(space: &Cuda, found: &CudaCoo, expected: &Coo) {
    let given = values(expected.value_count(), 3);
    let on_device = space.upload(&given).unwrap();
    let mut host = expected.matrix::<f64>().unwrap();
    let mut device = CrsMatrix::zeros_on(space, found.graph().clone()).unwrap();
    *device.parts_mut().1 = space.upload(&vec![f64::NAN; host.values().len()]).unwrap();
    for sum in [Sum::Overwrite, Sum::Into] {
        expected.set_values(&Serial, &given, sum, &mut host).unwrap();
        found.set_values(space, &on_device, sum, &mut device).unwrap();
        assert!(space.download(device.values()).unwrap() == *host.values(), "{sum:?}: other sums");
    }
}

fn check_pairs(space: &Cuda, rows: usize, columns: usize, i: &[i32], j: &[i32]) {
    let expected = Coo::new(&Serial, rows, columns, i, j).unwrap();
    let found = CudaCoo::new(space, rows, columns, &space.upload(i).unwrap(), &space.upload(j).unwrap()).unwrap();
    check_graph(space, &found, &expected);
    check_sums(space, &found, &expected);
}

#[test]
fn pairs_have_the_graph_and_the_bits_of_the_host() {
    let Some(space) = gpu("pairs_have_the_graph_and_the_bits_of_the_host") else { return };
    check_pairs(&space, 0, 0, &[], &[]);
    check_pairs(&space, 3, 0, &[-1, 2], &[-1, -5]);
    check_pairs(&space, 4, 3, &[2, 0, -1, 2, 2, 3], &[1, 0, 2, 1, -7, 2]);
    // Few and many duplicates, empty rows, one long row.
    for (case, (rows, columns, pairs)) in
        [(1, 1, 5000), (900, 70, 20_000), (70_001, 50_000, 300_000), (100, 300_000, 400_000)].into_iter().enumerate()
    {
        let mut next = random_bits(case as u64);
        // A ninth of the indices is negative.
        let mut index = |limit: i32| (next() % (limit as u64 + limit as u64 / 8)) as i32 - limit / 8;
        let i: Vec<i32> = (0..pairs).map(|_| index(rows)).collect();
        let j: Vec<i32> = (0..pairs).map(|_| index(columns)).collect();
        check_pairs(&space, rows as usize, columns as usize, &i, &j);
        check_pairs(&space, rows as usize, columns as usize, &vec![rows - 1; pairs], &j);
    }
}

/// Tables of `elems` random elements with rows and columns of their own.
fn tables(rows: u32, columns: u32, elems: usize, [height, width]: [usize; 2]) -> [Vec<u32>; 2] {
    let mut next = random_bits(elems as u64);
    [(rows, height), (columns, width)]
        .map(|(limit, per_elem)| (0..elems * per_elem).map(|_| (next() % u64::from(limit)) as u32).collect())
}

#[test]
fn element_matrices_have_the_graph_and_the_bits_of_the_host() {
    let Some(space) = gpu("element_matrices_have_the_graph_and_the_bits_of_the_host") else { return };
    for per_elem in [[1, 1], [3, 3], [4, 7], [8, 8], [27, 27]] {
        let [i, j] = tables(3000, 2000, 5000, per_elem);
        let [rows_of, columns_of] = [(&i, per_elem[0]), (&j, per_elem[1])]
            .map(|(indices, per_elem)| ElementIndices { indices: &indices[..], per_elem });
        let expected = Coo::from_elements(&Serial, 3000, 2000, rows_of, columns_of).unwrap();
        let (on_i, on_j) = (space.upload(&i).unwrap(), space.upload(&j).unwrap());
        let [rows_of, columns_of] =
            [(&on_i, per_elem[0]), (&on_j, per_elem[1])].map(|(indices, per_elem)| DeviceIndices { indices, per_elem });
        let found = CudaCoo::from_elements(&space, 3000, 2000, rows_of, columns_of).unwrap();
        check_graph(&space, &found, &expected);
        check_sums(&space, &found, &expected);
    }
}

#[test]
fn wrong_indices_and_arrays_are_named() {
    let Some(space) = gpu("wrong_indices_and_arrays_are_named") else { return };
    let up = |indices: &[i32]| space.upload(indices).unwrap();
    let refused = |i: &[i32], j: &[i32]| CudaCoo::new(&space, 3, 2, &up(i), &up(j)).unwrap_err().to_string();
    assert_eq!(refused(&[0, 3, 9], &[0; 3]), Coo::new(&Serial, 3, 2, &[0, 3, 9], &[0; 3]).unwrap_err().to_string());
    assert_eq!(refused(&[0, -3], &[0, 5]), Coo::new(&Serial, 3, 2, &[0, -3], &[0, 5]).unwrap_err().to_string());
    assert!(refused(&[0, 1], &[0]).contains("`j`"));
    let table = up(&[0, 1, 2, 3]);
    let [two, three] = [2, 3].map(|per_elem| DeviceIndices { indices: &table, per_elem });
    let refused = CudaCoo::from_elements(&space, 4, 2, two, two).unwrap_err().to_string();
    assert!(refused.starts_with("columns_of[1, 0] is 2, expected a column in 0..2"), "{refused}");
    assert!(
        CudaCoo::from_elements(&space, 4, 4, two, three).unwrap_err().to_string().contains("4 indices, 3 per element")
    );
    let plan = CudaCoo::from_elements(&space, 4, 4, two, two).unwrap();
    let mut matrix = CrsMatrix::zeros_on(&space, plan.graph().clone()).unwrap();
    let short = plan.set_values(&space, &space.zeros::<f64>(7).unwrap(), Sum::Into, &mut matrix);
    assert!(short.unwrap_err().to_string().contains("`values`"));
    let other = CudaCoo::from_elements(&space, 4, 4, two, two).unwrap();
    let apart = other.set_values(&space, &space.zeros::<f64>(8).unwrap(), Sum::Into, &mut matrix);
    assert!(apart.unwrap_err().to_string().contains("was built apart"));
}

/// Memory of another space stands in for that of another library.
#[test]
#[allow(unsafe_code)]
fn sums_of_foreign_arrays_have_the_bits_of_the_host() {
    let Some(owner) = gpu("sums_of_foreign_arrays_have_the_bits_of_the_host") else { return };
    let space = Cuda::on_default_stream(owner.device().info().ordinal).unwrap();
    let (i, j, given) = ([2, 0, 2, 2, 3], [1, 0, 1, 2, 2], values(5, 4));
    let expected = Coo::new(&Serial, 4, 3, &i, &j).unwrap();
    let mut host = expected.matrix::<f64>().unwrap();
    expected.set_values(&Serial, &given, Sum::Overwrite, &mut host).unwrap();
    let plan = CudaCoo::new(&space, 4, 3, &space.upload(&i).unwrap(), &space.upload(&j).unwrap()).unwrap();
    let (from, to) = (owner.upload(&given).unwrap(), owner.upload(&[f64::NAN; 4]).unwrap());
    owner.fence().unwrap();
    // SAFETY: the two arrays are apart and live to the end of the test; other places are refused.
    let sum = |from: (u64, usize), to: (u64, usize)| unsafe {
        space.with_foreign(from.0, from.1, |from| {
            space.with_foreign(to.0, to.1, |to| plan.sum_entries(&space, from, Sum::Overwrite, to))
        })
    };
    sum((from.address(), 5), (to.address(), 4)).unwrap();
    space.fence_all().unwrap();
    assert_eq!(owner.download(&to).unwrap(), *host.values());
    let elsewhere = (&raw const given[0]) as u64;
    for address in [0, 1 << 20, elsewhere, from.address() + 4, from.address() + (1 << 40)] {
        let refused = sum((address, 5), (to.address(), 4)).unwrap_err().to_string();
        assert!(refused.contains("40 bytes at address"), "{refused}");
    }
    let refused = sum((from.address(), 4), (to.address(), 4)).unwrap_err().to_string();
    assert!(refused.contains("`values` has extents [4], expected [5]"), "{refused}");
    // A length that leaves the allocation, and one that leaves the addresses.
    for len in [1 << 37, usize::MAX] {
        let refused = sum((from.address(), len), (to.address(), 4)).unwrap_err().to_string();
        assert!(refused.contains("expected aligned memory of GPU"), "{refused}");
    }
}
