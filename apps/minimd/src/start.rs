//! The first positions and velocities: a face-centred cubic lattice, and random velocities of a given temperature.
//!
//! ```text
//! sites (i, j, k) of half a cell's edge with i + j + k even;  edge^3 = 4 / density
//! site n = (k 2 ny + j) 2 nx + i + 1 seeds the generator  s <- 16807 s mod (2^31 - 1),  u = s / (2^31 - 1)
//! v = the 6th, 12th and 18th u;  less the mean over all atoms, times the factor that gives the temperature
//! ```
//! Each atom has its own seed, so that positions and velocities do not depend on the number of ranks.

use crate::domain::Domain;
use minifenl::comm::Communicator;

/// Largest number of the generator of Park and Miller (1988), and its factor.
const MODULUS: u64 = 2_147_483_647;
const FACTOR: u64 = 16_807;

/// Edge of a cell of the lattice.
pub fn lattice(density: f64) -> f64 {
    (4.0 / density).powf(1.0 / 3.0)
}

/// The generator's velocity of a site.
fn velocity(site: u64) -> [f64; 3] {
    let mut seed = site % MODULUS;
    std::array::from_fn(|_| {
        (0..6).for_each(|_| seed = FACTOR * seed % MODULUS);
        1.0 / MODULUS as f64 * seed as f64
    })
}

/// Positions and velocities of this rank's atoms, [atom, axis]; `cells` along each axis.
pub fn atoms(
    comm: &dyn Communicator,
    domain: &Domain,
    cells: [usize; 3],
    density: f64,
    temperature: f64,
) -> [Vec<f64>; 2] {
    let half = 0.5 * lattice(density);
    // Sites around this part.
    let range = |d: usize| {
        let first = ((domain.low[d] / half) as usize).saturating_sub(1);
        first..(2 * cells[d]).min((domain.high[d] / half) as usize + 2)
    };
    let (mut x, mut v) = (Vec::new(), Vec::new());
    let sites = range(2).flat_map(|k| range(1).map(move |j| (k, j)));
    for [i, j, k] in
        sites.flat_map(|(k, j)| range(0).map(move |i| [i, j, k])).filter(|at| at.iter().sum::<usize>() % 2 == 0)
    {
        let place = [i, j, k].map(|i| half * i as f64);
        if domain.wrapped(place) == Some(place) && domain.owner(place) == comm.rank() {
            x.extend(place);
            v.extend(velocity(((k * 2 * cells[1] + j) * 2 * cells[0] + i + 1) as u64));
        }
    }
    scale(comm, &mut v, temperature);
    [x, v]
}

/// Removes the mean velocity of all ranks and gives a temperature.
fn scale(comm: &dyn Communicator, v: &mut [f64], temperature: f64) {
    let mut sums = [0.0, 0.0, 0.0, v.len() as f64 / 3.0];
    v.as_chunks::<3>().0.iter().for_each(|v| (0..3).for_each(|d| sums[d] += v[d]));
    comm.all_sum(&mut sums);
    let atoms = sums[3];
    v.as_chunks_mut::<3>().0.iter_mut().for_each(|v| (0..3).for_each(|d| v[d] -= sums[d] / atoms));
    let mut squares = [v.iter().map(|v| v * v).sum::<f64>()];
    comm.all_sum(&mut squares);
    let factor = (temperature * (3.0 * atoms - 3.0) / squares[0]).sqrt();
    v.iter_mut().for_each(|v| *v *= factor);
}
