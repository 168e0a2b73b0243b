//! Random pairs on several ranks: distributed plans against sums by a map, and against plans of one rank. The caller has the module
//! `random`.

use minifenl::Result;
use minifenl::comm::Communicator;
use minifenl::contraction::Sum;
use minifenl::fill::{Coo, DistributedCoo, ElementIndices};
use minifenl::space::{Serial, Threads};
use minifenl::sparse::{CrsGraph, CrsMatrix};
use std::collections::BTreeMap;
use support::Random;

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

    /// Sums over all ranks of one value per slot, in their order. A pair without a column is ignored with its row.
    fn row_sums(&self, values: impl Iterator<Item = Vec<f64>>, start: f64) -> BTreeMap<u64, f64> {
        let are_pairs = [self.rows_per_elem, self.columns_per_elem] == [1, 1];
        let mut sums = BTreeMap::new();
        for (rank, values) in values.enumerate() {
            for (slot, value) in values.into_iter().enumerate() {
                let row = self.rows_of[rank][slot];
                if row >= 0 && !(are_pairs && self.columns_of[rank][slot] < 0) {
                    *sums.entry(row as u64).or_insert(start) += value;
                }
            }
        }
        sums
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
        let mut plan = if shape == [1, 1] {
            DistributedCoo::new(&space, comm, owned, rows_of, columns_of)?
        } else {
            let rows_of = ElementIndices { indices: rows_of, per_elem: shape[0] };
            let columns_of = ElementIndices { indices: columns_of, per_elem: shape[1] };
            DistributedCoo::from_elements(&space, comm, owned, rows_of, columns_of)?
        };
        assert_eq!((plan.graph().rows(), plan.columns().map().owned_count()), (owned.len(), owned.len()));
        let check = |plan: &DistributedCoo, values: &[f64], expected: BTreeMap<(u64, u64), f64>| {
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
        let mut matrix = plan.matrix()?;
        for scale in [3.0, 1.0, -0.5] {
            let values: Vec<f64> = problem.values[rank].iter().map(|value| scale * value).collect();
            plan.set_values(&space, &values, Sum::Overwrite, &mut matrix)?;
            check(&plan, matrix.values(), problem.sums(scale, 0.0));
        }
        matrix.parts_mut().1.fill(0.1);
        plan.set_values(&space, &problem.values[rank], Sum::Into, &mut matrix)?;
        check(&plan, matrix.values(), problem.sums(1.0, 0.1));
        let slots = |rank: usize| problem.values[rank].iter().copied().step_by(problem.columns_per_elem).collect();
        for (sum, start) in [(Sum::Overwrite, 0.0), (Sum::Into, 0.1)] {
            let (own, mut rows): (Vec<f64>, _) = (slots(rank), vec![0.1; owned.len()]);
            plan.sum_rows(&space, &own, sum, &mut rows)?;
            let expected = problem.row_sums((0..comm.size()).map(slots), start);
            for (id, row) in owned.iter().zip(rows) {
                let expected = expected.get(id).unwrap_or(&start);
                assert_eq!(row.to_bits(), expected.to_bits(), "seed {seed}, rank {rank}, {sum:?}: row {id}");
            }
        }
    }
    Ok(())
}

/// Elements of one rank, and the same in blocks on several ranks: ranks and input then have the order of the one plan.
struct Blocks {
    /// Rank that owns each dof.
    owner: Vec<usize>,
    /// Tables of dofs; negative numbers are ignored.
    rows_of: Vec<i64>,
    columns_of: Vec<i64>,
    per_elem: [usize; 2],
}

/// Global id of a dof.
fn id(dof: u32) -> u64 {
    (u64::from(dof) + 3) * 7919
}

impl Blocks {
    fn new(ranks: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let (dofs, elems) = (4 + random.below(40), random.below(60));
        let per_elem = [1 + random.below(4), 1 + random.below(4)];
        let owner = (0..dofs).map(|_| random.below(ranks)).collect();
        let mut table = |per_elem: usize| -> Vec<i64> {
            (0..elems * per_elem).map(|_| random.below(dofs + 2) as i64 - 2).collect()
        };
        Blocks { owner, rows_of: table(per_elem[0]), columns_of: table(per_elem[1]), per_elem }
    }

