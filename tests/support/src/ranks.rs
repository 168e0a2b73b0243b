//! Ranks without others, for tests of what a rank does by itself.

/// The methods of a `Communicator` at a place among ranks; with `alone`, also sums and arrays, which are this rank's own.
#[macro_export]
macro_rules! rank {
    ($rank:literal of $size:literal, alone) => {
        $crate::rank!($rank of $size);
        fn ranks_on_node(&self) -> usize {
            $size
        }
        fn all_sum(&self, _: &mut [f64]) {}
        fn all_sum_u64(&self, _: &mut [u64]) {}
        fn node_sum(&self, value: u64) -> u64 {
            value
        }
        fn all_gather(&self, mine: &[f64]) -> Result<Vec<f64>> {
            Ok(mine.to_vec())
        }
    };
    ($rank:literal of $size:literal) => {
        fn rank(&self) -> usize {
            $rank
        }
        fn size(&self) -> usize {
            $size
        }
        fn rank_on_node(&self) -> usize {
            $rank
        }
        fn all_max(&self, _: &mut [f64]) {}
        fn barrier(&self) {}
        fn abort(&self, code: i32) -> ! {
            panic!("abort with {code}")
        }
    };
}
