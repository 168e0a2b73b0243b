//! The nine Intrepid tensor contractions.
