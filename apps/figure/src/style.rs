//! Colour and marker of a series by its name, from `styles.csv`.
//!
//! A name that the table lacks takes the first colour and the first marker that no other series of the figure has.

use crate::marker::Marker;

/// Colours by their names in the table; each has a contrast of at least 3 on white.
pub(crate) const COLOURS: [(&str, &str); 10] = [
    ("blue", "#0072b2"),
    ("vermilion", "#d55e00"),
    ("green", "#00936b"),
    ("pink", "#c45c97"),
    ("sky", "#2e9bd6"),
    ("mustard", "#b38600"),
    ("grey", "#6a6a6a"),
    ("brown", "#783c00"),
    ("black", "#000000"),
    ("purple", "#6e3296"),
];

/// Names with their colours and markers; `benches/plot.py` reads the same file.
const TABLE: &str = include_str!("styles.csv");

/// How a series looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Style {
    /// Colour as `#rrggbb`.
    pub colour: &'static str,
    /// Shape at each point.
    pub marker: Marker,
}

/// The style that the table has for a name.
fn known(name: &str) -> Option<Style> {
    let cells = TABLE.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>()).find(|cells| cells[0] == name)?;
    let (_, colour) = COLOURS.into_iter().find(|(colour, _)| *colour == cells[1])?;
    let (marker, _) = Marker::ALL.into_iter().find(|(_, marker)| *marker == cells[2])?;
    Some(Style { colour, marker })
}

/// Whether the table has a style for a name.
pub fn is_known(name: &str) -> bool {
    known(name).is_some()
}

/// Returns the styles of a figure's series by the names of their variants. A name that comes again keeps its colour and takes the
/// next free marker.
pub fn styles(names: &[&str]) -> Vec<Style> {
    let mut taken: Vec<Style> = Vec::new();
    // Known names first, so that their look does not depend on the others of the figure.
    let mut styles: Vec<Option<Style>> = names.iter().map(|name| known(name)).collect();
    for at in 0..names.len() {
        let is_first = !names[..at].contains(&names[at]);
        match styles[at] {
            Some(style) if is_first => taken.push(style),
            _ => styles[at] = None,
        }
    }
    let mut all = Vec::new();
    for at in 0..names.len() {
        let style = styles[at].unwrap_or_else(|| {
            let before = names[..at].iter().position(|name| *name == names[at]);
            let used = |is_used: &dyn Fn(&Style) -> bool| taken.iter().filter(|style| is_used(style)).count();
            let least = COLOURS.into_iter().min_by_key(|(_, colour)| used(&|style| style.colour == *colour));
            let colour = before.map_or(least.map_or("#000000", |(_, colour)| colour), |at| {
                let first: &Style = &all[at];
                first.colour
            });
            let count = |marker| {
                let is_pair = taken.contains(&Style { colour, marker });
                (is_pair, used(&|style| style.marker == marker))
            };
            let marker = Marker::ALL.into_iter().min_by_key(|(marker, _)| count(*marker));
            Style { colour, marker: marker.map_or(Marker::Circle, |(marker, _)| marker) }
        });
        if styles[at].is_none() {
            taken.push(style);
        }
        all.push(style);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_line_of_the_table_is_a_style() {
        assert!(TABLE.starts_with("name,colour,marker\n"));
        let mut names = HashSet::new();
        for line in TABLE.lines().skip(1) {
            let name = line.split(',').next().unwrap();
            assert!(known(name).is_some() && line.split(',').count() == 3, "{line}");
            assert!(names.insert(name), "{name} twice");
        }
        assert!(names.len() > 50);
        assert!(is_known("flat") && !is_known("no such name"));
    }

    /// (L1 + 0.05) / (L2 + 0.05) of the relative luminances, WCAG 2.
    #[test]
    fn every_colour_is_seen_on_white() {
        for (name, colour) in COLOURS {
            let part = |at: usize| {
                let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
                if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            let luminance = 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
            assert!(1.05 / (luminance + 0.05) >= 3.0, "{name}: {}", 1.05 / (luminance + 0.05));
        }
    }

    #[test]
    fn a_name_looks_the_same_beside_any_others() {
        let alone = styles(&["flat"])[0];
        assert_eq!(alone, Style { colour: "#0072b2", marker: Marker::Circle });
        assert_eq!(styles(&["new", "auto", "flat"])[2], alone);
        // Ten unknown names and two known ones: all differ, in colour as far as colours reach, and in marker.
        let names = ["a", "b", "c", "d", "e", "f", "flat", "g", "h", "auto", "i", "j"];
        let all = styles(&names);
        assert_eq!(all.iter().map(|style| style.marker).collect::<HashSet<_>>().len(), 12, "{all:?}");
        assert_eq!(all.iter().map(|style| style.colour).collect::<HashSet<_>>().len(), 10, "{all:?}");
        // A name that comes again has its colour and another marker.
        let twice = styles(&["flat", "auto", "flat"]);
        assert!(twice[0] == alone && twice[2].colour == alone.colour && twice[2].marker != alone.marker, "{twice:?}");
        let thirty: Vec<String> = (0..30).map(|i| format!("name {i}")).collect();
        let names: Vec<&str> = thirty.iter().map(String::as_str).collect();
        assert_eq!(styles(&names).into_iter().collect::<HashSet<_>>().len(), 30);
    }
}
