//! Copies between views of any strides.
//!
//! Shapes: `from [i0, i1, ...]` -> `to [i0, i1, ...]`, 1 to 4 or more indices. Cost: each item is read and written once; rows along the
//! fastest index of `to` are written in order, and read with the stride of `from`; a GPU (`cuda/remap.rs`) turns tiles of 32 x 32 items
//! where the fastest indices differ.

use super::{Item, Layout, Strided, Threads, View, ViewMut, check_apart};
use crate::{Error, Result};
use rayon::prelude::*;

/// The indices of two views in the order of the second one in memory.
pub(super) struct Order<const R: usize> {
    /// Indices, the slowest first.
    order: [usize; R],
    extents: [usize; R],
    from: [usize; R],
    to: [usize; R],
}

impl<const R: usize> Order<R> {
    /// The order for a copy; refuses views between which there is none.
    pub fn of<A, B>(from: &Strided<A, R>, to: &Strided<B, R>) -> Result<Self> {
        let extents = from.extents();
        if to.extents() != extents {
            let (actual, expected) = (to.extents().to_vec(), extents.to_vec());
            return Err(Error::Shape { operation: "remap", array: "to", actual, expected });
        }
        let (from, to) = (from.strides(), to.strides());
        check_apart(extents, to)?;
        let mut order: [usize; R] = std::array::from_fn(|d| d);
        order.sort_by_key(|&d| std::cmp::Reverse((to[d], extents[d])));
        Ok(Order { order, extents, from, to })
    }
}

#[cfg(feature = "cuda")]
impl<const R: usize> Order<R> {
    /// The fastest indices of both views among those of more than one item, if they are two.
    fn fastest(&self) -> Option<[usize; 2]> {
        let longer = || self.order.iter().copied().filter(|&d| self.extents[d] > 1);
        let (of_to, of_from) = (longer().next_back()?, longer().min_by_key(|&d| self.from[d])?);
        (of_to != of_from).then_some([of_from, of_to])
    }

    /// Whether the fastest indices of both views differ and have at least these extents.
    pub fn is_turned(&self, least: [usize; 2]) -> bool {
        self.fastest().is_some_and(|both| (0..2).all(|k| self.extents[both[k]] >= least[k]))
    }

    /// Extent and strides of each index, the slowest of `to` first; if turned, the fastest index of `from` stands before the last.
    pub fn indices(&self, is_turned: bool) -> Vec<[usize; 3]> {
        let last = self.fastest().filter(|_| is_turned);
        let others = self.order.iter().copied().filter(|d| last.is_none_or(|last| !last.contains(d)));
        let all = others.chain(last.into_iter().flatten());
        all.map(|d| [self.extents[d], self.from[d], self.to[d]]).collect()
    }
}

impl Threads {
    /// Copies as [`remap`](super::remap()), in this memory.
    pub(super) fn copy_view<T: Item, const R: usize>(
        &self,
        from: &View<'_, T, R>,
        to: &mut ViewMut<'_, T, R>,
    ) -> Result<()> {
        let Order { order, extents, from: steps, to: strides } = Order::of(from, to)?;
        if extents.contains(&0) {
            return Ok(());
        }
        let Some((&fastest, slower)) = order.split_last() else {
            to.data_mut()[0] = from.data()[0];
            return Ok(());
        };
        let (row, stride, step) = (extents[fastest], strides[fastest], steps[fastest]);
        let rows = slower.iter().map(|&d| extents[d]).product::<usize>();
        // Positions of the first item of a row in both arrays.
        let starts = |mut number: usize| {
            slower.iter().rev().fold((0, 0), |(read, write), &d| {
                let index = number % extents[d];
                number /= extents[d];
                (read + index * steps[d], write + index * strides[d])
            })
        };
        let copy = |number: usize, out: &mut [T]| {
            let first = starts(number).0;
            for i in 0..row {
                out[i * stride] = from.data()[first + i * step];
            }
        };
        if [Layout::Left, Layout::Right].into_iter().any(|layout| to.is_packed(layout)) {
            // Rows lie one behind the other.
            let pieces = to.data_mut()[..rows * row].par_chunks_mut(row).enumerate();
            self.for_each(pieces, |(number, out)| copy(number, out));
            return Ok(());
        }
        for number in 0..rows {
            copy(number, &mut to.data_mut()[starts(number).1..]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Serial, Threads, remap};

    /// Numbers `[i, j, k, l]` in one layout, remapped to the other one and to strides with gaps, by a plain loop.
    #[test]
    fn items_keep_their_indices() {
        let extents = [3, 1, 17, 5];
        let count = extents.iter().product::<usize>();
        let numbers: Vec<u32> = (0..count as u32).collect();
        for (layout, other) in
            [(Layout::Left, Layout::Right), (Layout::Right, Layout::Left), (Layout::Left, Layout::Left)]
        {
            let from = View::new(&numbers, extents, layout).unwrap();
            let gaps = [2, 1, 900, 7];
            for (strides, len) in [(other.strides(extents), count), (gaps, 16 * 900 + 4 * 7 + 2 * 2 + 1)] {
                for threads in [1, 3] {
                    let mut out = vec![u32::MAX; len];
                    let mut to = ViewMut::with_strides(&mut out, extents, strides).unwrap();
                    remap(&Threads::new(threads).unwrap(), &from, &mut to).unwrap();
                    let mut expected = vec![u32::MAX; len];
                    for item in 0..count {
                        let index = [item % 3, 0, item / 3 % 17, item / 51];
                        let place: usize = index.iter().zip(strides).map(|(i, s)| i * s).sum();
                        expected[place] = from[index];
                    }
                    assert_eq!(out, expected, "{layout:?} to {strides:?}");
                }
            }
        }
    }

    #[test]
    fn other_extents_and_shared_places_are_refused() {
        let (numbers, mut out) = ([1.0; 6], [0.0; 6]);
        let from = View::new(&numbers, [2, 3], Layout::Left).unwrap();
        let error = remap(&Serial, &from, &mut ViewMut::new(&mut out, [3, 2], Layout::Left).unwrap()).unwrap_err();
        assert!(error.to_string().contains("extents [3, 2], expected [2, 3]"), "{error}");
        let mut shared = ViewMut::with_strides(&mut out, [2, 3], [1, 1]).unwrap();
        assert!(remap(&Serial, &from, &mut shared).unwrap_err().to_string().contains("share"));
        let nothing = View::new(&numbers, [0, 3], Layout::Left).unwrap();
        remap(&Serial, &nothing, &mut ViewMut::new(&mut out, [0, 3], Layout::Right).unwrap()).unwrap();
        assert_eq!(out, [0.0; 6]);
    }
}
