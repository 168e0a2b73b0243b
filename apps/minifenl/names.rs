//! Flags whose values are names: parsed by the type, listed for the completions of shells.

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};
use minifenl::element::ElementType;
use std::ffi::OsStr;
use std::str::FromStr;

/// Parses by `FromStr` of the type, which accepts more than the list (`twist:0.5`). The list of names is for
/// completions, and for the message about a missing value.
#[derive(Clone, Debug)]
pub struct Named<T> {
    names: Vec<&'static str>,
    parse: fn(&str) -> minifenl::Result<T>,
}

/// Returns the parser of a flag whose values have these names.
pub fn named<T: FromStr<Err = minifenl::Error>>(names: impl IntoIterator<Item = &'static str>) -> Named<T> {
    Named { names: names.into_iter().collect(), parse: str::parse }
}

/// Returns the parser of an element type that fills a volume.
pub fn volume() -> Named<ElementType> {
    let parse = |name: &str| {
        let named = ElementType::volumes().find(|(_, known)| *known == name);
        named.map(|(element, _)| element).ok_or_else(|| {
            minifenl::Error::Invalid(format!("element type {name:?}: choose one of {}", ElementType::volume_names()))
        })
    };
    Named { names: ElementType::volumes().map(|(_, name)| name).collect(), parse }
}

/// Returns the parser of a flag whose values have these names, or `auto`.
pub fn auto_or<T: FromStr<Err = minifenl::Error>>(names: impl IntoIterator<Item = &'static str>) -> Named<T> {
    named(["auto"].into_iter().chain(names))
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Named<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, flag: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        self.parse.parse_ref(command, flag, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().map(|&name| PossibleValue::new(name))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_parsed_by_its_type_and_listed() {
        use minifenl::run::Device;
        let parser = auto_or::<Device>(["cpu", "cuda"]);
        let flag = Arg::new("device").long("device").value_parser(parser.clone());
        let parse = |value: &str| {
            let command = Command::new("x").arg(flag.clone());
            command
                .try_get_matches_from(["x", "--device", value])
                .map(|found| *found.get_one::<Device>("device").unwrap())
        };
        // The list has no cuda:1.
        assert_eq!(parse("cuda:1").unwrap(), Device::Cuda(Some(1)));
        assert_eq!(parse("cpu").unwrap(), Device::Cpu);
        let text = parse("gpu").unwrap_err().to_string();
        assert!(text.contains("'gpu' for '--device <device>'") && text.contains("auto, cpu, cuda, cuda:K"), "{text}");
        let names: Vec<_> = parser.possible_values().unwrap().map(|value| value.get_name().to_string()).collect();
        assert_eq!(names, ["auto", "cpu", "cuda"]);
    }
}
