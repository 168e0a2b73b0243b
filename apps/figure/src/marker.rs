//! Twelve markers that are told apart without colour.

use crate::svg::number;
use std::fmt::Write;

/// The shape at each point of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Marker {
    Circle,
    Square,
    Diamond,
    Up,
    Down,
    Cross,
    Plus,
    Star,
    OpenCircle,
    OpenSquare,
    OpenDiamond,
    OpenUp,
}

/// How a marker is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// Filled in the colour of the series, with a white rim.
    Filled,
    /// White with a rim in the colour of the series.
    Open,
    /// Strokes in the colour of the series.
    Strokes,
}

/// Half the height of a marker with its rim, in pixels.
pub(crate) const REACH: f64 = 6.0;

impl Marker {
    /// All markers by name, in the order in which unknown series take them.
    pub const ALL: [(Marker, &'static str); 12] = [
        (Marker::Circle, "circle"),
        (Marker::Square, "square"),
        (Marker::Diamond, "diamond"),
        (Marker::Up, "up"),
        (Marker::Down, "down"),
        (Marker::Cross, "cross"),
        (Marker::Plus, "plus"),
        (Marker::Star, "star"),
        (Marker::OpenCircle, "open-circle"),
        (Marker::OpenSquare, "open-square"),
        (Marker::OpenDiamond, "open-diamond"),
        (Marker::OpenUp, "open-up"),
    ];

    pub(crate) fn paint(self) -> Paint {
        match self {
            Marker::Circle | Marker::Square | Marker::Diamond | Marker::Up | Marker::Down => Paint::Filled,
            Marker::Cross | Marker::Plus | Marker::Star => Paint::Strokes,
            Marker::OpenCircle | Marker::OpenSquare | Marker::OpenDiamond | Marker::OpenUp => Paint::Open,
        }
    }

    /// Appends the outline around a point to the data of a path.
    pub(crate) fn outline(self, [x, y]: [f64; 2], path: &mut String) {
        let corners = |path: &mut String, corners: &[[f64; 2]], end: &str| {
            for (i, [dx, dy]) in corners.iter().enumerate() {
                let _ = write!(path, "{}{} {}", if i == 0 { 'M' } else { 'L' }, number(x + dx), number(y + dy));
            }
            path.push_str(end);
        };
        match self {
            Marker::Circle | Marker::OpenCircle => {
                let (left, y) = (number(x - 4.2), number(y));
                let _ = write!(path, "M{left} {y}a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0 -8.4 0z");
            }
            Marker::Square | Marker::OpenSquare => {
                corners(path, &[[-3.8, -3.8], [3.8, -3.8], [3.8, 3.8], [-3.8, 3.8]], "z");
            }
            Marker::Diamond | Marker::OpenDiamond => {
                corners(path, &[[0.0, -5.4], [5.4, 0.0], [0.0, 5.4], [-5.4, 0.0]], "z");
            }
            Marker::Up | Marker::OpenUp => corners(path, &[[0.0, -5.2], [4.9, 3.6], [-4.9, 3.6]], "z"),
            Marker::Down => corners(path, &[[0.0, 5.2], [4.9, -3.6], [-4.9, -3.6]], "z"),
            Marker::Cross => {
                corners(path, &[[-3.8, -3.8], [3.8, 3.8]], "");
                corners(path, &[[-3.8, 3.8], [3.8, -3.8]], "");
            }
            Marker::Plus => {
                corners(path, &[[-5.0, 0.0], [5.0, 0.0]], "");
                corners(path, &[[0.0, -5.0], [0.0, 5.0]], "");
            }
            Marker::Star => {
                corners(path, &[[0.0, -5.2], [0.0, 5.2]], "");
                corners(path, &[[-4.5, -2.6], [4.5, 2.6]], "");
                corners(path, &[[-4.5, 2.6], [4.5, -2.6]], "");
            }
        }
    }
}
