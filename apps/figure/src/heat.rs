//! Panels of coloured fields with their numbers: blue above 1, red below, white about 1, the same colours in every picture.
//! All panels share both axes, whose numbers stand at the left and below.

use crate::svg::{Anchor, Head, MARGIN, Svg, TEXT, head_height, number};
use crate::text::width;

const CELL: [f64; 2] = [44.0, 22.0];
/// Font size of the numbers in the fields.
const SMALL: f64 = 11.5;
/// For the numbers and the name of the vertical axis, and of the horizontal one.
const LEFT: f64 = 58.0;
const BELOW: f64 = 46.0;
/// Above a panel, for its title, and between two panels side by side.
const ABOVE: f64 = 30.0;
const BETWEEN: f64 = 20.0;
/// Height of the key of the colours, and the width of a colour there.
const KEY: f64 = 46.0;
const SWATCH: f64 = 40.0;
/// From one colour to the next.
const STEPS: [f64; 11] = [0.1, 0.2, 0.5, 0.9, 1.1, 2.0, 5.0, 10.0, 30.0, 100.0, 300.0];
/// One more than steps: ColorBrewer's reds and blues.
const COLOURS: [&str; 12] = [
    "#a50f15", "#de2d26", "#fb6a4a", "#fcbba1", "#fafafa", "#deebf7", "#c6dbef", "#9ecae1", "#6baed6", "#4292c6",
    "#2171b5", "#084594",
];
/// Colours that need white text.
const DARK: [&str; 4] = ["#a50f15", "#de2d26", "#2171b5", "#084594"];

/// Fields of one variant.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Above the fields.
    pub title: String,
    /// `[row][column]`
    pub values: Vec<Vec<Option<f64>>>,
}

/// Panels with shared axes, two side by side.
#[derive(Clone, Debug)]
pub struct HeatMap {
    /// Name of the horizontal axis and its labels from left to right.
    pub x: (String, Vec<String>),
    /// Name of the vertical axis and its labels from below.
    pub y: (String, Vec<String>),
    /// What the numbers are.
    pub value: String,
    /// In reading order.
    pub panels: Vec<Panel>,
}

/// Two or three digits.
fn short(value: f64) -> String {
    match value {
        value if value >= 9.95 || value.fract() == 0.0 => format!("{value:.0}"),
        value if value >= 0.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

fn colour(value: f64) -> &'static str {
    COLOURS[STEPS.partition_point(|step| *step <= value)]
}

impl HeatMap {
    /// The map as SVG.
    pub fn svg(&self, head: &Head) -> String {
        let [rows, columns] = [self.y.1.len() as f64, self.x.1.len() as f64];
        let across = self.panels.len().clamp(1, 2);
        let titles = self.panels.iter().map(|panel| width(&panel.title, TEXT)).fold(0.0, f64::max);
        let field = (columns * CELL[0]).max(titles);
        let key = LEFT + SWATCH * COLOURS.len() as f64;
        let grid = LEFT + field * across as f64 + BETWEEN * (across - 1) as f64;
        let wide = (2.0 * MARGIN + grid.max(key)).ceil();
        let top = head_height(head, wide).ceil();
        let down = self.panels.len().div_ceil(across);
        let step = ABOVE + rows * CELL[1];
        let [left, first] = [MARGIN + LEFT, top + KEY];
        let bottom = first + step * down as f64;
        let mut svg = Svg::new([wide, bottom + BELOW + MARGIN], head, &self.description());
        self.key([left, top + 4.0], &mut svg);
        for (i, panel) in self.panels.iter().enumerate() {
            let x = left + (field + BETWEEN) * (i % across) as f64;
            let y = first + step * (i / across) as f64 + ABOVE;
            panel.draw([x, y], &mut svg);
            if i % across == 0 {
                for (row, label) in self.y.1.iter().rev().enumerate() {
                    svg.text([x - 7.0, y + CELL[1] * (row as f64 + 0.5)], Anchor::End, "", label);
                }
            }
            // The lowest panel of its column has the labels.
            if i + across >= self.panels.len() {
                let below = y + rows * CELL[1];
                for (column, label) in self.x.1.iter().enumerate() {
                    svg.text([x + CELL[0] * (column as f64 + 0.5), below + 13.0], Anchor::Middle, "", label);
                }
                svg.text([x + 0.5 * columns * CELL[0], below + 33.0], Anchor::Middle, "", &self.x.0);
            }
        }
        svg.upright([MARGIN + 0.5 * TEXT, 0.5 * (first + ABOVE + bottom)], &self.y.0);
        svg.finish()
    }

    /// Axes, and the range of the numbers of each panel.
    fn description(&self) -> String {
        let panels = self.panels.iter().map(|panel| {
            let (low, high) = panel
                .values
                .iter()
                .flatten()
                .flatten()
                .fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(*value), high.max(*value)));
            let range = if low <= high { format!("{} to {}", short(low), short(high)) } else { "no numbers".into() };
            format!("{}: {range}", panel.title)
        });
        let panels: Vec<String> = panels.collect();
        format!("Heat maps of {} by {} and {}. {}.", self.value, self.x.0, self.y.0, panels.join("; "))
    }

    /// Which colour is which number; numbers stand where one colour ends.
    fn key(&self, [x, y]: [f64; 2], svg: &mut Svg) {
        svg.text([x - 7.0, y + 8.0], Anchor::End, "", &self.value);
        for (i, colour) in COLOURS.iter().enumerate() {
            let at = x + SWATCH * i as f64;
            svg.rect([at, y], [SWATCH, 16.0], &format!("fill=\"{colour}\""));
            if let Some(step) = STEPS.get(i) {
                svg.text([at + SWATCH, y + 26.0], Anchor::Middle, "", &number(*step));
            }
        }
        svg.rect([x, y], [SWATCH * COLOURS.len() as f64, 16.0], "fill=\"none\" stroke=\"#969696\"");
    }
}

