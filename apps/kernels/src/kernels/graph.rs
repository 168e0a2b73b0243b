//! Gram-Schmidt with scalars that stay in the space: its kernels one by one, and as one CUDA graph.

use super::fit::Sample;
use super::vector_set::{DISPATCHES, NUMBERS, defect, independent};
use crate::functions::{Dot, Normalise, Project};
use crate::measure::{Case, Run, Work};
use crate::space::Space;
use minifenl::Result;
use minifenl::space::{Array, MemorySpace};

/// Vectors, a product of two, and the recorded kernels.
struct State<S: Space> {
    vectors: Vec<Array<S, f64>>,
    product: Array<S, f64>,
    recording: S::Recording,
}

/// Makes vectors orthonormal; the host waits for nothing.
pub fn orthonormalise<S: Space>(
    space: &S,
    n: usize,
    vectors: &mut [Array<S, f64>],
    product: &mut Array<S, f64>,
) -> Result<()> {
    for k in 0..vectors.len() {
        let (before, after) = vectors.split_at_mut(k + 1);
        let v = S::Memory::slice_mut(&mut before[k]);
        space.reduce_into(n, &Dot {}, [&*v, &*v], S::Memory::slice_mut(product))?;
        space.for_indices(n, &Normalise {}, [S::Memory::slice(product)], [], [v])?;
        let v = S::Memory::slice(&before[k]);
        for other in after {
            let w = S::Memory::slice_mut(other);
            space.reduce_into(n, &Dot {}, [v, &*w], S::Memory::slice_mut(product))?;
            space.for_indices(n, &Project {}, [S::Memory::slice(product), v], [], [w])?;
        }
    }
    Ok(())
}

/// Measures single launches and the graph; adds a sample of each.
pub fn measure<S: Space>(run: &mut Run<'_, S>, n: usize, samples: &mut [Vec<Sample>]) -> Result<()> {
    let space = run.space;
    let launches = |State { vectors, product, .. }: &mut State<S>| orthonormalise(space, n, vectors, product);
    let graph = |State { vectors, product, recording }: &mut State<S>| {
        space.repeat(recording, || orthonormalise(space, n, vectors, product))
    };
    let works: [(&str, &Work<'_, State<S>>); 2] = [("no reads", &launches), ("one graph", &graph)];
    let mut single = None;
    for ((variant, work), samples) in works.into_iter().zip(samples) {
        let (vectors, product) = (independent(space, n)?, space.zeros(1)?);
        let mut state = State { vectors, product, recording: S::Recording::default() };
        // The third call replays what the second recorded.
        (0..3).try_for_each(|_| work(&mut state))?;
        let difference = Some(defect(space, n, &state.vectors)?);
        let (bytes, note) = ((8 * NUMBERS * n) as f64, String::new());
        let variant = variant.into();
        let case = Case { kernel: "gram-schmidt", variant, items: n, bytes, difference, peer: None, note };
        let seconds = run.row(case, &mut state, &[work])?;
        samples.push(Sample { dispatches: DISPATCHES as f64, bytes, seconds });
        if let (Some(row), Some(single)) = (run.report.rows.last_mut(), single.replace(seconds)) {
            row.note = format!("{:.2} x no reads", seconds / single);
        }
    }
    Ok(())
}
