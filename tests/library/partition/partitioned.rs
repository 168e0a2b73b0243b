//! Meshes that another program might have cut: random ids, random partitions, every rank sees only its share.
//!
//! Each rank assembles and solves its rows. References: a plain map of pairs of ids, which sums the matrix, and a solve on one
//! rank. Elements have eight nodes and matrices that depend on the ids of their nodes alone:
//!
//! ```text
//! K_ij = -w(i, j),  K_ii = m(i) + sum_j w(i, j),  r_i = f(i)       w, m and f are hashes of the element's ids, w symmetric
//! ```

use minifenl::comm::{Communicator, Halo, Solo};
use minifenl::fill::{self, Dirichlet, Fill, element_fn};
use minifenl::graph;
use minifenl::mesh::{ElemNode, MeshPart};
use minifenl::solve::{CgParams, CgWorkspace, DistributedOperator, Identity, LinearSystem, cg};
use minifenl::space::{Serial, Threads};
use minifenl::sparse::CrsMatrix;
use minifenl::{GlobalOrdinal, Result};
use std::collections::BTreeMap;
use support::Random;

/// A mesh with its partition, known to all ranks of a test.
pub struct CutMesh {
    /// Id of each node.
    ids: Vec<GlobalOrdinal>,
    /// Nodes of each element.
    elems: Vec<[usize; 8]>,
    /// Ranks that own the nodes and the elements.
    node_owner: Vec<usize>,
    elem_owner: Vec<usize>,
}

/// The elements that a rank gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Given {
    /// All that contain a node of its own.
    Complete,
    /// Its own, each on one rank.
    Own,
}

impl CutMesh {
    /// Elements of eight nodes from a window of 24, with nodes in no element.
    pub fn random(seed: u64, ranks: usize) -> Self {
        let mut random = Random::new(seed);
        let nodes = 30 + random.below(250);
        let elems = (0..random.below(nodes)).map(|_| {
            let (base, mut chosen) = (random.below(nodes - 5), Vec::new());
            while chosen.len() < 8 {
                let node = (base + random.below(24)) % (nodes - 5);
                if !chosen.contains(&node) {
                    chosen.push(node);
                }
            }
            chosen.try_into().expect("eight nodes")
        });
        let elems = elems.collect();
        Self::cut(nodes, elems, random, ranks)
    }

    /// A box of hexahedra.
    pub fn grid(nodes: [usize; 3], seed: u64, ranks: usize) -> Self {
        let [nx, ny, nz] = nodes;
        let mut elems = Vec::new();
        for (z, y, x) in (0..nz - 1).flat_map(|z| (0..ny - 1).flat_map(move |y| (0..nx - 1).map(move |x| (z, y, x)))) {
            let corner = |i: usize| x + (i & 1) + nx * (y + (i >> 1 & 1) + ny * (z + (i >> 2)));
            elems.push([0, 1, 3, 2, 4, 5, 7, 6].map(corner));
        }
        Self::cut(nx * ny * nz, elems, Random::new(seed), ranks)
    }

    /// Shuffled ids, dense, with gaps or spread; owners at random, in some seeds among few ranks only.
    fn cut(nodes: usize, elems: Vec<[usize; 8]>, mut random: Random, ranks: usize) -> Self {
        let mut ids: Vec<u64> = (0..nodes as u64).collect();
        (1..nodes).for_each(|i| ids.swap(i, random.below(i + 1)));
        let kind = random.below(3);
        // Multiplied by an odd number modulo 2^40, ids stay distinct and exact in f64.
        let id = |i: u64| [i, 3 * i + 1, i.wrapping_mul(0x9e37_79b9_7f4b) % (1 << 40)][kind];
        ids.iter_mut().for_each(|i| *i = id(*i));
        let owners: Vec<usize> = (0..ranks).filter(|_| random.below(4) > 0).collect();
        let owners = if owners.is_empty() { vec![ranks - 1] } else { owners };
        // Pieces of nodes with one owner make interior nodes; single nodes make many neighbours.
        let piece = random.pick(&[1, 10, 60]);
        let mut node_owner = Vec::new();
        while node_owner.len() < nodes {
            node_owner.extend(vec![random.pick(&owners); piece]);
        }
        node_owner.truncate(nodes);
        let elem_owner = elems.iter().map(|elem| {
            let any = random.below(ranks);
            if random.below(3) == 0 { any } else { node_owner[elem[random.below(8)]] }
        });
        let elem_owner = elem_owner.collect();
        CutMesh { ids, elems, node_owner, elem_owner }
    }