impl Panel {
    fn draw(&self, [x, y]: [f64; 2], svg: &mut Svg) {
        svg.text([x, y - 12.0], Anchor::Start, "", &self.title);
        let rows = self.values.len() as f64;
        let columns = self.values.first().map_or(0, Vec::len) as f64;
        let from_top = || self.values.iter().rev().enumerate().map(|(row, values)| (y + CELL[1] * row as f64, values));
        for (y, values) in from_top() {
            let fills: Vec<Option<&str>> = values.iter().map(|value| value.map(colour)).collect();
            let mut x = x;
            // Neighbours of one colour are one field.
            for fields in fills.chunk_by(|a, b| a == b) {
                let wide = CELL[0] * fields.len() as f64;
                if let Some(fill) = fields[0] {
                    svg.rect([x, y], [wide, CELL[1]], &format!("fill=\"{fill}\""));
                }
                x += wide;
            }
        }
        svg.open(&format!("text-anchor=\"middle\" font-size=\"{SMALL}\""));
        for (y, values) in from_top() {
            for (column, value) in values.iter().enumerate() {
                let Some(value) = value else { continue };
                let ink = if DARK.contains(&colour(*value)) { " fill=\"#fff\"" } else { "" };
                svg.text([x + CELL[0] * (column as f64 + 0.5), y + 0.5 * CELL[1]], Anchor::Start, ink, &short(*value));
            }
        }
        svg.close();
        svg.rect([x, y], [columns * CELL[0], rows * CELL[1]], "fill=\"none\" stroke=\"#bebebe\"");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_numbers_equal_those_by_hand() {
        assert_eq!(
            [0.05, 0.1, 1.0, 1.1, 299.0, 300.0].map(colour).map(|c| COLOURS.iter().position(|d| *d == c)),
            [Some(0), Some(1), Some(4), Some(5), Some(10), Some(11)]
        );
        assert_eq!([0.123, 1.0, 1.26, 9.96, 12.4, 1234.0].map(short), ["0.12", "1", "1.3", "10", "12", "1234"]);
    }

    /// Black and white have the same contrast on a luminance L with (L + 0.05)^2 = 0.05 x 1.05: L = 0.179.
    #[test]
    fn numbers_are_white_on_dark_fields_alone() {
        for colour in COLOURS {
            let part = |at: usize| {
                let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
                if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            let luminance = 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
            assert_eq!(DARK.contains(&colour), luminance < 0.179, "{colour} {luminance}");
        }
    }
}
