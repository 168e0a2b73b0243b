//! Loops with functions of a user on a GPU; launches `kernels/loops.cu`, compiled for the functions.

mod text;

use super::kernels::Use;
use super::partials::{MOST_BYTES, most_blocks};
use super::{Argument, Cuda, CudaArray, Grid, KernelFile, kernel_file, launch};
use crate::error::check_at_least;
use crate::space::atomic::{Atomic, Shared};
use crate::space::{DeviceText, ExecutionSpace, IndexFn, Item, ItemFn, Loops, Reduction, Team, TeamFn, TileFn};
use crate::{Error, Result};
use text::{Indexed, Statement, braces, inputs, list, parameters, read};

static LOOPS: KernelFile = kernel_file!("loops", "device.cuh", "cells.cuh");

const THREADS: u32 = 256;

/// Values per block of a reduction or scan, as in the kernels.
fn tile<V>() -> usize {
    THREADS as usize * (64 / size_of::<V>().max(1)).max(1)
}

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

/// Checks of a reduction or scan, whose values have `most` bytes at most.
fn checked_reduction<F: Reduction<IN> + DeviceText, const IN: usize>(
    operation: &'static str,
    n: usize,
    f: &F,
    inputs: [&CudaArray<F::Item>; IN],
    most: usize,
) -> Result<Statement> {
    let of = Statement::of(f, operation, n, [IN, 0, 0])?;
    inputs.iter().try_for_each(|x| check_at_least(operation, "inputs", x.len(), n))?;
    check_value::<F::Value>(operation, most)?;
    Ok(of)
}

/// The text in front of a reduction or scan.
fn reduction_front(of: &Statement, inputs: usize, commutes: Option<bool>) -> String {
    let commutes = commutes.map(|commutes| ("COMMUTES", u8::from(commutes).to_string()));
    let defines: Vec<_> =
        [("ARRAYS", self::inputs(inputs)), ("READ", read(inputs))].into_iter().chain(commutes).collect();
    of.front(&defines)
}

impl<F: DeviceText> Loops<F> for Cuda {
    fn for_items<const IN: usize, const OUT: usize>(
        &self,
        n: usize,
        f: &F,
        inputs: [&CudaArray<F::Item>; IN],
        outputs: [&mut CudaArray<F::Item>; OUT],
    ) -> Result<()>
    where
        F: ItemFn<IN, OUT>,
    {
        let f = Statement::of(f, "for_items", n, [IN, OUT, 0])?;
        inputs.iter().try_for_each(|x| check_at_least("for_items", "inputs", x.len(), n))?;
        outputs.iter().try_for_each(|x| check_at_least("for_items", "outputs", x.len(), n))?;
        let own = braces("Item", OUT, &list(OUT, |k| format!("out{k}[i]")));
        let front = || {
            let arrays = self::inputs(IN) + &parameters(OUT, |k| format!("Item* __restrict__ out{k}"));
            let write = (0..OUT).map(|k| format!("out{k}[i] = y[{k}]; ")).collect();
            f.front(&[("ARRAYS", arrays), ("READ", read(IN)), ("OWN", own.clone()), ("WRITE", write)])
        };
        let mut arguments: Vec<Argument> = vec![(n as u64).into(), f.argument()];
        arguments.extend(inputs.map(Argument::from));
        arguments.extend(outputs.map(Argument::from));
        self.launch_used(&f.uses, front, "for_items", Grid::cover(n, THREADS), &arguments)
    }

