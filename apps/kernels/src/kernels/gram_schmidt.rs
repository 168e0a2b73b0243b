//! Modified Gram-Schmidt of 16 vectors, with products that the host reads.
//!
//! ```text
//! for k:  v_k /= |v_k|                          a dot and a scaling:  3 n numbers
//!         for j > k:  v_j -= (v_k.v_j) v_k      a dot and an axpby:   5 n numbers
//! ```

use super::fit::{Model, Sample};
use super::graph;
use super::vector_set::{DISPATCHES, NUMBERS, VECTORS, add_products, defect, independent, slices};
use crate::functions::{Axpby, Dot, Scale};
use crate::measure::{Case, Run, difference};
use crate::native::Native;
use crate::report::Fitted;
use crate::space::Space;
use minifenl::Result;
use minifenl::space::{Array, ExecutionSpace, MemorySpace, Slice, Threads};

/// Makes vectors orthonormal by x.y, y += a x and y = a y.
fn orthonormalise<S, D, A, M>(vectors: &mut [Array<S, f64>], dot: D, add: A, scale: M) -> Result<()>
where
    S: ExecutionSpace,
    D: Fn(&Slice<S, f64>, &Slice<S, f64>) -> Result<f64>,
    A: Fn(f64, &Slice<S, f64>, &mut Slice<S, f64>) -> Result<()>,
    M: Fn(f64, &mut Slice<S, f64>) -> Result<()>,
{
    for k in 0..vectors.len() {
        let (before, after) = vectors.split_at_mut(k + 1);
        let v = S::Memory::slice_mut(&mut before[k]);
        let norm = dot(v, v)?.sqrt();
        scale(1.0 / norm, v)?;
        for other in after {
            let other = S::Memory::slice_mut(other);
            let product = dot(v, other)?;
            add(-product, v, other)?;
        }
    }
    Ok(())
}

/// Measures the products of orthonormal vectors with each other: each vector is read once.
fn measure_products<S: Space>(run: &mut Run<'_, S>, n: usize, vectors: &[Array<S, f64>]) -> Result<()> {
    run.step("products", n);
    let (space, native) = (run.space, run.native);
    let layer = |products: &mut Array<S, f64>| add_products(space, n, vectors, products);
    let by_hand = |products: &mut Array<S, f64>| native.gram(n, slices::<S>(vectors), S::Memory::slice_mut(products));
    let mut both = [space.zeros(VECTORS * VECTORS)?, space.zeros(VECTORS * VECTORS)?];
    layer(&mut both[0])?;
    by_hand(&mut both[1])?;
    let difference = difference(&space.download(&both[0])?, &space.download(&both[1])?);
    let case = Case {
        kernel: "products",
        variant: format!("{VECTORS} vectors"),
        items: n,
        bytes: (8 * VECTORS * n) as f64,
        difference: Some(difference),
        peer: None,
        note: "teams with scratch".into(),
    };
    run.row(case, &mut both[0], &[&layer, &by_hand])?;
    Ok(())
}

/// Measures all sizes, which have at least as many items as vectors, and fits both prices.
pub fn measure<S: Space>(run: &mut Run<'_, S>, sizes: &[usize]) -> Result<()> {
    let (space, native) = (run.space, run.native);
    let mut samples = [const { Vec::new() }; 4];
    for &n in sizes {
        let bytes = (8 * NUMBERS * n) as f64;
        if !run.fits((8 * VECTORS * n) as f64)? {
            run.report.left_out.push(format!("gram-schmidt of {n} items on {}: memory", space.label()));
            continue;
        }
        run.step("gram-schmidt", n);
        let scale = |a: f64, y: &mut Slice<S, f64>| space.for_items(n, &Scale { a }, [], [y]);
        let layer = |vectors: &mut Vec<Array<S, f64>>| {
            let dot = |x: &Slice<S, f64>, y: &Slice<S, f64>| space.reduce_items(n, &Dot {}, [x, y]);
            let add = |a, x: &Slice<S, f64>, y: &mut Slice<S, f64>| space.for_items(n, &Axpby { a, b: 1.0 }, [x], [y]);
            orthonormalise::<S, _, _, _>(vectors, dot, add, scale)
        };
        let by_hand = |vectors: &mut Vec<Array<S, f64>>| {
            let dot = |x: &Slice<S, f64>, y: &Slice<S, f64>| native.dot(n, x, y);
            let add = |a, x: &Slice<S, f64>, y: &mut Slice<S, f64>| native.axpby(n, a, x, 1.0, y);
            orthonormalise::<S, _, _, _>(vectors, dot, add, scale)
        };
        let mut vectors = independent(space, n)?;
        layer(&mut vectors)?;
        let apart = defect(space, n, &vectors)?;
        let case = Case {
            kernel: "gram-schmidt",
            variant: format!("{VECTORS} vectors"),
            items: n,
            bytes,
            difference: Some(apart),
            peer: None,
            note: String::new(),
        };
        let seconds = run.row(case, &mut vectors, &[&layer, &by_hand])?;
        let of_native = run.report.rows.last().and_then(|row| row.native_seconds).unwrap_or(seconds);
        measure_products(run, n, &vectors)?;
        // One piece of work stays on the calling thread.
        if space.threads() > 1 && n <= Threads::CHUNK {
            continue;
        }
        if !S::SYNCHRONOUS {
            graph::measure(run, n, &mut samples[2..])?;
        }
        for (samples, seconds) in samples.iter_mut().zip([seconds, of_native]) {
            samples.push(Sample { dispatches: DISPATCHES as f64, bytes, seconds });
        }
    }
    for (samples, loops) in samples.iter().zip(["the layer", "loops by hand", "no reads", "one graph"]) {
        let Some(model) = Model::fitted(samples) else { continue };
        run.report.fits.push(Fitted {
            space: space.label(),
            loops,
            dispatch_microseconds: 1e6 * model.dispatch,
            gigabytes_per_second: 1e-9 * model.bandwidth,
            largest_error: model.largest_error(samples),
        });
    }
    Ok(())
}
