//! The COO front as a caller sees it: SciPy's sums, sums without allocation, and sums over ranks that are threads.
//!
//! `cases.txt` holds random matrices as SciPy converts them; `make_cases.py` wrote it. The test mpi runs the same sums on real ranks.

pub mod on_ranks;

use crate::memory::{count_thread, requests};
use crate::thread_ranks::on_ranks;
use minifenl::Error;
use minifenl::comm::{Communicator, Solo};
use minifenl::contraction::Sum;
use minifenl::element::ElementType;
use minifenl::fill::{Coo, DistributedCoo, ElementIndices, Fill, Strategy, element_fn};
use minifenl::graph;
use minifenl::mesh::{ElemNode, Mesh};
use minifenl::space::{Serial, Threads};
use minifenl::sparse::CrsMatrix;
use rayon::prelude::*;
use std::array::from_fn;
use std::sync::Barrier;
use support::Random;

/// Calls `work` on each of the threads of a space at the same time: none can take the item of another.
fn on_each(space: &Threads, threads: usize, work: impl Fn() + Sync) {
    let all_are_here = Barrier::new(threads);
    space.for_each((0..threads).into_par_iter(), |_| {
        all_are_here.wait();
        work();
    });
}

/// Several pieces of rows, so that threads share them. All threads of the space are counted.
#[test]
fn sums_allocate_nothing() {
    count_thread();
    assert!(requests(|| drop(vec![1u8])) > 0);
    let mut random = Random::new(5);
    let (i, j): (Vec<u32>, Vec<u32>) =
        (0..300_000).map(|_| (random.below(900) as u32, random.below(900) as u32)).unzip();
    let values: Vec<f64> = (0..300_000).map(f64::from).collect();
    let plan = Coo::new(&Serial, 900, 900, &i, &j).unwrap();
    let mut matrix = plan.matrix().unwrap();
    for sum in [Sum::Overwrite, Sum::Into] {
        assert_eq!(requests(|| plan.set_values(&Serial, &values, sum, &mut matrix).unwrap()), 0);
    }
    let once: f64 = matrix.values().iter().sum();
    // The calling thread belongs to the pool, so it takes part.
    let threads = Threads::with_current(2).unwrap();
    on_each(&threads, 2, count_thread);
    // An allocation of each thread is seen.
    assert!(requests(|| on_each(&threads, 2, || drop(std::hint::black_box(vec![1u8])))) >= 2);
    let mut rows = vec![0.0; 900];
    let mut refill = || {
        plan.set_values(&threads, &values, Sum::Overwrite, &mut matrix).unwrap();
        plan.sum_rows(&threads, &values, Sum::Overwrite, &mut rows).unwrap();
    };
    refill();
    // The queues of rayon grow at times, whatever work they hold; sums that allocated would do so each time.
    assert_eq!((0..10).map(|_| requests(&mut refill)).min(), Some(0));
    // Whole numbers: sums are exact.
    assert_eq!((once, matrix.values().iter().sum::<f64>()), (2.0 * 44_999_850_000.0, 44_999_850_000.0));
    assert_eq!(rows.iter().sum::<f64>(), 44_999_850_000.0);
}

#[test]
fn scipy_has_the_same_rows_columns_and_sums() {
    fn numbers<T: std::str::FromStr<Err: std::fmt::Debug>>(line: Option<&str>) -> Vec<T> {
        line.expect("a line").split_whitespace().map(|word| word.parse().unwrap()).collect()
    }
    let mut lines = include_str!("cases.txt").lines();
    let mut cases = 0;
    while let Some(title) = lines.next() {
        let shape: Vec<usize> = numbers(lines.next());
        let (i, j): (Vec<i32>, Vec<i32>) = (numbers(lines.next()), numbers(lines.next()));
        let values: Vec<f64> = numbers(lines.next());
        let (row_map, entries): (Vec<u64>, Vec<u32>) = (numbers(lines.next()), numbers(lines.next()));
        let sums: Vec<f64> = numbers(lines.next());
        let plan = Coo::new(&Threads::new(2).unwrap(), shape[0], shape[1], &i, &j).unwrap();
        let mut matrix = plan.matrix().unwrap();
        plan.set_values(&Serial, &values, Sum::Overwrite, &mut matrix).unwrap();
        assert_eq!((plan.graph().row_map(), plan.graph().entries()), (&row_map, &entries), "{title}");
        assert_eq!(matrix.values(), &sums, "{title}");
        cases += 1;
    }
    assert!(cases >= 6, "{cases}");
}

