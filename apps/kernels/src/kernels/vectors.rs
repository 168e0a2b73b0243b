//! axpby and dot, also beside a BLAS, triad, the centroid of Figure 9, and a prefix sum.

use crate::functions::{Axpby, Centroid, Dot, Prefix, Ramp, Triad};
use crate::measure::{Case, Run, Work, difference};
use crate::native::Native;
use crate::peers::Peers;
use crate::space::Space;
use minifenl::Result;
use minifenl::space::{Array, ExecutionSpace, MemorySpace, Slice};

/// Largest number of items whose results are compared.
const COMPARED: usize = 10_000;
const A: f64 = 0.75;
const B: f64 = 0.25;

/// Three vectors of a space.
struct Vectors<S: ExecutionSpace>([Array<S, f64>; 3]);

impl<S: Space> Vectors<S> {
    /// Filled by the space, so that each thread touches its part first.
    fn new(space: &S, n: usize) -> Result<Self> {
        let mut all = Vectors([space.to_be_written(n)?, space.to_be_written(n)?, space.to_be_written(n)?]);
        all.parts().into_iter().try_for_each(|part| space.for_items(n, &Ramp {}, [], [part]))?;
        Ok(all)
    }

    fn parts(&mut self) -> [&mut Slice<S, f64>; 3] {
        self.0.each_mut().map(S::Memory::slice_mut)
    }
}

/// The first items of a vector.
fn head<S: Space>(space: &S, n: usize, of: &Array<S, f64>) -> Result<Vec<f64>> {
    let mut items = vec![0.0; n.min(COMPARED)];
    space.read(of, &mut items)?;
    Ok(items)
}

/// Measures all vector kernels on `n` items.
pub fn measure<S: Space>(run: &mut Run<'_, S>, n: usize) -> Result<()> {
    let (space, native, peers) = (run.space, run.native, run.peers);
    let peer = peers.of_vectors();
    let works = if peer.is_some() { 3 } else { 2 };
    let case = |kernel, bytes: usize, difference, note: &str| Case {
        kernel,
        variant: String::new(),
        items: n,
        bytes: (bytes * n) as f64,
        difference,
        peer: None,
        note: note.into(),
    };

    run.step("axpby", n);
    let axpby = |v: &mut Vectors<S>| {
        let [x, y, _] = v.parts();
        space.for_items(n, &Axpby { a: A, b: B }, [&*x], [y])
    };
    let by_hand = |v: &mut Vectors<S>| {
        let [x, y, _] = v.parts();
        native.axpby(n, A, x, B, y)
    };
    // y += a x, which BLAS has; the same bytes.
    let by_library = |v: &mut Vectors<S>| {
        let [x, y, _] = v.parts();
        peers.axpy(n, A, x, y)
    };
    let axpy = |v: &mut Vectors<S>| {
        let [x, y, _] = v.parts();
        space.for_items(n, &Axpby { a: A, b: 1.0 }, [&*x], [y])
    };
    let after = |works: &[&Work<'_, Vectors<S>>]| -> Result<Vec<f64>> {
        let mut all = Vec::new();
        for work in works {
            let mut vectors = Vectors::new(space, n)?;
            work(&mut vectors)?;
            all.extend(head(space, n, &vectors.0[1])?);
        }
        Ok(all)
    };
    let pairs: [[&Work<'_, Vectors<S>>; 2]; 2] = [[&axpby, &by_library], [&by_hand, &axpy]];
    let [found, expected] = pairs.map(|works_of| after(&works_of[..works - 1]));
    let apart = difference(&found?, &expected?);
    let mut vectors = Vectors::new(space, n)?;
    let all: [&Work<'_, Vectors<S>>; 3] = [&axpby, &by_hand, &by_library];
    run.row(Case { peer, ..case("axpby", 24, Some(apart), "") }, &mut vectors, &all[..works])?;

    run.step("triad", n);
    let triad = |v: &mut Vectors<S>| {
        let [x, y, z] = v.parts();
        space.for_items(n, &Triad { a: A }, [&*x, &*y], [z])
    };
    let by_hand = |v: &mut Vectors<S>| {
        let [x, y, z] = v.parts();
        native.triad(n, x, A, y, z)
    };
    triad(&mut vectors)?;
    let found = head(space, n, &vectors.0[2])?;
    by_hand(&mut vectors)?;
    let apart = difference(&found, &head(space, n, &vectors.0[2])?);
    run.row(case("triad", 24, Some(apart), ""), &mut vectors, &[&triad, &by_hand])?;

    run.step("dot", n);
    let sum = |v: &mut Vectors<S>| {
        let [x, y, _] = v.parts();
        space.reduce_items(n, &Dot {}, [&*x, &*y])
    };
    let sum_by_hand = |v: &mut Vectors<S>| {
        let [x, y, _] = v.parts();
        native.dot(n, x, y)
    };
    let sum_by_library = |v: &mut Vectors<S>| {
        let [x, y, _] = v.parts();
        peers.dot(n, x, y)
    };
    let expected = sum_by_hand(&mut vectors)?;
    let mut found = vec![sum(&mut vectors)?];
    if peer.is_some() {
        found.push(sum_by_library(&mut vectors)?);
    }
    let apart = difference(&found, &[expected; 2]);
    let dot = |v: &mut Vectors<S>| sum(v).map(drop_number);
    let by_hand = |v: &mut Vectors<S>| sum_by_hand(v).map(drop_number);
    let by_library = |v: &mut Vectors<S>| sum_by_library(v).map(drop_number);
    let all: [&Work<'_, Vectors<S>>; 3] = [&dot, &by_hand, &by_library];
    run.row(Case { peer, ..case("dot", 16, Some(apart), "") }, &mut vectors, &all[..works])?;

    run.step("centroid", n);
    let centroid = |v: &mut Vectors<S>| {
        let [x, y, z] = v.parts();
        let moment = space.reduce_items(n, &Centroid {}, [&*x, &*x, &*y, &*z])?;
        drop_number(moment.mass + moment.point[0]);
        Ok(())
    };
    run.row(case("centroid", 24, None, "struct of 4"), &mut vectors, &[&centroid])?;

    run.step("prefix sum", n);
    let prefix = |v: &mut Vectors<S>| {
        let [x, _, z] = v.parts();
        space.scan_items(n, &Prefix {}, [&*x], z)
    };
    run.row(case("prefix-sum", 16, None, "reads twice"), &mut vectors, &[&prefix])?;
    Ok(())
}

/// Keeps the compiler from removing what made a number.
fn drop_number(number: f64) {
    std::hint::black_box(number);
}
