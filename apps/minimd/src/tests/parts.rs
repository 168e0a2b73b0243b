//! Parts, bins, slabs and numbers by themselves.

use crate::bins::Bins;
use crate::domain::Domain;
use crate::neighbours::check_items;
use crate::owners::Atoms;
use crate::start::{atoms, lattice};
use crate::thermo::exponential;
use minifenl::comm::Solo;
use minifenl::space::{Cuda, Serial, Threads};
use support::noise;

#[test]
fn each_atom_has_one_owner_and_a_part_few_images() {
    let edges = [7.0, 9.0, 30.0];
    let parts: Vec<Domain> = (0..12).map(|rank| Domain::new(edges, 2.8, rank, 12).unwrap()).collect();
    assert_eq!(parts[0].grid, [1, 2, 6]);
    for k in 0..300 {
        let x: [f64; 3] = std::array::from_fn(|d| edges[d] * noise(3 * k + d).abs().fract());
        let owner = parts[0].owner(x);
        let inside = |part: &&Domain| (0..3).all(|d| (part.low[d]..part.high[d]).contains(&x[d]));
        assert!(parts.iter().filter(inside).count() == 1 && inside(&&parts[owner]), "{x:?}");
    }
    // No atom is deep where the part is thinner than twice the reach.
    assert_eq!(parts[0].deep()[0], [2.8, 2.8, 2.8]);
    assert!((0..3).any(|d| parts[0].deep()[1][d] < parts[0].deep()[0][d]));
    // Images of itself left and right, and of 8 parts around with both of their sides.
    for (rank, part) in parts.iter().enumerate() {
        let own = part.images.iter().filter(|image| image.rank == rank).count();
        assert_eq!((own, part.images.len()), (2, 2 + 8 * 3), "{rank}");
    }
    let whole = Domain::new([9.0; 3], 2.8, 0, 1).unwrap();
    assert_eq!(whole.images.len(), 26);
    assert_eq!(whole.wrapped([-1e-18, 9.0, 3.0]), Some([0.0, 0.0, 3.0]));
    assert!(whole.wrapped([-9.5, 0.0, 0.0]).is_none() && whole.wrapped([f64::NAN, 0.0, 0.0]).is_none());
}

/// Neighbours with larger numbers lie in a body or its seam, or in a seam or the next body; so bodies share no neighbour, nor do seams.
#[test]
fn slabs_of_one_kind_share_no_neighbour() {
    let cells = [2, 2, 48];
    let edges = cells.map(|cells| cells as f64 * lattice(0.8442));
    let domain = Domain::new(edges, 2.8, 0, 1).unwrap();
    let bins = Bins::new(&domain).unwrap();
    let [x, _] = atoms(&Solo, &domain, cells, 0.8442, 1.44);
    let count = x.len() / 3;
    let first = bins.sort(&Serial, &x, count).unwrap();
    let atoms = Atoms::<Threads> { count, v: x.clone(), x };
    let x = atoms.reordered(&Serial, &first.order, count, 0).unwrap().x;
    let sorted = bins.with_ghosts(&Serial, &x, 0, first, true).unwrap();
    let points = x.as_chunks::<3>().0;
    // Atoms of the first quarter have more neighbours.
    let counts: Vec<u32> = (0..count).map(|i| if i < count / 4 { 6 } else { 5 }).collect();
    // Three shares per thread where slabs are thick enough.
    for (threads, least, most) in [(1, 3, 3), (2, 6, 6), (5, 5, 15), (8, 4, 24)] {
        let bounds = bins.slabs(&Serial, &sorted, &counts, threads).unwrap().unwrap();
        let shares = bounds.len() / 2;
        assert!(bounds.len() % 2 == 1 && (least..=most).contains(&shares), "{threads}: {bounds:?}");
        assert_eq!((bounds[0], bounds[2 * shares] as usize), (0, count), "{threads}");
        let slab = |i: usize| bounds.partition_point(|&bound| bound as usize <= i);
        for (i, a) in points.iter().enumerate() {
            for (j, b) in points.iter().enumerate().skip(i + 1) {
                let near = (0..3).map(|d| (a[d] - b[d]).powi(2)).sum::<f64>() <= 2.8 * 2.8;
                assert!(!near || slab(j) - slab(i) <= 1, "{threads}: {i} {j}");
            }
        }
        let pairs =
            |share: usize| counts[bounds[2 * share] as usize..bounds[2 * share + 2] as usize].iter().sum::<u32>();
        let even = counts.iter().sum::<u32>() / shares as u32;
        assert!((0..shares).all(|share| pairs(share).abs_diff(even) <= 12), "{threads}: {bounds:?}");
    }
    assert!(bins.slabs(&Serial, &sorted, &counts, 32).unwrap().is_none());
    let none = bins.sort(&Serial, &[], 0).unwrap();
    assert!(bins.slabs(&Serial, &none, &Vec::new(), 1).unwrap().is_none());
}

