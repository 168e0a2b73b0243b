//! Forces and energies by the lists, in the way that suits the space.
//!
//! | lists | space | additions |
//! |---|---|---|
//! | full | any | none |
//! | half | one thread | plain |
//! | half, atoms sorted | threads | plain: bodies of slabs, then their seams, which share no neighbour |
//! | half | threads with too few slabs, or atoms not sorted; a GPU | atomic |

use crate::functions::{Both, Energy, Full, Half, HalfSlabs, Sums};
use crate::neighbours::Neighbours;
use crate::space::Space;
use minifenl::Result;
use minifenl::space::{Array, MemorySpace, Slice};

/// Slabs of owned atoms that threads take; one of them, or bodies (colour 0) and seams (colour 1).
#[derive(Debug)]
pub struct Slabs<S: Space> {
    colours: usize,
    of_colour: usize,
    bounds: Array<S, u32>,
}

impl<S: Space> Slabs<S> {
    /// Slabs with these bounds.
    ///
    /// # Errors
    /// Those of the space, here and below.
    pub fn new(space: &S, bounds: &[u32]) -> Result<Self> {
        let colours = (bounds.len() - 1).min(2);
        Ok(Slabs { colours, of_colour: (bounds.len() - 1) / colours, bounds: space.upload(bounds)? })
    }
}

/// Atoms at their positions, owned ones first, and their lists.
#[derive(Debug)]
pub struct Pairs<'a, S: Space> {
    /// Positions, [atom, axis].
    pub x: &'a Slice<S, f64>,
    /// Neighbours of the owned atoms.
    pub lists: &'a Neighbours<S>,
    /// Owned atoms.
    pub owned: usize,
    /// Forces reach to this distance.
    pub cutoff: f64,
}

impl<S: Space> Pairs<'_, S> {
    /// Writes the forces on the owned atoms.
    pub fn forces(&self, space: &S, slabs: Option<&Slabs<S>>, f: &mut Slice<S, f64>) -> Result<()> {
        let Pairs { x, lists, owned, cutoff } = *self;
        let ([counts, list], [atom_step, neighbour_step]) = (lists.arrays(), lists.steps);
        if !lists.is_half {
            let full = Full { cutoff, atom_step, neighbour_step };
            return space.for_indices(owned, &full, [x], [counts, list], [f]);
        }
        space.fill(S::Memory::len(&*f), 0.0, f)?;
        let Some(Slabs { colours, of_colour, bounds }) = slabs else {
            let half = Half { cutoff, atom_step, neighbour_step };
            return space.for_indices(owned, &half, [x], [counts, list], [f]);
        };
        for colour in 0..*colours {
            let half = HalfSlabs { cutoff, atom_step, neighbour_step, colour: colour as f64 };
            space.for_indices(*of_colour, &half, [x], [counts, list, S::Memory::slice(bounds)], [&mut *f])?;
        }
        Ok(())
    }

    /// Potential energy and virial of the owned atoms; a pair with a ghost counts half.
    pub fn energy(&self, space: &S) -> Result<Both> {
        let Pairs { x, lists, owned, cutoff } = *self;
        let [atom_step, neighbour_step] = lists.steps;
        let whole = if lists.is_half { owned as f64 } else { 0.0 };
        let (mut energies, mut virials) = (space.to_be_written(owned)?, space.to_be_written(owned)?);
        let sums = [&mut energies, &mut virials].map(S::Memory::slice_mut);
        let energy = Energy { cutoff, atom_step, neighbour_step, whole };
        space.for_indices(owned, &energy, [x], lists.arrays(), sums)?;
        space.reduce_items(owned, &Sums {}, [&energies, &virials].map(S::Memory::slice))
    }
}