#[test]
fn ranks_sum_in_the_order_of_ranks_and_input() {
    on_ranks::sums_on_ranks(&Solo).unwrap();
    for size in [1, 2, 3, 5] {
        on_ranks(size, |comm| on_ranks::sums_on_ranks(comm).unwrap());
    }
}

#[test]
fn plans_over_ranks_equal_those_of_one_rank() {
    on_ranks::plans_equal_those_of_one_rank(&Solo).unwrap();
    for size in [1, 2, 3] {
        on_ranks(size, |comm| on_ranks::plans_equal_those_of_one_rank(comm).unwrap());
    }
}

/// The error of the one rank of three that tells it.
fn message(results: Vec<Result<(), Error>>) -> String {
    let errors = results.into_iter().map(Result::unwrap_err);
    let (elsewhere, told): (Vec<_>, Vec<_>) = errors.partition(|error| matches!(error, Error::Elsewhere { .. }));
    assert_eq!((elsewhere.len(), told.len()), (2, 1), "{told:?}");
    told[0].to_string()
}

#[test]
fn a_rank_that_is_wrong_is_named_on_one_rank() {
    let pairs = |i: [i64; 2], j: &'static [i64]| {
        message(on_ranks(3, |comm| {
            let (own, me) = ([10 * comm.rank() as u64], comm.rank());
            let (i, j) = if me == 1 { (i, j) } else { ([0, 10], &[0, 10][..]) };
            DistributedCoo::new(&Serial, comm, &own, &i, j).map(drop)
        }))
    };
    assert!(pairs([0, 7], &[0, 0]).contains("global id 7 is used by rank 1 and owned by no rank"));
    assert!(pairs([10, 20], &[0, 9]).contains("global id 9 is used by rank"));
    assert!(pairs([10, 20], &[0]).contains("`j` has extents [1], expected [2]"));
    let widths = message(on_ranks(3, |comm| {
        let own = [comm.rank() as u64];
        let indices = ElementIndices { indices: &[0i32, 1], per_elem: if comm.rank() == 2 { 1 } else { 2 } };
        DistributedCoo::from_elements(&Serial, comm, &own, indices, indices).map(drop)
    }));
    assert!(widths.contains("rank 2 differs from rank 0 in columns per element"), "{widths}");
}

/// No unsigned index is ignored; the one that marks ignored ids in messages is refused.
#[test]
fn the_largest_number_is_no_id() {
    let new = |owned: &[u64], i: &[u64], j: &[u64]| {
        DistributedCoo::new(&Serial, &Solo, owned, i, j).map(drop).unwrap_err().to_string()
    };
    let none = "is 18446744073709551615, which is no global id; expected a smaller one";
    assert!(new(&[5, u64::MAX], &[5], &[5]).starts_with(&format!("owned[1] {none}")));
    assert!(new(&[5], &[5, u64::MAX], &[5, 5]).starts_with(&format!("i[1] {none}")));
    assert!(new(&[5], &[5, 5, 5], &[5, 5, u64::MAX]).starts_with(&format!("j[2] {none}")));
    let table = |indices, per_elem| ElementIndices { indices, per_elem };
    let (one, wrong) = (table(&[5, 5, 5, 5], 2), table(&[5, 5, 5, u64::MAX], 2));
    let of = |rows, columns| DistributedCoo::from_elements::<u64>(&Serial, &Solo, &[5], rows, columns).unwrap_err();
    assert!(of(wrong, one).to_string().starts_with(&format!("rows_of[1, 1] {none}")));
    assert!(of(one, wrong).to_string().starts_with(&format!("columns_of[1, 1] {none}")));
    // The next smaller one is an id like any other.
    let plan = DistributedCoo::new(&Serial, &Solo, &[u64::MAX - 1], &[u64::MAX - 1], &[u64::MAX - 1]).unwrap();
    assert_eq!((plan.graph().nnz(), plan.columns().ids()), (1, &[u64::MAX - 1][..]));
}

#[test]
fn arrays_of_other_lengths_are_refused() {
    let indices = ElementIndices { indices: &[0u64, 1], per_elem: 2 };
    let mut plan = DistributedCoo::from_elements(&Serial, &Solo, &[0, 1], indices, indices).unwrap();
    let mut matrix = plan.matrix().unwrap();
    let refused = plan.set_values(&Serial, &[1.0; 3], Sum::Into, &mut matrix).unwrap_err().to_string();
    assert!(refused.contains("`values` has extents [3], expected [4]"), "{refused}");
    let other = DistributedCoo::from_elements(&Serial, &Solo, &[0], indices_of_one(), indices_of_one()).unwrap();
    assert!(plan.set_values(&Serial, &[1.0; 4], Sum::Into, &mut other.matrix().unwrap()).is_err());
    assert!(plan.sum_rows(&Serial, &[1.0; 3], Sum::Into, &mut [0.0; 2]).is_err());
    assert!(plan.sum_rows(&Serial, &[1.0; 2], Sum::Into, &mut [0.0; 3]).is_err());
}

