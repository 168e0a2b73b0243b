//! Vector operations.

use super::{difference, gpu, wave};
use minifenl::Result;
use minifenl::blas::{Blas, Reductions};
use minifenl::solve::{CgDirection, CgSlot, CgStep, CgSteps};
use minifenl::space::{ExecutionSpace, MemorySpace, Serial};

/// Every vector operation once, on ragged lengths.
fn all<S: CgSteps>(space: &S, n: usize) -> Result<Vec<Vec<f64>>> {
    let up = |data: Vec<f64>| space.upload(&data);
    let (p, q) = (up(wave(n + 5, 0.3))?, up(wave(n, 0.7))?);
    let mut written = [up(wave(n, 0.2))?, up(wave(n, 0.9))?, space.zeros(n)?, space.zeros(n)?];
    let (p, q) = (S::Memory::slice(&p), S::Memory::slice(&q));
    let [x, r, z, copy] = written.each_mut().map(S::Memory::slice_mut);
    let mut sums = Reductions::new(space, n, CgSlot::LEN)?;
    let mut scalars = vec![0.0; CgSlot::LEN];
    scalars[..8].copy_from_slice(&[1.25, 0.5, 3.0, 0.0, 9.0, 0.0, 0.0, 1.0]);
    sums.scalars = up(scalars)?;
    space.cg_step(n, CgStep { rz: 0, rr: 1, p, q, x, r: &mut *r }, &mut sums)?;
    space.axpby(n, 0.3, p, -2.0, q, z)?;
    space.cg_direction(n, CgDirection { rr: 1, top: 1, bottom: 0, z: r, p: &mut *z }, &mut sums)?;
    space.axpy(n, 0.1, q, z)?;
    let mut relaxed = [up(wave(n, 0.4))?, up(wave(n, 0.5))?];
    let [d, y] = relaxed.each_mut().map(S::Memory::slice_mut);
    space.relax(n, [0.7, 0.3], q, p, Some(&*z), d, y)?;
    space.axpy(n, 1.0, y, z)?;
    space.relax(n, [0.7, 0.3], q, p, None, y, d)?;
    space.axpy(n, 1.0, d, z)?;
    let largest = space.max_abs(n, z, S::Memory::slice_mut(&mut sums.partials))?;
    space.dot(n, z, p, &mut sums, 2)?;
    // A scalar that is not 0 switches reductions off.
    sums.stop = Some(4);
    space.dot(n, z, z, &mut sums, 3)?;
    space.copy(n, z, copy)?;
    space.fill(n / 2, 7.0, copy)?;
    let mut out = vec![vec![largest]];
    for array in written.iter().chain([&sums.scalars]) {
        out.push(space.download(array)?);
    }
    Ok(out)
}

#[test]
fn vector_operations_agree_with_serial_and_repeat_their_bits() {
    let Some(space) = gpu("vector_operations_agree_with_serial_and_repeat_their_bits") else { return };
    for n in [1, 2, 31, 1000, 4096, 1_000_003] {
        let (found, expected) = (all(&space, n).unwrap(), all(&Serial, n).unwrap());
        for (found, expected) in found.iter().zip(&expected) {
            let difference = difference(found, expected);
            assert!(difference < 1e-12, "n = {n}: {difference}");
        }
        assert_eq!(found, all(&space, n).unwrap(), "n = {n}: not the same bits twice");
    }
}

#[test]
fn nan_counts_as_the_largest_value() {
    let Some(space) = gpu("nan_counts_as_the_largest_value") else { return };
    let mut data = vec![-3.0; 5000];
    data[4321] = f64::NAN;
    let mut partials = space.zeros(<minifenl::space::Cuda as Blas>::partials_len(5000)).unwrap();
    let x = space.upload(&data).unwrap();
    assert!(space.max_abs(5000, &x, &mut partials).unwrap().is_nan());
    assert_eq!(space.max_abs(4321, &x, &mut partials).unwrap(), 3.0);
}
