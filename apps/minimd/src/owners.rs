//! Atoms change their rank. They stay in the memory of the space; those that leave cross host memory.

use crate::alone::alone;
use crate::domain::Domain;
use crate::functions::{Leaves, Lost, Pack, Reorder, Split, Sum, Unpack, Wrap};
use crate::space::Space;
use minifenl::comm::{Communicator, Message, agree};
use minifenl::space::{Array, MemorySpace};
use minifenl::{Error, Result};

/// Numbers of an atom in a message: position and velocity.
const ROW: usize = 6;

/// Positions and velocities of owned atoms, [atom, axis].
#[derive(Debug)]
pub struct Atoms<S: Space> {
    /// Number of atoms.
    pub count: usize,
    /// Positions.
    pub x: Array<S, f64>,
    /// Velocities.
    pub v: Array<S, f64>,
}

impl<S: Space> Atoms<S> {
    /// Returns the atoms of a list, with room for `more` behind them.
    ///
    /// # Errors
    /// Those of the space.
    pub fn reordered(&self, space: &S, order: &Array<S, u32>, count: usize, more: usize) -> Result<Self> {
        let [mut x, mut v] = [space.to_be_written(3 * (count + more))?, space.to_be_written(3 * (count + more))?];
        let read = [&self.x, &self.v].map(S::Memory::slice);
        let written = [&mut x, &mut v].map(S::Memory::slice_mut);
        space.for_indices(count, &Reorder {}, read, [S::Memory::slice(order)], written)?;
        Ok(Atoms { count: count + more, x, v })
    }
}

/// Sends the atoms that left this part to their owners, after moving all of them into the box.
///
/// # Errors
/// [`Error::Invalid`], naming the first one, if an atom is lost: more than an edge outside the box, or not finite. Those of the space as
/// [`Error::Alone`].
pub fn exchange<S: Space>(
    space: &S,
    comm: &dyn Communicator,
    domain: &Domain,
    atoms: &mut Atoms<S>,
    step: usize,
) -> Result<()> {
    let (edges, numbers) = (domain.edges, 3 * atoms.count);
    let lost = space.reduce_items(numbers, &Lost { edges }, [S::Memory::slice(&atoms.x)]).map_err(alone(comm))?;
    agree(comm, if lost > 0.0 { Err(lost_atoms(space, domain, atoms, step)) } else { Ok(()) })?;
    let x = S::Memory::slice_mut(&mut atoms.x);
    space.for_items(numbers, &Wrap { edges }, [], [x]).map_err(alone(comm))?;
    if comm.size() == 1 {
        return Ok(());
    }
    let (staying, leaving) = split(space, domain, atoms).map_err(alone(comm))?;
    let mut messages: Vec<Message> = Vec::new();
    for row in leaving.as_chunks::<ROW>().0 {
        message(&mut messages, domain.owner([row[0], row[1], row[2]])).extend(row.map(f64::to_bits));
    }
    let arrived: Vec<f64> =
        comm.send_all(messages)?.into_iter().flat_map(|(_, bits)| bits).map(f64::from_bits).collect();
    *atoms = received(space, atoms, &staying, leaving.len() / ROW, &arrived).map_err(alone(comm))?;
    Ok(())
}

/// The message to a rank.
fn message(messages: &mut Vec<Message>, to: usize) -> &mut Vec<u64> {
    let found = messages.iter().position(|(rank, _)| *rank == to).unwrap_or_else(|| {
        messages.push((to, Vec::new()));
        messages.len() - 1
    });
    &mut messages[found].1
}

/// What is wrong with atoms that are lost.
fn lost_atoms<S: Space>(space: &S, domain: &Domain, atoms: &Atoms<S>, step: usize) -> Error {
    let mut x = vec![0.0; 3 * atoms.count];
    if let Err(error) = space.read(&atoms.x, &mut x) {
        return error;
    }
    let lost: Vec<&[f64; 3]> = x.as_chunks::<3>().0.iter().filter(|x| domain.wrapped(**x).is_none()).collect();
    let [a, b, c] = lost.first().copied().copied().unwrap_or_default();
    Error::Invalid(format!(
        "step {step}: {} atoms are lost, the first at ({a:.3e}, {b:.3e}, {c:.3e}): the time step is too long (--dt)",
        lost.len()
    ))
}

/// Returns the list of the atoms that stay, and the rows of those that leave.
fn split<S: Space>(space: &S, domain: &Domain, atoms: &Atoms<S>) -> Result<(Array<S, u32>, Vec<f64>)> {
    let n = atoms.count;
    let [mut leaves, mut ends, mut staying] =
        [space.to_be_written(n)?, space.to_be_written(n)?, space.to_be_written(n)?];
    let [grid, place] = [domain.grid, domain.place].map(|numbers| numbers.map(|number| number as f64));
    let of = Leaves { edges: domain.edges, grid, place };
    space.for_indices(n, &of, [S::Memory::slice(&atoms.x)], [], [S::Memory::slice_mut(&mut leaves)])?;
    space.scan_items(n, &Sum {}, [S::Memory::slice(&leaves)], S::Memory::slice_mut(&mut ends))?;
    let count = space.reduce_items(n, &Sum {}, [S::Memory::slice(&leaves)])? as usize;
    let mut leaving = space.to_be_written(count)?;
    let written = [&mut staying, &mut leaving].map(S::Memory::slice_mut);
    space.for_indices(n, &Split {}, [], [&leaves, &ends].map(S::Memory::slice), written)?;
    let mut rows = space.to_be_written(ROW * count)?;
    let read = [&atoms.x, &atoms.v].map(S::Memory::slice);
    let listed = [S::Memory::slice(&leaving)];
    space.for_indices(count, &Pack {}, read, listed, [S::Memory::slice_mut(&mut rows)])?;
    Ok((staying, space.download(&rows)?))
}

/// Returns the atoms that stay and those that arrived.
fn received<S: Space>(
    space: &S,
    atoms: &Atoms<S>,
    staying: &Array<S, u32>,
    left: usize,
    rows: &[f64],
) -> Result<Atoms<S>> {
    let (kept, arrived) = (atoms.count - left, rows.len() / ROW);
    let mut all = atoms.reordered(space, staying, kept, arrived)?;
    let rows = space.upload(rows)?;
    let written = [&mut all.x, &mut all.v].map(S::Memory::slice_mut);
    space.for_indices(arrived, &Unpack { first: kept as f64 }, [S::Memory::slice(&rows)], [], written)?;
    Ok(all)
}
