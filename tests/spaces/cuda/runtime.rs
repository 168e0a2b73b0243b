//! Streams, events, copies, recordings, failures.

use super::{gpu, wave};
use minifenl::blas::Blas;
use minifenl::space::{Cuda, ExecutionSpace, Streams};

#[test]
fn copies_of_every_length_come_back() {
    let Some(space) = gpu("copies_of_every_length_come_back") else { return };
    for len in [0, 1, 7, 4096, 1_048_577, 3_300_001] {
        let data = wave(len, 0.37);
        let array = space.upload(&data).unwrap();
        assert_eq!(space.download(&array).unwrap(), data);
        assert_eq!(space.download(&array.try_clone().unwrap()).unwrap(), data);
        let bytes: Vec<u8> = (0..len).map(|i| (i * 7 % 251) as u8).collect();
        assert_eq!(space.download(&space.upload(&bytes).unwrap()).unwrap(), bytes);
    }
    assert_eq!(space.download(&space.zeros::<u32>(1000).unwrap()).unwrap(), vec![0; 1000]);
    let scalars = space.upload(&[1.0, 2.0, 3.0]).unwrap();
    let reading = space.begin_read(&scalars).unwrap();
    assert_eq!(space.finish_read(reading).unwrap(), [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn a_status_query_does_not_wait() {
    let Some(space) = gpu("a_status_query_does_not_wait") else { return };
    let n = 1 << 26;
    let (x, mut y) = (space.zeros::<f64>(n).unwrap(), space.zeros::<f64>(n).unwrap());
    space.axpy(n, 1.0, &x, &mut y).unwrap();
    space.fence().unwrap();
    let before = space.record().unwrap();
    for _ in 0..50 {
        space.axpy(n, 1.0, &x, &mut y).unwrap();
    }
    let after = space.record().unwrap();
    assert!(!after.is_passed().unwrap());
    after.wait().unwrap();
    assert!(after.since(&before).unwrap().as_secs_f64() > 1e-3);
}

#[test]
fn streams_order_themselves_by_events() {
    let Some(space) = gpu("streams_order_themselves_by_events") else { return };
    let other = Cuda::new(0).unwrap();
    let n = 1 << 24;
    let (ones, mut y) = (space.upload(&vec![1.0; n]).unwrap(), space.zeros::<f64>(n).unwrap());
    for _ in 0..20 {
        space.axpy(n, 1.0, &ones, &mut y).unwrap();
    }
    other.wait_for(&space.record().unwrap()).unwrap();
    let mut copy = other.zeros(n).unwrap();
    other.copy(n, &y, &mut copy).unwrap();
    assert!(other.download(&copy).unwrap().iter().all(|&x| x == 20.0));
}

#[test]
fn a_recording_repeats_what_was_done_first() {
    let Some(space) = gpu("a_recording_repeats_what_was_done_first") else { return };
    let (x, mut y) = (space.upload(&[1.0, 2.0, 3.0]).unwrap(), space.zeros(3).unwrap());
    let (mut recording, mut calls) = (Default::default(), 0);
    for _ in 0..7 {
        space
            .repeat(&mut recording, || {
                calls += 1;
                space.axpy(3, 1.0, &x, &mut y)
            })
            .unwrap();
    }
    assert_eq!(space.download(&y).unwrap(), [7.0, 14.0, 21.0]);
    assert_eq!(calls, 2, "one direct, one to record");
}

#[test]
fn forks_copy_beside_each_other() {
    let Some(space) = gpu("forks_copy_beside_each_other") else { return };
    let forks = [space.fork().unwrap(), space.fork().unwrap()];
    for len in [0, 1, 4096, 3_300_001] {
        let copies = forks.each_ref().map(|fork| {
            let (mut there, mut data) = (fork.zeros::<f64>(len + 1).unwrap(), fork.staging::<f64>(len).unwrap());
            assert!(data.iter().all(|x| *x == 0.0));
            data.copy_from_slice(&wave(len, 0.37));
            let up = fork.begin_upload(data, &mut there).unwrap();
            let down = fork.begin_download(&there, fork.staging(len).unwrap()).unwrap();
            (there, up, down)
        });
        for (fork, (there, up, down)) in forks.iter().zip(copies) {
            while !fork.is_done().unwrap() {}
            assert_eq!(*fork.finish(down).unwrap(), wave(len, 0.37));
            assert_eq!(fork.finish(up).unwrap().len(), len);
            assert_eq!(fork.download(&there).unwrap()[len], 0.0);
            let refused = space.begin_download(&there, space.staging(len).unwrap()).unwrap_err().to_string();
            assert!(refused.contains("another space") && !refused.contains('\n'), "{refused}");
            assert!(fork.begin_download(&there, fork.staging(len + 2).unwrap()).is_err());
        }
    }
    let (mut recording, [one, two]) = (Default::default(), &forks);
    let (mut there, mut messages) = (one.zeros::<f64>(8).unwrap(), Vec::new());
    for _ in 0..2 {
        let copied = one.repeat(&mut recording, || one.begin_upload(one.staging(8)?, &mut there).map(drop));
        messages.extend(copied.err().map(|error| error.to_string()));
    }
    assert!(matches!(&messages[..], [refused] if refused.contains("within `repeat`")), "{messages:?}");
    let mut recording = Default::default();
    for _ in 0..2 {
        one.repeat(&mut recording, || one.fill(8, 1.0, &mut there)).unwrap();
    }
    let refused = two.repeat(&mut recording, || Ok(())).unwrap_err().to_string();
    assert!(refused.contains("another space"), "{refused}");
}

#[test]
fn failures_are_errors() {
    let Some(space) = gpu("failures_are_errors") else { return };
    assert!(Cuda::new(99).unwrap_err().to_string().contains("cuda:99"));
    let (x, mut short) = (space.zeros::<f64>(4).unwrap(), space.zeros::<f64>(3).unwrap());
    assert!(space.axpy(4, 1.0, &x, &mut short).unwrap_err().to_string().contains("`y`"));
    assert!(space.read(&short, &mut [0.0; 4]).is_err());
}

/// A recording on one thread, while other threads come and go with spaces of their own.
#[test]
fn spaces_that_end_leave_recordings_of_other_threads_alone() {
    let Some(space) = gpu("spaces_that_end_leave_recordings_of_other_threads_alone") else { return };
    let (mut x, done) = (space.zeros::<f64>(1000).unwrap(), std::sync::atomic::AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let other = Cuda::new(0).unwrap();
                let y = other.upload(&[1.0; 1000]).unwrap();
                assert_eq!(other.download(&y).unwrap()[999], 1.0);
            }
        });
        for _ in 0..50 {
            let mut recording = Default::default();
            for _ in 0..3 {
                let result = space.repeat(&mut recording, || {
                    (0..50).try_for_each(|value| space.fill(1000, f64::from(value), &mut x))
                });
                if result.is_err() {
                    done.store(true, std::sync::atomic::Ordering::Relaxed);
                }
                result.unwrap();
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(space.download(&x).unwrap(), [49.0; 1000]);
}

#[test]
fn every_kernel_compiles_and_is_described() {
    let Some(space) = gpu("every_kernel_compiles_and_is_described") else { return };
    let all = space.kernel_info(&minifenl::kernel_files()).unwrap();
    assert!(all.iter().any(|kernel| kernel.module == "cg" && kernel.name == "cg_step"));
    assert!(all.iter().all(|kernel| kernel.registers > 0 && kernel.occupancy > 0.0), "{all:?}");
}