    fn for_indices<const NUMBERS: usize, const INDICES: usize, const CELLS: usize, T: Atomic<Cell: Shared>>(
        &self,
        n: usize,
        f: &F,
        numbers: [&CudaArray<f64>; NUMBERS],
        indices: [&CudaArray<u32>; INDICES],
        cells: [&mut CudaArray<T>; CELLS],
    ) -> Result<()>
    where
        F: IndexFn<NUMBERS, INDICES, CELLS, T>,
    {
        let f = Statement::of(f, T::Cell::LOOP, n, [NUMBERS, INDICES, CELLS])?;
        let arrays = Indexed::new(T::Cell::LOOP, T::Cell::CUDA, &numbers, &indices, &cells)?;
        let defines = |groups: [String; 3]| vec![("CALL", groups.join(", "))];
        self.launch_indexed(&f, "for_indices", Grid::cover(n, THREADS), &[(n as u64).into()], &arrays, defines)
    }

    fn reduce_items<const IN: usize>(&self, n: usize, f: &F, inputs: [&CudaArray<F::Item>; IN]) -> Result<F::Value>
    where
        F: Reduction<IN>,
    {
        let (mut joined, mut result) = (self.unfilled(1)?, [f.identity()]);
        self.reduce_into(n, f, inputs, &mut joined)?;
        self.read(&joined, &mut result)?;
        Ok(result[0])
    }

    fn reduce_into<const IN: usize>(
        &self,
        n: usize,
        f: &F,
        inputs: [&CudaArray<F::Item>; IN],
        out: &mut CudaArray<F::Value>,
    ) -> Result<()>
    where
        F: Reduction<IN>,
    {
        let f = checked_reduction("reduce_items", n, f, inputs, MOST_BYTES)?;
        check_at_least("reduce_into", "out", out.len(), 1)?;
        let front = || reduction_front(&f, IN, Some(F::COMMUTES));
        // Without items one block stores the identity.
        let mut count = n.div_ceil(tile::<F::Value>()).max(1);
        let first = |to: &mut CudaArray<F::Value>, between: &[Argument]| -> Vec<Argument> {
            let leading: [Argument; 2] = [(n as u64).into(), f.argument()];
            leading.iter().chain(between).copied().chain([to.into()]).chain(inputs.map(Argument::from)).collect()
        };
        if F::COMMUTES {
            let grid = Grid::new(count.min(most_blocks(self.device())), THREADS);
            return self.launch_used(&f.uses, front, "reduce_items", grid, &first(out, &[self.ticket().into()]));
        }
        if count == 1 {
            return self.launch_used(&f.uses, front, "reduce_items", Grid::new(1, THREADS), &first(out, &[]));
        }
        let mut partials = self.unfilled::<F::Value>(count)?;
        self.launch_used(&f.uses, front, "reduce_items", Grid::new(count, THREADS), &first(&mut partials, &[]))?;
        loop {
            let blocks = count.div_ceil(tile::<F::Value>());
            let level = |to: &mut CudaArray<F::Value>| {
                let arguments = [(count as u64).into(), f.argument(), (&partials).into(), to.into()];
                self.launch_used(&f.uses, front, "reduce_values", Grid::new(blocks, THREADS), &arguments)
            };
            if blocks == 1 {
                return level(out);
            }
            let mut joined = self.unfilled(blocks)?;
            level(&mut joined)?;
            (count, partials) = (blocks, joined);
        }
    }