/// Bins by themselves: each atom in the bin of its place, ghosts behind all owned atoms, atoms of a bin in the order of their numbers, and
/// the same for any number of threads.
#[test]
fn bins_hold_their_atoms_in_order() {
    let domain = Domain::new([6.0, 5.0, 9.0], 1.0, 0, 1).unwrap();
    let bins = Bins::new(&domain).unwrap();
    let (owned, all) = (20_000, 23_000);
    let edges = domain.edges;
    let x: Vec<f64> = (0..3 * all).map(|k| edges[k % 3] * noise(k).abs().fract()).collect();
    let sort = |space: &Threads| {
        let sorted = bins.sort(space, &x, owned).unwrap();
        bins.with_ghosts(space, &x, all - owned, sorted, false).unwrap()
    };
    let by_one = sort(&Serial);
    // `check_memory` counts three bounds of bins: those of the former order, and two while atoms are sorted.
    assert!(by_one.counts.is_empty());
    let (starts, order) = (&by_one.starts, &by_one.order);
    assert_eq!((starts.len(), starts[bins.count()], starts[2 * bins.count()]), (2 * bins.count() + 1, 20_000, 23_000));
    let place = |i: usize| std::array::from_fn(|d| ((x[3 * i + d] + 1.005) / 0.5) as usize);
    let mut places = std::collections::HashMap::<u32, [usize; 3]>::new();
    for bin in 0..2 * bins.count() {
        let atoms = &order[starts[bin] as usize..starts[bin + 1] as usize];
        assert!(atoms.windows(2).all(|pair| pair[0] < pair[1]));
        for &atom in atoms {
            let atom = atom as usize;
            assert_eq!((by_one.bins[atom] as usize, atom >= owned), (bin, bin >= bins.count()));
            assert_eq!(*places.entry(bin as u32).or_insert(place(atom)), place(atom));
        }
    }
    let by_three = sort(&Threads::new(3).unwrap());
    assert!(by_three.order == by_one.order && by_three.starts == by_one.starts && by_three.bins == by_one.bins);
    // In their order the owned atoms are those of a second sort.
    let first = bins.sort(&Serial, &x, owned).unwrap();
    let atoms = Atoms::<Threads> { count: owned, v: x.clone(), x: x.clone() };
    let x = atoms.reordered(&Serial, &first.order, owned, 0).unwrap().x;
    let (kept, again) =
        (bins.with_ghosts(&Serial, &x, 0, first, true).unwrap(), bins.sort(&Serial, &x, owned).unwrap());
    assert!(kept.order == again.order && kept.bins == again.bins && kept.order.iter().copied().eq(0..owned as u32));
}

#[test]
fn bins_and_lists_beyond_their_indices_are_refused() {
    // Bins have edges of 1: those of the box, of its surroundings of width 2, and two for rounding.
    let bins = |edge: f64| Bins::new(&Domain::new([edge; 3], 2.0, 0, 1).unwrap()).map(|bins| bins.count());
    assert_eq!(bins(1017.5), Ok(1023 * 1023 * 1023));
    let refused = bins(1018.5).unwrap_err().to_string();
    assert!(refused.ends_with("needs 1024 x 1024 x 1024 bins on a rank, the limit is 1073741823 bins"), "{refused}");
    // A product beyond 64 bits.
    assert!(Bins::new(&Domain::new([1e5; 3], 2e-6, 0, 1).unwrap()).is_err());
    assert_eq!(check_items::<Cuda>(1 << 24, 127), Ok(127 << 24));
    assert_eq!(check_items::<Threads>(1 << 24, 128), Ok(1 << 31));
    let refused = check_items::<Cuda>(1 << 24, 128).unwrap_err().to_string();
    assert_eq!(refused, "array of neighbour lists on a GPU needs 16777216 x 128 items, the limit is 2147483647 items");
}

#[test]
fn numbers_are_written_as_c_does() {
    for (number, text) in [
        (1.44, "1.440000e+00"),
        (-0.18739207, "-1.873921e-01"),
        (0.0, "0.000000e+00"),
        (1e100, "1.000000e+100"),
        (f64::NAN, "NaN"),
    ] {
        assert_eq!(exponential(number), text);
    }
}
