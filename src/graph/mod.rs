//! From an element-node table to a CRS graph: count, scan, allocate, fill, sort.
