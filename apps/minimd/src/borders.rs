//! Ghosts of a rank: images of its own atoms, and atoms of other ranks.
//!
//! Atoms are searched in the memory of the space. Ranks tell each other how the atoms that cross are shifted; their positions follow by the halo.

use crate::alone::alone;
use crate::domain::Domain;
use crate::functions::{CountGhosts, Ghosts, ListGhosts, Sum};
use crate::space::Space;
use minifenl::Result;
use minifenl::comm::{Communicator, Halo, Map, Message, Neighbour};
use minifenl::space::{Array, MemorySpace, Slice};

/// Images of a part, as the functions read them.
#[derive(Debug)]
struct Images<S: Space> {
    count: usize,
    rows: Array<S, f64>,
}

/// What a rank needs to find ghosts.
#[derive(Debug)]
pub struct Borders<S: Space> {
    /// Images that this rank sees itself; their ghosts are labelled by the shift.
    own: Images<S>,
    /// Images that other ranks see; their ghosts are labelled by the image.
    others: Images<S>,
    /// Rank and shift of each of these.
    rank_and_shift: Vec<(usize, u32)>,
    /// Shifts, [label, axis].
    shifts: Array<S, f64>,
}

/// Some ghosts, one behind the other.
#[derive(Debug)]
struct Group<S: Space> {
    /// Local index of the first one.
    first: usize,
    count: usize,
    /// Local index of each one's source; its own for a ghost of another rank.
    sources: Array<S, u32>,
    /// Shift of each one.
    labels: Array<S, u32>,
}

/// The atoms that a rank sees beside its own: images of its own atoms, then ghosts of other ranks.
#[derive(Debug)]
pub struct Seen<S: Space> {
    /// Number of ghosts.
    pub count: usize,
    groups: Vec<Group<S>>,
    /// Exchange of the coordinates, on several ranks: own atoms and their images are owned, the others ghosts.
    halo: Option<Halo<S>>,
}

impl<S: Space> Borders<S> {
    /// Takes the images of a part into the memory of a space.
    ///
    /// # Errors
    /// Those of the space.
    pub fn new(space: &S, domain: &Domain, rank: usize) -> Result<Self> {
        let (own, others): (Vec<_>, Vec<_>) = domain.images.iter().partition(|image| image.rank == rank);
        let images = |rows: Vec<[f64; 10]>| -> Result<Images<S>> {
            Ok(Images { count: rows.len(), rows: space.upload(rows.as_flattened())? })
        };
        Ok(Borders {
            own: images(own.iter().map(|image| domain.row(image, image.code)).collect())?,
            others: images(others.iter().enumerate().map(|(k, image)| domain.row(image, k)).collect())?,
            rank_and_shift: others.iter().map(|image| (image.rank, image.code as u32)).collect(),
            shifts: space.upload(domain.shifts().as_flattened())?,
        })
    }

    /// Finds the ghosts of the `owned` atoms at `x`, which are in the box.
    ///
    /// # Errors
    /// Those of [`Communicator::send_all`]; those of the space, of [`Map::new`] and of [`Halo::new`] as [`Error::Alone`](minifenl::Error::Alone).
    pub fn find(
        &self,
        space: &S,
        comm: &dyn Communicator,
        domain: &Domain,
        x: &Slice<S, f64>,
        owned: usize,
    ) -> Result<Seen<S>> {
        let [low, high] = domain.deep();
        let list = |images: &Images<S>, first: usize| list_ghosts(space, images, [low, high], x, [owned, first]);
        let own = list(&self.own, owned).map_err(alone(comm))?;
        if comm.size() == 1 {
            return Ok(Seen { count: own.count, groups: vec![own], halo: None });
        }
        let others = list(&self.others, 0).map_err(alone(comm))?;
        let [sources, images] = [&others.sources, &others.labels].map(|array| space.download(array));
        let (sources, images) = (sources.map_err(alone(comm))?, images.map_err(alone(comm))?);
        let (mut messages, mut send): (Vec<Message>, Vec<Vec<u32>>) = (Vec::new(), Vec::new());
        for (source, image) in sources.into_iter().zip(images) {
            let (rank, code) = self.rank_and_shift[image as usize];
            let found = messages.iter().position(|(to, _)| *to == rank).unwrap_or_else(|| {
                messages.push((rank, Vec::new()));
                send.push(Vec::new());
                messages.len() - 1
            });
            messages[found].1.push(code.into());
            send[found].push(source);
        }
        let neighbour = |rank, send| Neighbour { rank, send, receive: 0..0 };
        let mut neighbours: Vec<Neighbour> =
            messages.iter().zip(send).map(|(message, send)| neighbour(message.0, send)).collect();
        let held = owned + own.count;
        let (mut labels, mut next) = (Vec::new(), held as u32);
        for (rank, codes) in comm.send_all(messages)? {
            let receive = next..next + codes.len() as u32;
            next = receive.end;
            labels.extend(codes.into_iter().map(|code| code as u32));
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
        let mut total = [u64::from(next)];
        comm.all_sum_u64(&mut total);
        let finish = || {
            let sources: Vec<u32> = (held as u32..next).collect();
            let (sources, count) = (space.upload(&sources)?, labels.len());
            let of_others = Group { first: held, count, sources, labels: space.upload(&labels)? };
            let halo = Halo::new(space, comm, &Map::new(total[0], held, neighbours)?.expand(3)?)?;
            Ok(Seen { count: own.count + count, groups: vec![own, of_others], halo: Some(halo) })
        };
        finish().map_err(alone(comm))
    }

    /// Moves the ghosts with the atoms that they are images of.
    ///
    /// # Errors
    /// Those of the ranks and of the space.
    pub fn follow(&self, space: &S, seen: &mut Seen<S>, x: &mut Slice<S, f64>) -> Result<()> {
        if let Some(halo) = &mut seen.halo {
            halo.update(space, x)?;
        }
        for Group { first, count, sources, labels } in &seen.groups {
            let read = [sources, labels].map(S::Memory::slice);
            let ghosts = Ghosts { first: *first as f64 };
            space.for_indices(*count, &ghosts, [S::Memory::slice(&self.shifts)], read, [&mut *x])?;
        }
        Ok(())
    }
}

/// Lists the ghosts of some images; those of one atom follow each other.
fn list_ghosts<S: Space>(
    space: &S,
    images: &Images<S>,
    [low, high]: [[f64; 3]; 2],
    x: &Slice<S, f64>,
    [owned, first]: [usize; 2],
) -> Result<Group<S>> {
    let (mut counts, mut ends) = (space.to_be_written(owned)?, space.to_be_written(owned)?);
    let (read, number) = ([x, S::Memory::slice(&images.rows)], images.count as f64);
    let of = CountGhosts { low, high, images: number };
    space.for_indices(owned, &of, read, [], [S::Memory::slice_mut(&mut counts)])?;
    space.scan_items(owned, &Sum {}, [S::Memory::slice(&counts)], S::Memory::slice_mut(&mut ends))?;
    let count = space.reduce_items(owned, &Sum {}, [S::Memory::slice(&counts)])? as usize;
    let (mut sources, mut labels) = (space.to_be_written(count)?, space.to_be_written(count)?);
    let written = [&mut sources, &mut labels].map(S::Memory::slice_mut);
    let listed = [&counts, &ends].map(S::Memory::slice);
    space.for_indices(owned, &ListGhosts { images: number }, read, listed, written)?;
    Ok(Group { first, count, sources, labels })
}
