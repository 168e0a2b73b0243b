//! Maps of the unit cube onto itself that take each face to itself. They bend a mesh without changing the domain.
//!
//! ```text
//! bubble:m   x + m x^2 (x-1)^2 on each axis    monotone for |m| < 5.19; elements stay bricks (Jacobian diagonal)
//! twist:m    B = 64 x(1-x) y(1-y) z(1-z)       0 on the faces, 1 at the centre
//!            (x, y) turned by the angle m B about the axis (1/2, 1/2), z + m B / 8
//! ```
//! The bubble is MiniFENL's own map, with m = 1. It is separable, so every Jacobian is diagonal and errors in
//! off-diagonal terms stay hidden. The twist is not separable: every element with a node inside the box becomes truly
//! non-affine. Coordinates on the faces keep their last bit, so that boundary planes can be found by exact comparison.

use crate::{Error, Result};
use std::{fmt, str::FromStr};

/// Displacement of the nodes as a function of their position in the unit cube.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum CoordinateMap {
    /// No displacement.
    #[default]
    None,
    /// Displacement along each axis separately, with this amplitude.
    Bubble(f64),
    /// Rotation and shift, with this amplitude.
    Twist(f64),
}

impl CoordinateMap {
    /// The bubble with MiniFENL's amplitude.
    pub const BUBBLE: Self = Self::Bubble(1.0);
    /// The twist with its default amplitude. On fine meshes, angles between edges are 40 degrees or more and volumes
    /// 0.62 to 1.38 times those of bricks. Elements fold from amplitude 1.3 on.
    pub const TWIST: Self = Self::Twist(0.5);

    /// Returns the image of a point of the unit cube.
    pub fn apply(&self, point: [f64; 3]) -> [f64; 3] {
        match *self {
            CoordinateMap::None => point,
            CoordinateMap::Bubble(m) => point.map(|x| x + m * (x * (x - 1.0)).powi(2)),
            CoordinateMap::Twist(m) => {
                let [x, y, z] = point;
                let bump = m * 64.0 * point.iter().map(|x| x * (1.0 - x)).product::<f64>();
                let (sin, cos) = bump.sin_cos();
                // cos - 1 instead of cos: where the bump is 0, x and y keep their last bit.
                let (u, v) = (x - 0.5, y - 0.5);
                [x + (cos - 1.0) * u - sin * v, y + sin * u + (cos - 1.0) * v, z + bump / 8.0]
            }
        }
    }
}

impl fmt::Display for CoordinateMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CoordinateMap::None => write!(f, "none"),
            CoordinateMap::Bubble(m) => write!(f, "bubble:{m}"),
            CoordinateMap::Twist(m) => write!(f, "twist:{m}"),
        }
    }
}

impl FromStr for CoordinateMap {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refused = || {
            Error::Invalid(format!(
                "invalid coordinate map `{text}`: expected none, bubble[:amplitude] or twist[:amplitude]"
            ))
        };
        let (name, number) = text.split_once(':').map_or((text, None), |(name, number)| (name, Some(number)));
        let finite = |number: &str| number.parse().ok().filter(|m: &f64| m.is_finite()).ok_or_else(refused);
        let amplitude = number.map(finite).transpose()?;
        match (name, amplitude) {
            ("none", None) => Ok(CoordinateMap::None),
            ("bubble", amplitude) => Ok(amplitude.map_or(Self::BUBBLE, CoordinateMap::Bubble)),
            ("twist", amplitude) => Ok(amplitude.map_or(Self::TWIST, CoordinateMap::Twist)),
            _ => Err(refused()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces_stay_to_the_last_bit() {
        for map in [CoordinateMap::None, CoordinateMap::BUBBLE, CoordinateMap::Bubble(3.0), CoordinateMap::TWIST] {
            for (axis, side) in [(0, 0.0), (0, 1.0), (1, 0.0), (1, 1.0), (2, 0.0), (2, 1.0)] {
                let mut point = [0.1, 0.3, 0.7];
                point[axis] = side;
                assert_eq!(map.apply(point)[axis], side, "{map}");
                if let CoordinateMap::Twist(_) = map {
                    assert_eq!(map.apply(point), point);
                }
            }
        }
    }

    #[test]
    fn the_bubble_moves_nodes_as_by_hand() {
        assert_eq!(CoordinateMap::BUBBLE.apply([0.5, 0.0, 1.0]), [0.5625, 0.0, 1.0]);
    }

    #[test]
    fn the_twist_turns_nodes_about_the_axis() {
        let [x, y, z] = CoordinateMap::Twist(0.5).apply([0.5, 0.25, 0.5]);
        let angle: f64 = 0.5 * 64.0 * 0.25 * 0.1875 * 0.25;
        assert!((x - (0.5 + 0.25 * angle.sin())).abs() < 1e-15 && (y - (0.5 - 0.25 * angle.cos())).abs() < 1e-15);
        assert_eq!(z, 0.5 + angle / 8.0);
    }

    #[test]
    fn names_are_read_back() {
        for text in ["none", "bubble:2.5", "twist:0.25", "twist:-1"] {
            assert_eq!(text.parse::<CoordinateMap>().unwrap().to_string(), text);
        }
        assert_eq!("bubble".parse::<CoordinateMap>().unwrap(), CoordinateMap::BUBBLE);
        assert_eq!("twist".parse::<CoordinateMap>().unwrap(), CoordinateMap::TWIST);
        for text in ["", "bubbles", "twist:", "twist:nan", "none:1", "bubble:1:2"] {
            let error = text.parse::<CoordinateMap>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }
}
