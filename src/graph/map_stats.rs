//! Statistics of the pair map of strategy `map`: the original prints the load as MAP_RATIO.

/// Statistics of the pair map that built a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapStats {
    /// Number of slots.
    pub capacity: u64,
    /// Attempts after the first, each with a larger map.
    pub retries: u64,
    /// Inserts that found no free slot, over all attempts.
    pub failed: u64,
    /// What a device does not count.
    pub counted: Option<MapCounts>,
}

/// Statistics of the inserts of the last attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapCounts {
    /// Pairs in the map.
    pub stored: u64,
    /// Inserts of a pair that was there already.
    pub duplicates: u64,
    /// Slots that the longest probe sequence of a stored pair reads.
    pub longest_probe: u64,
}