    /// Ids of the nodes that a rank owns.
    pub fn owned(&self, rank: usize) -> Vec<GlobalOrdinal> {
        self.ids.iter().zip(&self.node_owner).filter(|(_, owner)| **owner == rank).map(|(&id, _)| id).collect()
    }

    /// The table that a rank gives, in ids.
    pub fn table(&self, rank: usize, given: Given) -> Vec<GlobalOrdinal> {
        let is_given = |at: usize| match given {
            Given::Complete => self.elems[at].iter().any(|&node| self.node_owner[node] == rank),
            Given::Own => self.elem_owner[at] == rank,
        };
        (0..self.elems.len())
            .filter(|&at| is_given(at))
            .flat_map(|at| self.elems[at].map(|node| self.ids[node]))
            .collect()
    }

    /// All elements in ids, sorted.
    fn elements(&self) -> Vec<[GlobalOrdinal; 8]> {
        let mut all: Vec<_> = self.elems.iter().map(|elem| elem.map(|node| self.ids[node])).collect();
        all.sort_unstable();
        all
    }

    /// The assembled matrix and residual with conditions, by ids.
    fn reference(&self) -> (BTreeMap<(u64, u64), f64>, BTreeMap<u64, f64>) {
        let (mut matrix, mut residual): (BTreeMap<_, f64>, BTreeMap<_, f64>) = Default::default();
        residual.extend(self.ids.iter().map(|&id| (id, 0.0)));
        for ids in self.elements() {
            let (values, loads) = element(&ids);
            for i in 0..8 {
                *residual.entry(ids[i]).or_default() += loads[i];
                for j in 0..8 {
                    *matrix.entry((ids[i], ids[j])).or_default() += values[i][j];
                }
            }
        }
        for ((row, column), value) in &mut matrix {
            if row != column && (is_fixed(*row) || is_fixed(*column)) {
                *value = 0.0;
            }
        }
        residual.iter_mut().filter(|(id, _)| is_fixed(**id)).for_each(|(_, value)| *value = 0.0);
        (matrix, residual)
    }

    /// The solution of the whole problem on one rank, by ids.
    fn solution(&self) -> Result<BTreeMap<u64, f64>> {
        let nodes = self.elems.iter().flatten().map(|&node| node as u32).collect();
        let table = ElemNode::new(nodes, 8, self.ids.len())?;
        let system = System::assemble(&Serial, fill::Strategy::Gather, &table, self.ids.len(), &self.ids)?;
        let mut x = vec![0.0; self.ids.len()];
        system.solve(&Serial, &system.matrix, &Solo, &mut x)?;
        Ok(self.ids.iter().copied().zip(x).collect())
    }
}

/// Assembled rows of a rank, with conditions.
struct System {
    matrix: CrsMatrix,
    residual: Vec<f64>,
}

impl System {
    /// Assembles the first `rows` nodes; `ids` holds the id of each node.
    fn assemble(
        space: &Threads,
        strategy: fill::Strategy,
        elem_node: &ElemNode,
        rows: usize,
        ids: &[u64],
    ) -> Result<Self> {
        let graph = graph::build(space, elem_node, rows, graph::Strategy::default())?;
        let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![f64::NAN; rows]);
        let kernel = element_fn(|elem| {
            let nodes = elem_node.elem(elem);
            element(&std::array::from_fn(|i| ids[nodes[i] as usize]))
        });
        Fill::<8>::new(space, strategy, &graph)?.assemble(space, &kernel, &mut matrix, &mut residual)?;
        let fixed: Vec<u8> = ids.iter().map(|&id| u8::from(is_fixed(id))).collect();
        Dirichlet::new(space, &graph.crs, &fixed)?.apply(space, &mut matrix, &mut residual)?;
        Ok(System { matrix, residual })
    }

    /// Solves for the owned unknowns, the first of `x`.
    fn solve(
        &self,
        space: &Threads,
        operator: &dyn minifenl::sparse::Operator<Threads>,
        comm: &dyn Communicator,
        x: &mut [f64],
    ) -> Result<()> {
        let mut work = CgWorkspace::new(space, operator.rows(), operator.columns())?;
        let mut system = LinearSystem { operator, preconditioner: &mut Identity, comm: &comm, rhs: &self.residual[..] };
        let params = CgParams::new(1e-12, 500);
        cg(space, &mut system, x, params, &mut work, &mut |_, _| Ok(()))?;
        Ok(())
    }
}

