//! One rank: every collective is the identity.

use super::{Communicator, Exchange, Map};
use crate::{Error, Result};

/// The communicator of a run of one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Solo;

impl Communicator for Solo {
    fn rank(&self) -> usize {
        0
    }
    fn size(&self) -> usize {
        1
    }
    fn rank_on_node(&self) -> usize {
        0
    }
    fn ranks_on_node(&self) -> usize {
        1
    }
    fn all_sum(&self, _: &mut [f64]) {}
    fn all_max(&self, _: &mut [f64]) {}
    fn all_sum_u64(&self, _: &mut [u64]) {}
    fn node_sum(&self, value: u64) -> u64 {
        value
    }
    fn all_gather(&self, mine: &[f64]) -> Result<Vec<f64>> {
        Ok(mine.to_vec())
    }
    fn barrier(&self) {}

    fn exchange(&self, map: &Map) -> Result<Box<dyn Exchange>> {
        match map.neighbours().first() {
            None => Ok(Box::new(Nothing)),
            Some(neighbour) => Err(Error::Mpi(format!("the map has neighbour {}, the run has 1 rank", neighbour.rank))),
        }
    }

    fn abort(&self, code: i32) -> ! {
        std::process::exit(code)
    }
}

/// The exchange of a rank without neighbours.
#[derive(Debug)]
struct Nothing;

impl Exchange for Nothing {
    fn begin(&mut self, pack: &mut dyn FnMut(&mut [f64]) -> Result<()>) -> Result<()> {
        pack(&mut [])
    }
    fn end(&mut self) -> Result<&[f64]> {
        Ok(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::{Halo, Neighbour, agree};
    use crate::space::Serial;

    #[test]
    fn collectives_change_nothing() {
        let mut values = [1.5, -2.0];
        Solo.all_sum(&mut values);
        Solo.all_max(&mut values);
        assert_eq!(values, [1.5, -2.0]);
        assert_eq!(Solo.all_gather(&values).unwrap(), values);
        assert_eq!(agree(&Solo, Ok(7)).unwrap(), 7);
        let error = agree::<()>(&Solo, Err(Error::Invalid("mine".into()))).unwrap_err();
        assert_eq!(error.to_string(), "mine");
    }

    #[test]
    fn a_halo_without_ghosts_leaves_the_vector_alone() {
        let mut halo = Halo::new(&Serial, &Solo, &Map::new(3, 3, vec![]).unwrap()).unwrap();
        let mut x = vec![1.0, 2.0, 3.0];
        halo.update(&Serial, &mut x).unwrap();
        assert_eq!(x, [1.0, 2.0, 3.0]);
        assert_eq!((halo.messages(), halo.bytes_sent()), (0, 0));
    }

    #[test]
    fn a_neighbour_is_refused() {
        let map = Map::new(4, 3, vec![Neighbour { rank: 1, send: vec![0], receive: 3..4 }]).unwrap();
        assert!(Solo.exchange(&map).unwrap_err().to_string().contains("neighbour 1"));
    }
}
