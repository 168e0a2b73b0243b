//! Loops in loops on a GPU; launches `kernels/loops.cu`, compiled for the functions and the threads of a team.

use super::loops::text::{Statement, slice_groups, slice_parameters, slices};
use super::loops::{THREADS, check_value};
use super::partials::MOST_BYTES;
use super::{Argument, Cuda, CudaArray, Grid};
use crate::Result;
use crate::space::{DeviceText, Team, TeamFn, Teams};

impl<F: DeviceText> Teams<F> for Cuda {
    fn for_teams<const NUMBERS: usize, const INDICES: usize, const CELLS: usize>(
        &self,
        n: usize,
        team: Team,
        f: &F,
        numbers: [&CudaArray<f64>; NUMBERS],
        indices: [&CudaArray<u32>; INDICES],
        cells: [&mut CudaArray<f64>; CELLS],
    ) -> Result<()>
    where
        F: TeamFn<NUMBERS, INDICES, CELLS>,
    {
        // The operation is part of what identifies a compiled loop.
        let (threads, operation) = match team {
            Team::Four => (4, "for_teams of 4"),
            Team::Eight => (8, "for_teams of 8"),
            Team::Sixteen => (16, "for_teams of 16"),
            Team::Warp => (32, "for_teams of 32"),
        };
        let f = Statement::of(f, operation, n, [NUMBERS, INDICES, CELLS])?;
        check_value::<F::Value>("for_teams", MOST_BYTES)?;
        let kinds =
            [("const double", "number", NUMBERS), ("const unsigned", "index", INDICES), ("double", "cell", CELLS)];
        let front = || {
            let [numbers, indices, cells] = slice_groups(kinds);
            let team = [("ARRAYS", slice_parameters(kinds)), ("TEAM", threads.to_string())];
            f.front(&[&team[..], &[("READ", numbers), ("OF", indices), ("CELLS", cells)]].concat())
        };
        let slices = slices("for_teams", &numbers, &indices, &cells)?;
        let mut arguments: Vec<Argument> = vec![(n as u64).into(), f.argument()];
        arguments.extend(slices.iter().map(Argument::of_struct));
        self.launch_used(&f.uses, front, "for_teams", Grid::cover(n * threads, THREADS), &arguments)
    }
}