    /// The part of an array with `width` items per element that belongs to a rank.
    fn block<'a, T>(&self, items: &'a [T], width: usize, rank: usize, ranks: usize) -> &'a [T] {
        let elems = self.rows_of.len() / self.per_elem[0];
        &items[elems * rank / ranks * width..elems * (rank + 1) / ranks * width]
    }

    /// A rank's dofs and its tables, by global ids.
    fn of_rank(&self, rank: usize, ranks: usize) -> Part {
        let ids =
            |table: &[i64]| table.iter().map(|&dof| u32::try_from(dof).map_or(dof, |dof| id(dof) as i64)).collect();
        let is_owned = |dof: u32| self.owner[dof as usize] == rank;
        Part {
            owned: (0..self.owner.len() as u32).filter(|&dof| is_owned(dof)).map(id).collect(),
            rows_of: ids(self.block(&self.rows_of, self.per_elem[0], rank, ranks)),
            columns_of: ids(self.block(&self.columns_of, self.per_elem[1], rank, ranks)),
        }
    }
}

/// What one rank brings.
struct Part {
    owned: Vec<u64>,
    rows_of: Vec<i64>,
    columns_of: Vec<i64>,
}

/// Column ids of a row and the bits of its values, ids ascending.
fn row(graph: &CrsGraph, values: &[f64], row: usize, id: impl Fn(u32) -> u64) -> Vec<(u64, u64)> {
    let values = &values[graph.row_map()[row] as usize..];
    let mut row: Vec<_> = graph.row(row).iter().zip(values).map(|(&column, v)| (id(column), v.to_bits())).collect();
    row.sort_unstable();
    row
}

/// Compares matrices and rows of distributed plans with those of one rank, bit by bit.
pub fn plans_equal_those_of_one_rank(comm: &dyn Communicator) -> Result<()> {
    let (rank, ranks) = (comm.rank(), comm.size());
    for seed in 1..=24 {
        let case = format!("seed {seed}, rank {rank} of {ranks}");
        let (blocks, space) = (Blocks::new(ranks, seed), Threads::new(1 + seed as usize % 2)?);
        let [a, b] = blocks.per_elem;
        let (dofs, part) = (blocks.owner.len(), blocks.of_rank(rank, ranks));
        let mut random = Random::new(seed + 100);
        let mut value = || (random.below(1 << 30) as f64 - 5e8) * 2f64.powi(random.below(60) as i32 - 30);
        let values: Vec<f64> = (0..blocks.rows_of.len() * b).map(|_| value()).collect();
        let loads: Vec<f64> = blocks.rows_of.iter().map(|_| value()).collect();
        let table = |indices, per_elem| ElementIndices { indices, per_elem };
        let (rows_of, columns_of) = (table(&blocks.rows_of[..], a), table(&blocks.columns_of[..], b));
        let (own_rows_of, own_columns_of) = (table(&part.rows_of[..], a), table(&part.columns_of[..], b));
        let own_values = |values| blocks.block(values, a * b, rank, ranks);

        let one = Coo::from_elements(&Serial, dofs, dofs, rows_of, columns_of)?;
        let mut plan = DistributedCoo::from_elements(&space, comm, &part.owned, own_rows_of, own_columns_of)?;
        let halves = |plan: &CrsMatrix| CrsMatrix::new(plan.graph().clone(), vec![0.5; plan.values().len()]);
        let (mut expected, mut expected_rows) = (halves(&one.matrix()?)?, vec![0.5; dofs]);
        one.set_values(&Serial, &values, Sum::Into, &mut expected)?;
        one.sum_rows(&Serial, &loads, Sum::Into, &mut expected_rows)?;
        let (mut sums, mut rows) = (halves(&plan.matrix()?)?, vec![0.5; part.owned.len()]);
        plan.set_values(&space, own_values(&values), Sum::Into, &mut sums)?;
        plan.sum_rows(&space, blocks.block(&loads, a, rank, ranks), Sum::Into, &mut rows)?;
        let ids = plan.columns().ids();
        for (local, dof) in (0..dofs as u32).filter(|&dof| blocks.owner[dof as usize] == rank).enumerate() {
            let of_one = row(one.graph(), expected.values(), dof as usize, id);
            assert_eq!(
                row(plan.graph(), sums.values(), local, |column| ids[column as usize]),
                of_one,
                "{case}, dof {dof}"
            );
            assert_eq!(rows[local].to_bits(), expected_rows[dof as usize].to_bits(), "{case}, dof {dof}");
        }
    }
    Ok(())
}
