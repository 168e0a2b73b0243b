//! Choices in decks and reports are their names.

use super::{Choice, Device, Forcing, Operator, Preconditioning, Preset, ProblemKind, Solver};
use crate::contraction::Variant;
use crate::element::ElementType;
use crate::element::equations::Jacobian;
use crate::mesh::CoordinateMap;
use crate::space::Scan;
use crate::sparse::{Format, Precision};
use crate::{fill, graph};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::fmt::Display;
use std::str::FromStr;

/// Reads and writes values of these types by their names.
macro_rules! by_name {
    ([$($parameter:tt)*] $type:ty) => {
        impl<$($parameter)*> Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de, $($parameter)*> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    };
    ($($type:ty),+) => {
        $(by_name!([] $type);)+
    };
}

by_name!([T: Display + FromStr<Err = crate::Error>] Choice<T>);
by_name!(CoordinateMap, Device, ElementType, Forcing, Format, Jacobian, Operator, Precision, Preconditioning, Preset);
by_name!(ProblemKind, Scan, Solver, Variant, fill::Kernel, fill::Strategy, graph::Strategy);
