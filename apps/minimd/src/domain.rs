//! The periodic box, its parts on the ranks, and the images of a part that neighbours see.

use crate::functions::{part, wrapped};
use minifenl::{Error, Result};

/// A rank that sees the atoms of a part where `shift` moves them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Image {
    /// The rank that sees them.
    pub rank: usize,
    /// Which of the 27 shifts by edges of the box: -1, 0 or 1 along each axis are the digits 0, 1, 2, the first axis lowest.
    pub code: usize,
}

/// A rank's part of the periodic box `[0, edges)`.
#[derive(Clone, Debug)]
pub struct Domain {
    /// Edges of the box.
    pub edges: [f64; 3],
    /// Parts along each axis.
    pub grid: [usize; 3],
    /// The place of this part among them.
    pub place: [usize; 3],
    /// Lowest corner of this part.
    pub low: [f64; 3],
    /// Highest corner.
    pub high: [f64; 3],
    /// Atoms up to this distance from a part are its ghosts.
    pub reach: f64,
    /// Who sees atoms of this part, itself included.
    pub images: Vec<Image>,
}

/// The 27 shifts, [code, axis].
fn shifts(edges: [f64; 3]) -> [[f64; 3]; 27] {
    std::array::from_fn(|code| std::array::from_fn(|d| ((code / 3usize.pow(d as u32) % 3) as f64 - 1.0) * edges[d]))
}

/// The place of a rank's part.
fn place(grid: [usize; 3], rank: usize) -> [usize; 3] {
    [rank % grid[0], rank / grid[0] % grid[1], rank / grid[0] / grid[1]]
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
            let place = place(grid, rank);
            let corner = |step: usize| std::array::from_fn(|d| (place[d] + step) as f64 * edges[d] / grid[d] as f64);
            [corner(0), corner(1)]
        };
        let [low, high] = corners(rank);
        let mut images = Vec::new();
        for other in 0..ranks {
            let [other_low, other_high]: [[f64; 3]; 2] = corners(other);
            for (code, shift) in shifts(edges).into_iter().enumerate() {
                let meets =
                    |d: usize| low[d] + shift[d] < other_high[d] + reach && high[d] + shift[d] > other_low[d] - reach;
                if (other != rank || shift != [0.0; 3]) && (0..3).all(meets) {
                    images.push(Image { rank: other, code });
                }
            }
        }
        Ok(Domain { edges, grid, place: place(grid, rank), low, high, reach, images })
    }

    /// Moves a point into the box by at most one edge; `None` if it is farther away, or no point.
    pub fn wrapped(&self, x: [f64; 3]) -> Option<[f64; 3]> {
        let inside: [f64; 3] = std::array::from_fn(|d| wrapped(x[d], self.edges[d]));
        (0..3).all(|d| (0.0..self.edges[d]).contains(&inside[d])).then_some(inside)
    }

    /// The rank that owns a point of the box.
    pub fn owner(&self, x: [f64; 3]) -> usize {
        let place: [usize; 3] = std::array::from_fn(|d| part(x[d], self.edges[d], self.grid[d] as f64));
        place[0] + self.grid[0] * (place[1] + self.grid[1] * place[2])
    }

    /// The corners between which nobody sees an atom of this part: farther than the reach from all sides; the second one is outside.
    pub fn deep(&self) -> [[f64; 3]; 2] {
        [self.low.map(|low| low + self.reach), self.high.map(|high| high - self.reach)]
    }

    /// The shifts of images, [code, axis].
    pub fn shifts(&self) -> [[f64; 3]; 27] {
        shifts(self.edges)
    }

    /// An image as the functions read it: its shift, the corners between which its rank sees shifted atoms, a label.
    pub fn row(&self, image: &Image, label: usize) -> [f64; 10] {
        let (shift, place) = (self.shifts()[image.code], place(self.grid, image.rank));
        let part = |d: usize| self.edges[d] / self.grid[d] as f64;
        let low = |d: usize| place[d] as f64 * part(d);
        std::array::from_fn(|k| match (k / 3, k % 3) {
            (0, d) => shift[d],
            (1, d) => low(d) - self.reach,
            (2, d) => low(d) + part(d) + self.reach,
            _ => label as f64,
        })
    }
}
