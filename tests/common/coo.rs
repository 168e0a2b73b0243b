//! Random pairs on several ranks, their sums by a map, and the check of a distributed plan against it. The caller has the module
//! `random`.

use crate::random::Random;
use minifenl::Result;
use minifenl::comm::Communicator;
use minifenl::contraction::Sum;
use minifenl::fill::{DistributedCoo, ElementIndices};
use minifenl::space::Threads;
use std::collections::BTreeMap;

/// What all ranks bring, known to each of them.
struct Problem {
    /// Ids that each rank owns.
    owned: Vec<Vec<u64>>,
    /// Tables `[elem, a]` and `[elem, b]` of each rank.
    rows_of: Vec<Vec<i64>>,
    columns_of: Vec<Vec<i64>>,
    values: Vec<Vec<f64>>,
    rows_per_elem: usize,
    columns_per_elem: usize,
}

impl Problem {
    fn new(ranks: usize, seed: u64, [rows_per_elem, columns_per_elem]: [usize; 2], are_some_ignored: bool) -> Self {
        let mut random = Random::new(seed);
        let count = 1 + random.below(80);
        // Ids with gaps, in no order.
        let ids: Vec<u64> = (0..count as u64).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 2) & !1).collect();
        let mut owned = vec![Vec::new(); ranks];
        ids.iter().for_each(|&id| owned[random.below(ranks)].push(id));
        let (mut rows_of, mut columns_of, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ranks {
            let elems = random.below(60);
            let mut table = |per_elem: usize| -> Vec<i64> {
                let mut index = || match random.below(count + 2 * usize::from(are_some_ignored)) {
                    at if at < count => ids[at] as i64,
                    _ => -1 - random.below(100) as i64,
                };
                (0..elems * per_elem).map(|_| index()).collect()
            };
            rows_of.push(table(rows_per_elem));
            columns_of.push(table(columns_per_elem));
            // Sums of such numbers depend on their order.
            let mut value = || (random.below(1 << 30) as f64 - 5e8) * 2f64.powi(random.below(60) as i32 - 30);
            values.push((0..elems * rows_per_elem * columns_per_elem).map(|_| value()).collect());
        }
        Problem { owned, rows_of, columns_of, values, rows_per_elem, columns_per_elem }
    }

    /// Row and column of value `k` of a rank.
    fn pair(&self, rank: usize, k: usize) -> (i64, i64) {
        let (slot, b) = (k / self.columns_per_elem, k % self.columns_per_elem);
        let column = slot / self.rows_per_elem * self.columns_per_elem + b;
        (self.rows_of[rank][slot], self.columns_of[rank][column])
    }

    /// Sums over all ranks, each scaled by its own factor, in the order of ranks and of their input.
    fn sums(&self, scale: f64, start: f64) -> BTreeMap<(u64, u64), f64> {
        let mut sums = BTreeMap::new();
        for (rank, values) in self.values.iter().enumerate() {
            for (k, value) in values.iter().enumerate() {
                let (i, j) = self.pair(rank, k);
                if i >= 0 && j >= 0 {
                    *sums.entry((i as u64, j as u64)).or_insert(start) += scale * value;
                }
            }
        }
        sums
    }
}

/// Plans and sums random problems on the ranks of `comm`; each rank checks its rows, bit by bit.
pub fn sums_on_ranks(comm: &dyn Communicator) -> Result<()> {
    let shapes = [[1, 1], [4, 4], [2, 3], [3, 1]];
    for (seed, shape) in (1..).zip(shapes.into_iter().cycle()).take(16) {
        let are_some_ignored = seed % 3 == 0;
        let problem = Problem::new(comm.size(), seed, shape, are_some_ignored);
        let (rank, space) = (comm.rank(), Threads::new(1 + seed as usize % 2)?);
        let (owned, rows_of, columns_of) = (&problem.owned[rank], &problem.rows_of[rank], &problem.columns_of[rank]);
        let plan = if shape == [1, 1] {
            DistributedCoo::new(&space, comm, owned, rows_of, columns_of)?
        } else {
            let rows_of = ElementIndices { indices: rows_of, per_elem: shape[0] };
            let columns_of = ElementIndices { indices: columns_of, per_elem: shape[1] };
            DistributedCoo::from_elements(&space, comm, owned, rows_of, columns_of)?
        };
        assert_eq!(plan.value_count(), problem.values[rank].len());
        assert_eq!((plan.graph().rows(), plan.columns().map().owned_count()), (owned.len(), owned.len()));
        let check = |values: &[f64], expected: BTreeMap<(u64, u64), f64>| {
            let ids = plan.columns().ids();
            let entries =
                (0..owned.len()).flat_map(|row| plan.graph().row(row).iter().map(move |&column| (row, column)));
            let mut found: Vec<_> =
                entries.zip(values).map(|((i, j), v)| ((ids[i], ids[j as usize]), v.to_bits())).collect();
            found.sort_unstable();
            let of_rank = expected.into_iter().filter(|((row, _), _)| owned.contains(row));
            let expected: Vec<_> = of_rank.map(|(place, sum)| (place, sum.to_bits())).collect();
            assert_eq!(found, expected, "seed {seed}, rank {rank} of {}", comm.size());
        };
        let (mut messages, mut matrix) = (plan.messages(comm)?, plan.matrix()?);
        for scale in [3.0, 1.0, -0.5] {
            let values: Vec<f64> = problem.values[rank].iter().map(|value| scale * value).collect();
            plan.set_values(&space, &mut messages, &values, Sum::Overwrite, &mut matrix)?;
            check(matrix.values(), problem.sums(scale, 0.0));
        }
        let mut sums = vec![0.1; plan.graph().nnz()];
        plan.sum_entries(&space, &mut messages, &problem.values[rank], Sum::Into, &mut sums)?;
        check(&sums, problem.sums(1.0, 0.1));
    }
    Ok(())
}
