// Primitives that every room may use: scans and sorts.
