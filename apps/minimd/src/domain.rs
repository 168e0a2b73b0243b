//! The periodic box, its parts on the ranks, and the images of a part that neighbours see.

use minifenl::{Error, Result};

/// A rank that sees the atoms of a part where `shift` moves them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Image {
    /// The rank that sees them.
    pub rank: usize,
    /// By how much: a multiple of the edges of the box.
    pub shift: [f64; 3],
}

/// A rank's part of the periodic box `[0, edges)`.
#[derive(Clone, Debug)]
pub struct Domain {
    /// Edges of the box.
    pub edges: [f64; 3],
    /// Parts along each axis.
    pub grid: [usize; 3],
    /// Lowest corner of this part.
    pub low: [f64; 3],
    /// Highest corner.
    pub high: [f64; 3],
    /// Atoms up to this distance from a part are its ghosts.
    pub reach: f64,
    /// Who sees atoms of this part, itself included.
    pub images: Vec<Image>,
}

/// Parts along each axis with the least surface; of equal ones those cut along later axes.
fn grid(edges: [f64; 3], ranks: usize) -> [usize; 3] {
    let divisors = |n: usize| (1..=n).filter(move |d| n.is_multiple_of(*d));
    let grids = divisors(ranks).flat_map(|x| divisors(ranks / x).map(move |y| [x, y, ranks / x / y]));
    let surface = |grid: &[usize; 3]| {
        let [x, y, z] = std::array::from_fn(|axis| edges[axis] / grid[axis] as f64);
        x * y + y * z + z * x
    };
    grids.min_by(|a, b| surface(a).total_cmp(&surface(b))).unwrap_or([1; 3])
}

impl Domain {
    /// The part of a rank.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a box with an edge below `reach`.
    pub fn new(edges: [f64; 3], reach: f64, rank: usize, ranks: usize) -> Result<Self> {
        if let Some(short) = edges.into_iter().find(|edge| *edge < reach) {
            return Err(Error::Invalid(format!(
                "the box is {short:.3} long: expected at least cutoff plus skin, {reach}, in each direction (--cells)"
            )));
        }
        let grid = grid(edges, ranks);
        let corners = |rank: usize| {
            let place = [rank % grid[0], rank / grid[0] % grid[1], rank / grid[0] / grid[1]];
            let corner = |step: usize| std::array::from_fn(|d| (place[d] + step) as f64 * edges[d] / grid[d] as f64);
            [corner(0), corner(1)]
        };
        let [low, high] = corners(rank);
        let mut images = Vec::new();
        for other in 0..ranks {
            let [other_low, other_high]: [[f64; 3]; 2] = corners(other);
            for code in 0..27 {
                let shift: [f64; 3] =
                    std::array::from_fn(|d| ((code / 3usize.pow(d as u32) % 3) as f64 - 1.0) * edges[d]);
                let meets =
                    |d: usize| low[d] + shift[d] < other_high[d] + reach && high[d] + shift[d] > other_low[d] - reach;
                if (other != rank || shift != [0.0; 3]) && (0..3).all(meets) {
                    images.push(Image { rank: other, shift });
                }
            }
        }
        Ok(Domain { edges, grid, low, high, reach, images })
    }

    /// Moves a point into the box by at most one edge; `None` if it is farther away, or no point.
    pub fn wrapped(&self, x: [f64; 3]) -> Option<[f64; 3]> {
        let inside: [f64; 3] = std::array::from_fn(|d| {
            let lifted = if x[d] < 0.0 { x[d] + self.edges[d] } else { x[d] };
            if lifted >= self.edges[d] { lifted - self.edges[d] } else { lifted }
        });
        (0..3).all(|d| (0.0..self.edges[d]).contains(&inside[d])).then_some(inside)
    }

    /// The rank that owns a point of the box.
    pub fn owner(&self, x: [f64; 3]) -> usize {
        let place: [usize; 3] =
            std::array::from_fn(|d| ((x[d] / self.edges[d] * self.grid[d] as f64) as usize).min(self.grid[d] - 1));
        place[0] + self.grid[0] * (place[1] + self.grid[1] * place[2])
    }

    /// Whether an atom of this part is farther than the reach from all its sides, so that nobody sees it.
    pub fn is_deep(&self, x: [f64; 3]) -> bool {
        (0..3).all(|d| x[d] >= self.low[d] + self.reach && x[d] < self.high[d] - self.reach)
    }

    /// Whether the rank of an image sees an atom, which is in its reach after the shift.
    pub fn sees(&self, image: &Image, x: [f64; 3]) -> bool {
        let rank = image.rank;
        let place = [rank % self.grid[0], rank / self.grid[0] % self.grid[1], rank / self.grid[0] / self.grid[1]];
        (0..3).all(|d| {
            let part = self.edges[d] / self.grid[d] as f64;
            let (there, low) = (x[d] + image.shift[d], place[d] as f64 * part);
            there >= low - self.reach && there <= low + part + self.reach
        })
    }
}
