//! Figures of the studies: line charts on logarithmic axes and heat maps, as SVG and, with the feature `png`, as PNG.
//!
//! Coordinates have two decimals. A series is one `<polyline>` and one `<path>` with all its markers; a known name has the same
//! colour and marker in every figure ([`styles`]). A label stands in a column right of the axes, so that it covers no point, and
//! the column's rows do not overlap in DejaVu Sans, the widest of the usual sans-serif fonts. Every SVG has a `<title>`, a `<desc>`
//! and its own white background with a margin, so that it looks the same on white and on dark pages. The same input gives the same
//! bytes.

mod heat;
mod labels;
mod lines;
mod marker;
#[cfg(feature = "png")]
mod picture;
mod scale;
mod style;
mod svg;
mod text;

pub use heat::{HeatMap, Panel};
pub use lines::{Axis, Limit, LineChart, Point, Series};
pub use marker::Marker;
#[cfg(feature = "png")]
pub use picture::png;
pub use scale::{Kind, plain};
pub use style::{Style, is_known, styles};
pub use svg::Head;
pub use text::{escaped, width};
