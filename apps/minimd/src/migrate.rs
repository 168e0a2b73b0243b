//! Atoms change their rank, and ranks learn which of their atoms others see.

use crate::alone::alone;
use crate::domain::Domain;
use minifenl::comm::{Communicator, Map, Message, Neighbour, agree};
use minifenl::{Error, Result};

/// Sends the atoms that left this part to their owners, after moving all of them into the box. Positions and velocities are [atom, axis].
///
/// # Errors
/// [`Error::Invalid`], naming the first one, if an atom is lost: more than an edge outside the box, or not finite.
pub fn exchange(
    comm: &dyn Communicator,
    domain: &Domain,
    x: &mut Vec<f64>,
    v: &mut Vec<f64>,
    step: usize,
) -> Result<()> {
    let mut leaving: Vec<Message> = Vec::new();
    let (mut kept, mut lost, mut first) = (0, 0, [0.0; 3]);
    for i in 0..x.len() / 3 {
        let at = |from: &[f64]| [from[3 * i], from[3 * i + 1], from[3 * i + 2]];
        let (place, speed) = (at(x), at(v));
        let Some(place) = domain.wrapped(place) else {
            first = if lost == 0 { place } else { first };
            lost += 1;
            continue;
        };
        let owner = domain.owner(place);
        if owner == comm.rank() {
            x[3 * kept..3 * kept + 3].copy_from_slice(&place);
            v[3 * kept..3 * kept + 3].copy_from_slice(&speed);
            kept += 1;
        } else {
            append(&mut leaving, owner, place.into_iter().chain(speed));
        }
    }
    let [a, b, c] = first;
    let why = || {
        format!(
            "step {step}: {lost} atoms are lost, the first at ({a:.3e}, {b:.3e}, {c:.3e}): the time step is too long (--dt)"
        )
    };
    agree(comm, if lost == 0 { Ok(()) } else { Err(Error::Invalid(why())) })?;
    x.truncate(3 * kept);
    v.truncate(3 * kept);
    for (_, numbers) in comm.send_all(leaving)? {
        for atom in numbers.as_chunks::<6>().0 {
            x.extend(atom[..3].iter().map(|&bits| f64::from_bits(bits)));
            v.extend(atom[3..].iter().map(|&bits| f64::from_bits(bits)));
        }
    }
    Ok(())
}

fn append(messages: &mut Vec<Message>, to: usize, numbers: impl Iterator<Item = f64>) {
    let found = messages.iter().position(|(rank, _)| *rank == to).unwrap_or_else(|| {
        messages.push((to, Vec::new()));
        messages.len() - 1
    });
    messages[found].1.extend(numbers.map(f64::to_bits));
}

/// The atoms that a rank sees beside its own: images of its own atoms, then ghosts of other ranks.
#[derive(Debug)]
pub struct Seen {
    /// Local index of each one's source; its own for a ghost of another rank.
    pub sources: Vec<u32>,
    /// From the source to the ghost, [ghost, axis].
    pub shifts: Vec<f64>,
    /// Positions, [ghost, axis].
    pub x: Vec<f64>,
    /// Exchange of the coordinates: own atoms and their images are owned, the others ghosts.
    pub map: Map,
}

/// Finds the ghosts of the owned atoms at `x`, which are in the box.
///
/// # Errors
/// Those of [`Communicator::send_all`]; those of [`Map::new`] as [`Error::Alone`].
pub fn borders(comm: &dyn Communicator, domain: &Domain, x: &[f64]) -> Result<Seen> {
    let owned = x.len() / 3;
    let (mut sources, mut shifts, mut places) = (Vec::new(), Vec::new(), Vec::new());
    let (mut messages, mut send): (Vec<Message>, Vec<(usize, Vec<u32>)>) = (Vec::new(), Vec::new());
    for (i, &place) in x.as_chunks::<3>().0.iter().enumerate().filter(|(_, x)| !domain.is_deep(**x)) {
        for image in domain.images.iter().filter(|image| domain.sees(image, place)) {
            if image.rank == comm.rank() {
                sources.push(i as u32);
                shifts.extend(image.shift);
                places.extend((0..3).map(|d| place[d] + image.shift[d]));
                continue;
            }
            append(&mut messages, image.rank, place.into_iter().chain(image.shift));
            match send.iter_mut().find(|(rank, _)| *rank == image.rank) {
                Some((_, list)) => list.push(i as u32),
                None => send.push((image.rank, vec![i as u32])),
            }
        }
    }
    let held = owned + sources.len();
    let mut neighbours: Vec<Neighbour> = Vec::new();
    let neighbour = |rank, send| Neighbour { rank, send, receive: 0..0 };
    neighbours.extend(send.into_iter().map(|(rank, list)| neighbour(rank, list)));
    for (rank, numbers) in comm.send_all(messages)? {
        let first = (owned + sources.len()) as u32;
        for ghost in numbers.as_chunks::<6>().0 {
            let ghost = ghost.map(f64::from_bits);
            sources.push((owned + sources.len()) as u32);
            shifts.extend(&ghost[3..]);
            places.extend((0..3).map(|d| ghost[d] + ghost[3 + d]));
        }
        let receive = first..(owned + sources.len()) as u32;
        match neighbours.iter_mut().find(|of| of.rank == rank) {
            Some(of) => of.receive = receive,
            None => neighbours.push(Neighbour { rank, send: vec![], receive }),
        }
    }
    neighbours.sort_by_key(|of| of.rank);
    // Ranks that send nothing have an empty range where the next one begins.
    let mut next = held as u32;
    for of in &mut neighbours {
        of.receive = next..next + of.receive.len() as u32;
        next = of.receive.end;
    }
    let mut total = [(owned + sources.len()) as u64];
    comm.all_sum_u64(&mut total);
    let map = Map::new(total[0], held, neighbours).and_then(|map| map.expand(3)).map_err(alone(comm))?;
    Ok(Seen { sources, shifts, x: places, map })
}
