//! Lennard-Jones forces: full lists, half lists with atomic additions, lists by rows (right) and by columns (left).

use super::lattice::{CUTOFF, Lists};
use crate::functions::{Full, Half, HalfUnshared};
use crate::measure::{Case, Run, difference};
use crate::native::{Native, Neighbours};
use crate::space::Space;
use minifenl::Result;
use minifenl::space::{
    Array, Cuda, CudaArray, DeviceView, DeviceViewMut, DualView, ExecutionSpace, IndexFn, Layout, Loops, MemorySpace,
    Slice, Threads, View, ViewMut, remap,
};

/// Forces on the host, and what the space needs for them.
struct Atoms<S: ExecutionSpace> {
    count: usize,
    x: DualView<f64, S>,
    f: DualView<f64, S>,
}

/// The lists of a space in one layout.
struct Listed<S: ExecutionSpace> {
    counts: Array<S, u32>,
    list: Array<S, u32>,
    steps: [usize; 2],
    pairs: usize,
}

/// Views of lists on a space: what turns one layout into the other.
pub trait Turn: Space {
    /// Copies lists by rows to lists by columns.
    fn turned(&self, list: &Array<Self, u32>, extents: [usize; 2]) -> Result<Array<Self, u32>>;
}

impl Turn for Threads {
    fn turned(&self, list: &Vec<u32>, extents: [usize; 2]) -> Result<Vec<u32>> {
        let mut out = self.to_be_written(extents[0] * extents[1])?;
        let from = View::new(list, extents, Layout::Right)?;
        remap(self, &from, &mut ViewMut::new(&mut out, extents, Layout::Left)?)?;
        Ok(out)
    }
}

impl Turn for Cuda {
    fn turned(&self, list: &CudaArray<u32>, extents: [usize; 2]) -> Result<CudaArray<u32>> {
        let mut out = self.to_be_written(extents[0] * extents[1])?;
        let from = DeviceView::new(list, extents, Layout::Right)?;
        remap(self, &from, &mut DeviceViewMut::new(&mut out, extents, Layout::Left)?)?;
        Ok(out)
    }
}

impl<S: Turn> Listed<S> {
    fn new(space: &S, lists: &Lists, layout: Layout) -> Result<Self> {
        let extents = [lists.counts.len(), lists.width];
        let (counts, rows) = (space.upload(&lists.counts)?, space.upload(&lists.list)?);
        let list = if layout == Layout::Left { space.turned(&rows, extents)? } else { rows };
        let pairs = lists.counts.iter().map(|&count| count as usize).sum();
        Ok(Listed { counts, list, steps: layout.strides(extents), pairs })
    }
}

/// Calls a force on cells that hold 0, if it adds to them.
fn forces<S, F>(space: &S, atoms: &mut Atoms<S>, lists: &Listed<S>, f: &F, adds: bool) -> Result<()>
where
    S: Space + Loops<F>,
    F: IndexFn<1, 2, 1>,
{
    let out = atoms.f.modify_device()?;
    if adds {
        space.fill(3 * atoms.count, 0.0, out)?;
    }
    let lists = [&lists.counts, &lists.list].map(S::Memory::slice);
    space.for_indices(atoms.count, f, [atoms.x.device()?], lists, [out])
}

/// Measures forces on the atoms at `x`.
pub fn measure<S: Turn>(run: &mut Run<'_, S>, host: &Threads, x: &[f64]) -> Result<()> {
    let (space, native, count) = (run.space, run.native, x.len() / 3);
    run.step("lennard-jones", count);
    let (full, half) = (Lists::new(host, x, false)?, Lists::new(host, x, true)?);
    let mut atoms = Atoms { count, x: DualView::new(space, x.to_vec())?, f: DualView::zeros(space, 3 * count)? };
    let mut expected = Vec::new();
    for layout in [Layout::Right, Layout::Left] {
        let lists = Listed::new(space, &full, layout)?;
        let [atom_step, neighbour_step] = lists.steps.map(|step| step as f64);
        let f = Full { cutoff: CUTOFF, atom_step, neighbour_step };
        let layer = |atoms: &mut Atoms<S>| forces(space, atoms, &lists, &f, false);
        let by_hand = |atoms: &mut Atoms<S>| {
            let of = Neighbours::<S> {
                x: atoms.x.device()?,
                counts: S::Memory::slice(&lists.counts),
                list: S::Memory::slice(&lists.list),
                steps: lists.steps,
                cutoff: CUTOFF,
            };
            let out: &mut Slice<S, f64> = atoms.f.modify_device()?;
            native.forces(count, &of, out)
        };
        expected = found(&mut atoms, &by_hand)?;
        let apart = difference(&found(&mut atoms, &layer)?, &expected);
        let case = case(format!("full {}", name(layout)), count, lists.pairs, apart);
        let seconds = run.row(case, &mut atoms, &[&layer, &by_hand])?;
        note(run, count, seconds);
    }
    for layout in [Layout::Right, Layout::Left] {
        let lists = Listed::new(space, &half, layout)?;
        let [atom_step, neighbour_step] = lists.steps.map(|step| step as f64);
        let f = Half { cutoff: CUTOFF, atom_step, neighbour_step };
        let layer = |atoms: &mut Atoms<S>| forces(space, atoms, &lists, &f, true);
        let apart = difference(&found(&mut atoms, &layer)?, &expected);
        let variant = format!("half {}", name(layout));
        let seconds = run.row(case(variant, count, lists.pairs, apart), &mut atoms, &[&layer])?;
        note(run, count, seconds);
    }
    if space.threads() == 1 && S::SYNCHRONOUS {
        let lists = Listed::new(space, &half, Layout::Right)?;
        let [atom_step, neighbour_step] = lists.steps.map(|step| step as f64);
        let f = HalfUnshared { cutoff: CUTOFF, atom_step, neighbour_step };
        let layer = |atoms: &mut Atoms<S>| forces(space, atoms, &lists, &f, true);
        let apart = difference(&found(&mut atoms, &layer)?, &expected);
        let seconds = run.row(case("half plain".into(), count, lists.pairs, apart), &mut atoms, &[&layer])?;
        note(run, count, seconds);
    }
    Ok(())
}

fn name(layout: Layout) -> &'static str {
    if layout == Layout::Left { "left" } else { "right" }
}

/// The forces after one call.
fn found<S: Space>(atoms: &mut Atoms<S>, work: &dyn Fn(&mut Atoms<S>) -> Result<()>) -> Result<Vec<f64>> {
    work(atoms)?;
    atoms.f.sync_host()?;
    Ok(atoms.f.host()?.to_vec())
}

/// Bytes: each list once, positions and forces once.
fn case(variant: String, count: usize, pairs: usize, apart: f64) -> Case {
    let bytes = (4 * pairs + 52 * count) as f64;
    Case {
        kernel: "lennard-jones",
        variant,
        items: count,
        bytes,
        difference: Some(apart),
        peer: None,
        note: String::new(),
    }
}

/// Millions of atoms per second, as miniMD counts.
fn note<S: Space>(run: &mut Run<'_, S>, count: usize, seconds: f64) {
    if let Some(row) = run.report.rows.last_mut() {
        row.note = format!("{:.1} M atoms/s", 1e-6 * count as f64 / seconds);
    }
}