/// A number in [0, 1) that two ids and a number of their element determine.
fn hash(a: u64, b: u64, c: u64) -> f64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.rotate_left(32).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ c;
    x = (x ^ (x >> 30)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Matrix and residual of an element with these ids.
fn element(ids: &[u64; 8]) -> ([[f64; 8]; 8], [f64; 8]) {
    let own = ids.iter().enumerate().fold(0, |own: u64, (i, id)| own.wrapping_mul(31).wrapping_add(id ^ i as u64));
    let weight = |i: usize, j: usize| 0.5 + hash(ids[i].min(ids[j]), ids[i].max(ids[j]), own);
    let mut matrix = [[0.0; 8]; 8];
    for i in 0..8 {
        for j in (0..8).filter(|&j| j != i) {
            matrix[i][j] = -weight(i, j);
            matrix[i][i] += weight(i, j);
        }
        matrix[i][i] += 0.2 + hash(ids[i], 7, own);
    }
    (matrix, std::array::from_fn(|i| hash(ids[i], 11, own) - 0.5))
}

fn is_fixed(id: u64) -> bool {
    hash(id, 1, 2) < 0.1
}

/// Compares counts, ids, ghosts and their order with the mesh; each ghost gets its owner's value by a halo exchange.
fn check_part(comm: &dyn Communicator, mesh: &CutMesh, part: &MeshPart, table: &[u64]) -> Result<()> {
    let (rank, map, ids) = (comm.rank(), part.nodes.map(), part.nodes.ids());
    let owned = map.owned_count();
    let (mut own, mut expected) = (ids[..owned].to_vec(), mesh.owned(rank));
    // Both groups of owned nodes keep the order given.
    let place = |id: &u64| expected.iter().position(|other| other == id).expect("an own id");
    assert!(ids[..part.interior_count()].is_sorted_by_key(place), "rank {rank}");
    assert!(ids[part.interior_count()..owned].is_sorted_by_key(place), "rank {rank}");
    own.sort_unstable();
    expected.sort_unstable();
    assert_eq!(own, expected, "rank {rank}");
    assert_eq!(map.global_count(), mesh.ids.len() as u64);
    assert!(ids.iter().zip(0..).all(|(&id, at)| part.nodes.local(id) == Some(at)), "rank {rank}");
    // Elements keep their order; copies follow.
    let in_ids: Vec<u64> = part.elem_node.as_slice().iter().map(|&node| ids[node as usize]).collect();
    assert_eq!(in_ids[..table.len()], *table);
    assert_eq!(in_ids.len(), table.len() + 8 * part.copies.len());
    // Ghosts are the other ids of the table, by owner.
    let owner: BTreeMap<u64, usize> = mesh.ids.iter().copied().zip(mesh.node_owner.iter().copied()).collect();
    let mut ghosts: Vec<_> = in_ids.iter().filter(|id| owner[id] != rank).map(|id| (owner[id], *id)).collect();
    ghosts.sort_unstable();
    ghosts.dedup();
    assert_eq!(ids[owned..].iter().map(|id| (owner[id], *id)).collect::<Vec<_>>(), ghosts, "rank {rank}");
    let mut x = vec![f64::NAN; ids.len()];
    (0..owned).for_each(|at| x[at] = ids[at] as f64);
    Halo::new(&Serial, comm, map)?.update(&Serial, &mut x)?;
    assert!(x.iter().zip(ids).all(|(&x, &id)| x == id as f64), "rank {rank}: {x:?}");
    // Three dofs per node travel together.
    let of = |id: u64, a: usize| id as f64 + 0.25 * a as f64;
    let mut x: Vec<f64> = ids[..owned].iter().flat_map(|&id| [0, 1, 2].map(|a| of(id, a))).collect();
    x.resize(3 * ids.len(), f64::NAN);
    Halo::new(&Serial, comm, &map.expand(3)?)?.update(&Serial, &mut x)?;
    assert!(x.iter().enumerate().all(|(at, &x)| x == of(ids[at / 3], at % 3)), "rank {rank}: {x:?}");
    Ok(())
}

/// Numbers, assembles and solves a rank's part, and compares all of it with the whole problem.
pub fn check(comm: &dyn Communicator, mesh: &CutMesh, given: Given, strategy: fill::Strategy) -> Result<()> {
    let (rank, table) = (comm.rank(), mesh.table(comm.rank(), given));
    let owned = mesh.owned(rank);
    let part = match given {
        Given::Complete => MeshPart::new(comm, &owned, &table, 8)?,
        Given::Own => MeshPart::from_elements(comm, &owned, &table, 8)?,
    };
    check_part(comm, mesh, &part, &table)?;
    let (ids, rows) = (part.nodes.ids(), owned.len());
    for (copy, &(from, at)) in part.copies.iter().enumerate() {
        let there = mesh.table(from, Given::Own);
        let nodes = part.elem_node.elem(table.len() / 8 + copy);
        assert!(nodes.iter().zip(&there[8 * at as usize..]).all(|(&node, &id)| ids[node as usize] == id));
        assert!(from != rank && nodes.iter().any(|&node| (node as usize) < rows), "rank {rank}");
    }

    let space = Threads::new(2)?;
    let system = System::assemble(&space, strategy, &part.elem_node, rows, ids)?;
    let (matrix, residual) = mesh.reference();
    let mut entries = 0;
    for row in 0..rows {
        let columns = system.matrix.graph().row(row);
        entries += columns.len();
        for &column in columns {
            let expected = matrix.get(&(ids[row], ids[column as usize])).expect("an entry of the whole matrix");
            let value = system.matrix.get(row, column).expect("an entry");
            assert!((value - expected).abs() < 1e-12, "rank {rank}: {value} {expected}");
        }
        assert!((system.residual[row] - residual[&ids[row]]).abs() < 1e-12, "rank {rank}, row {row}");
        // Exactly the rows behind the interior ones read ghosts.
        let reads_ghost = columns.iter().any(|&column| column as usize >= rows);
        assert_eq!(reads_ghost, row >= part.interior_count(), "rank {rank}, row {row}");
    }
    let mut all = [entries as u64];
    comm.all_sum_u64(&mut all);
    assert_eq!(all, [matrix.len() as u64]);

    let mut halo = Halo::new(&Serial, comm, part.nodes.map())?;
    let operator = DistributedOperator::new(&system.matrix, &mut halo, part.interior_count())?;
    let mut x = vec![0.0; rows];
    system.solve(&Serial, &operator, comm, &mut x)?;
    let expected = mesh.solution()?;
    let scale = expected.values().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    for (x, id) in x.iter().zip(ids) {
        assert!((x - expected[id]).abs() <= 1e-9 * scale, "rank {rank}: id {id}: {x}, expected {}", expected[id]);
    }
    Ok(())
}

/// Random and regular meshes in random partitions; `first` is the first of `count` seeds.
pub fn check_many(comm: &dyn Communicator, first: u64, count: u64) -> Result<()> {
    for seed in first..first + count {
        let mesh = if seed % 3 == 2 {
            CutMesh::grid([4, 5, 3], seed, comm.size())
        } else {
            CutMesh::random(seed, comm.size())
        };
        let given = if seed % 2 == 0 { Given::Complete } else { Given::Own };
        check(comm, &mesh, given, fill::Strategy::ALL[seed as usize % 3].0)?;
    }
    Ok(())
}
