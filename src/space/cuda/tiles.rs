//! Teams with scratch on a GPU; launches `kernels/loops.cu`, compiled for the functions. A block is a team.

use super::loops::check_value;
use super::loops::text::{Statement, slice_groups, slice_parameters, slices};
use super::partials::MOST_BYTES;
use super::{Argument, Cuda, CudaArray, Grid};
use crate::space::{DeviceText, TileFn, Tiles};
use crate::{Error, Result};

/// Most threads of a block.
const MOST_LANES: usize = 1024;
/// Most numbers in the static shared memory of a block: 48 KiB.
const MOST_SCRATCH: usize = 6144;

/// Refuses more lanes or scratch than a block has.
fn check_team(lanes: usize, scratch: usize) -> Result<()> {
    if (1..=MOST_LANES).contains(&lanes) && (1..=MOST_SCRATCH).contains(&scratch) {
        return Ok(());
    }
    Err(Error::Invalid(format!(
        "for_tiles: {lanes} lanes, {scratch} numbers of scratch: a GPU expects 1 to {MOST_LANES} and 1 to {MOST_SCRATCH}"
    )))
}

impl<F: DeviceText> Tiles<F> for Cuda {
    fn for_tiles<const NUMBERS: usize, const INDICES: usize, const CELLS: usize>(
        &self,
        n: usize,
        f: &F,
        numbers: [&CudaArray<f64>; NUMBERS],
        indices: [&CudaArray<u32>; INDICES],
        cells: [&mut CudaArray<f64>; CELLS],
    ) -> Result<()>
    where
        F: TileFn<NUMBERS, INDICES, CELLS>,
    {
        let f = Statement::of(f, "for_tiles", n, [NUMBERS, INDICES, CELLS])?;
        check_team(F::LANES, F::SCRATCH)?;
        check_value::<F::Value>("for_tiles", MOST_BYTES)?;
        let kinds =
            [("const double", "number", NUMBERS), ("const unsigned", "index", INDICES), ("double", "cell", CELLS)];
        let front = || {
            let [numbers, indices, cells] = slice_groups(kinds);
            let team = [("TILE_LANES", F::LANES.to_string()), ("TILE_ITEMS", F::SCRATCH.to_string())];
            let arrays = [("ARRAYS", slice_parameters(kinds)), ("READ", numbers), ("OF", indices), ("CELLS", cells)];
            f.front(&[&team[..], &arrays].concat())
        };
        let slices = slices("for_tiles", &numbers, &indices, &cells)?;
        let mut arguments: Vec<Argument> = vec![f.argument()];
        arguments.extend(slices.iter().map(Argument::of_struct));
        self.launch_used(&f.uses, front, "for_tiles", Grid::new(n, F::LANES as u32), &arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_block_has_is_refused() {
        assert_eq!(check_team(1, 1).and(check_team(MOST_LANES, MOST_SCRATCH)), Ok(()));
        for (lanes, scratch) in [(0, 1), (1, 0), (1025, 1), (1, 6145)] {
            let refused = check_team(lanes, scratch).unwrap_err().to_string();
            let expected = format!(
                "for_tiles: {lanes} lanes, {scratch} numbers of scratch: a GPU expects 1 to 1024 and 1 to 6144"
            );
            assert!(refused.ends_with(&expected), "{refused}");
        }
    }
}
