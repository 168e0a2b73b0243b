//! Compressed-row graphs and matrices, and products with them.