fn indices_of_one() -> ElementIndices<'static, u64> {
    ElementIndices { indices: &[0], per_elem: 1 }
}

/// Taylor-Hood elements, 30 velocities and 4 pressures each: the block of pressures and velocities from its own tables, on one rank and on
/// three, against that of the matrix that every strategy sums.
#[test]
fn a_block_of_two_spaces_equals_that_of_their_common_table() {
    let Mesh { elem_node, node_coord, .. } = Mesh::of_box(ElementType::Tet10, [2; 3], [1.0; 3]).unwrap();
    let (elems, first) = (elem_node.elem_count(), 3 * node_coord.len() as u32);
    let of_u: Vec<u32> = elem_node.as_slice().iter().flat_map(|&node| [0, 1, 2].map(|c| 3 * node + c)).collect();
    let of_p: Vec<u32> = elem_node.iter().flat_map(|nodes| &nodes[..4]).map(|node| first + node).collect();
    let both = of_u.chunks(30).zip(of_p.chunks(4)).flat_map(|(u, p)| [u, p].concat()).collect();
    let count = first as usize + node_coord.len();
    let graph = graph::build(&Serial, &ElemNode::new(both, 34, count).unwrap(), count, Default::default()).unwrap();
    // Whole numbers: the order of a sum does not matter.
    let value = |elem: usize, i: usize, j: usize| ((elem * 31 + i * 7 + j * 3) % 19) as f64 - 9.0;
    let kernel = element_fn(|elem| (from_fn(|i| from_fn(|j| value(elem, i, j))), [0.0; 34]));
    let values: Vec<f64> = (0..elems * 120).map(|at| value(at / 120, 30 + at / 30 % 4, at % 30)).collect();
    let [rows, columns] =
        [(&of_p[..], 4), (&of_u[..], 30)].map(|(indices, per_elem)| ElementIndices { indices, per_elem });
    let plan = Coo::from_elements(&Serial, count, first as usize, rows, columns).unwrap();
    let mut block = plan.matrix().unwrap();
    plan.set_values(&Serial, &values, Sum::Overwrite, &mut block).unwrap();
    assert!(block.graph().nnz() > 0);
    for (strategy, name) in Strategy::ALL {
        let space = Threads::new(2).unwrap();
        let (mut whole, mut rhs) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; count]);
        Fill::<34>::new(&space, strategy, &graph).unwrap().assemble(&space, &kernel, &mut whole, &mut rhs).unwrap();
        for row in 0..count {
            let of_u = whole.graph().row(row).iter().filter(|&&column| row >= first as usize && column < first);
            assert!(of_u.clone().eq(block.graph().row(row)), "{name}, row {row}");
            of_u.for_each(|&column| assert_eq!(whole.get(row, column), block.get(row, column), "{name}, row {row}"));
        }
    }
    on_ranks(3, |ranks| {
        // Dofs in turn, elements in thirds.
        let owned: Vec<u64> = (ranks.rank() as u64..count as u64).step_by(3).collect();
        let own = elems * ranks.rank() / 3..elems * (ranks.rank() + 1) / 3;
        let ids = |of: &[u32], per_elem| -> Vec<u64> {
            of[own.start * per_elem..own.end * per_elem].iter().map(|&dof| dof.into()).collect()
        };
        let [p, u] = [ids(&of_p, 4), ids(&of_u, 30)];
        let [rows, columns] =
            [(&p[..], 4), (&u[..], 30)].map(|(indices, per_elem)| ElementIndices { indices, per_elem });
        let mut plan = DistributedCoo::from_elements(&Serial, ranks, &owned, rows, columns).unwrap();
        let mut part = plan.matrix().unwrap();
        let values = &values[own.start * 120..own.end * 120];
        plan.set_values(&Serial, values, Sum::Overwrite, &mut part).unwrap();
        for (row, &id) in owned.iter().enumerate() {
            let columns = part.graph().row(row);
            assert_eq!(columns.len(), block.graph().row(id as usize).len());
            for &column in columns {
                let of_block = block.get(id as usize, plan.columns().ids()[column as usize] as u32);
                assert_eq!(part.get(row, column), of_block, "row {id}");
            }
        }
    });
}