    fn scan_items<const IN: usize>(
        &self,
        n: usize,
        f: &F,
        inputs: [&CudaArray<F::Item>; IN],
        out: &mut CudaArray<F::Value>,
    ) -> Result<()>
    where
        F: Reduction<IN>,
    {
        let f = checked_reduction("scan_items", n, f, inputs, 32)?;
        check_at_least("scan_items", "out", out.len(), n)?;
        let front = reduction_front(&f, IN, None);
        let inputs = inputs.map(Argument::from);
        self.scan_level(n, &f, &front, "scan_items", &inputs, out)
    }

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
        let (threads, operation) = match team {
            Team::Four => (4, "for_teams of 4"),
            Team::Eight => (8, "for_teams of 8"),
            Team::Sixteen => (16, "for_teams of 16"),
            Team::Warp => (32, "for_teams of 32"),
        };
        let f = Statement::of(f, operation, n, [NUMBERS, INDICES, CELLS])?;
        check_value::<F::Value>("for_teams", MOST_BYTES)?;
        let arrays = Indexed::new("for_teams", "double", &numbers, &indices, &cells)?;
        let defines = |[numbers, indices, cells]: [String; 3]| {
            vec![("TEAM", threads.to_string()), ("READ", numbers), ("OF", indices), ("CELLS", cells)]
        };
        let grid = Grid::cover(n * threads, THREADS);
        self.launch_indexed(&f, "for_teams", grid, &[(n as u64).into()], &arrays, defines)
    }

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
        let arrays = Indexed::new("for_tiles", "double", &numbers, &indices, &cells)?;
        let defines = |[numbers, indices, cells]: [String; 3]| {
            let team = [("TILE_LANES", F::LANES.to_string()), ("TILE_ITEMS", F::SCRATCH.to_string())];
            team.into_iter().chain([("READ", numbers), ("OF", indices), ("CELLS", cells)]).collect()
        };
        self.launch_indexed(&f, "for_tiles", Grid::new(n, F::LANES as u32), &[], &arrays, defines)
    }
}

/// Refuses values too large for the shared memory of a block.
fn check_value<V: Item>(operation: &str, most: usize) -> Result<()> {
    let size = size_of::<V>();
    if size <= most {
        return Ok(());
    }
    Err(Error::Invalid(format!("{operation}: values of {size} bytes: a GPU expects {most} at most")))
}

impl Cuda {
    /// Launches a loop whose functions index arrays: the arguments are `leading`, the numbers of the statement and the arrays.
    /// `defines` gets the arrays of each kind as arguments of a function.
    fn launch_indexed(
        &self,
        of: &Statement,
        name: &'static str,
        grid: Grid,
        leading: &[Argument],
        arrays: &Indexed,
        defines: impl FnOnce([String; 3]) -> Vec<(&'static str, String)>,
    ) -> Result<()> {
        let front = || of.front(&[vec![("ARRAYS", arrays.parameters())], defines(arrays.groups())].concat());
        let arguments: Vec<_> = leading
            .iter()
            .copied()
            .chain([of.argument()])
            .chain(arrays.slices.iter().map(Argument::of_struct))
            .collect();
        self.launch_used(&of.uses, front, name, grid, &arguments)
    }

    /// Enqueues a kernel compiled for functions of a user.
    fn launch_used(
        &self,
        of: &Use,
        front: impl FnOnce() -> String,
        name: &'static str,
        grid: Grid,
        arguments: &[Argument],
    ) -> Result<()> {
        let function = self.modules()?.function(&LOOPS, of.key(), front, name)?;
        launch::launch(&self.stream, name, function, grid, arguments)
    }

    /// Scans tiles, then their totals, then adds these.
    fn scan_level<V: Item>(
        &self,
        n: usize,
        f: &Statement,
        front: &String,
        name: &'static str,
        inputs: &[Argument],
        out: &mut CudaArray<V>,
    ) -> Result<()> {
        let tiles = n.div_ceil(tile::<V>());
        let mut totals = self.unfilled::<V>(tiles)?;
        let mut arguments: Vec<Argument> =
            vec![(n as u64).into(), f.argument(), (&mut *out).into(), (&mut totals).into()];
        arguments.extend(inputs);
        self.launch_used(&f.uses, || front.clone(), name, Grid::new(tiles, THREADS), &arguments)?;
        if tiles <= 1 {
            return Ok(());
        }
        let mut summed = self.unfilled::<V>(tiles)?;
        self.scan_level(tiles, f, front, "scan_values", &[(&totals).into()], &mut summed)?;
        let arguments = [(n as u64).into(), f.argument(), (&summed).into(), out.into()];
        self.launch_used(&f.uses, || front.clone(), "scan_add", Grid::cover(n, THREADS), &arguments)
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
