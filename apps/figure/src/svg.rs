//! Writes an SVG: a head with title and description, then shapes and text with fractional coordinates.

use crate::text::{escaped, wrapped};
use std::fmt::Write;

/// Around everything, in pixels.
pub(crate) const MARGIN: f64 = 14.0;
/// Font sizes of the title and of all other text.
pub(crate) const TITLE: f64 = 16.0;
pub(crate) const TEXT: f64 = 12.0;
/// From one line of text to the next, over the font size.
const LINE: f64 = 1.35;
const FAMILY: &str = "'DejaVu Sans', Helvetica, Arial, sans-serif";

/// What stands above the picture.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// One line for people.
    pub title: String,
    /// Lines below the title: machine, version, what the numbers are.
    pub notes: Vec<String>,
}

/// Horizontal place of a text relative to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// An SVG that grows.
#[derive(Debug)]
pub(crate) struct Svg {
    body: String,
}

/// Two decimals at most, no zeros at the end.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".into() } else { short.into() }
}

/// Title and notes broken into lines, each with its font size.
fn lines(head: &Head, width: f64) -> Vec<(String, f64)> {
    let sized =
        |text: &str, size: f64| wrapped(text, size, width - 2.0 * MARGIN).into_iter().map(move |line| (line, size));
    sized(&head.title, TITLE).chain(head.notes.iter().flat_map(|note| sized(note, TEXT))).collect()
}

/// Height of title and notes in a picture of this width.
pub(crate) fn head_height(head: &Head, width: f64) -> f64 {
    MARGIN + lines(head, width).iter().map(|(_, size)| LINE * size).sum::<f64>() + 6.0
}

impl Svg {
    /// Starts a picture of this size with its head. The description is for people who do not see it.
    pub fn new([width, height]: [f64; 2], head: &Head, description: &str) -> Self {
        let [w, h] = [number(width), number(height)];
        let mut body = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" \
             font-family=\"{FAMILY}\" font-size=\"{TEXT}\">\n<title>{}</title>\n<desc>{}</desc>\n\
             <rect width=\"{w}\" height=\"{h}\" fill=\"#fff\"/>\n",
            escaped(&head.title),
            escaped(description)
        );
        let mut y = MARGIN;
        for (line, size) in lines(head, width) {
            y += LINE * size;
            let size = if size == TEXT { String::new() } else { format!(" font-size=\"{size}\"") };
            let _ = writeln!(
                body,
                "<text x=\"{}\" y=\"{}\"{size}>{}</text>",
                number(MARGIN),
                number(y - 0.3 * TEXT),
                escaped(&line)
            );
        }
        Svg { body }
    }

    /// Opens a group with these attributes.
    pub fn open(&mut self, attributes: &str) {
        let _ = writeln!(self.body, "<g {attributes}>");
    }

    /// Closes the group that was opened last.
    pub fn close(&mut self) {
        self.body.push_str("</g>\n");
    }

    /// A text whose letters are centred about `y`.
    pub fn text(&mut self, [x, y]: [f64; 2], anchor: Anchor, attributes: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        // Half the height of a capital letter.
        let y = number(y + 0.36 * TEXT);
        let _ = writeln!(self.body, "<text x=\"{}\" y=\"{y}\"{anchor}{attributes}>{}</text>", number(x), escaped(text));
    }

    /// A text that is read from bottom to top, centred about a point.
    pub fn upright(&mut self, [x, y]: [f64; 2], text: &str) {
        let turn = format!(" transform=\"rotate(-90 {} {})\"", number(x), number(y));
        self.text([x, y], Anchor::Middle, &turn, text);
    }

    /// A path by its data; nothing for empty data.
    pub fn path(&mut self, data: &str, attributes: &str) {
        if !data.is_empty() {
            let _ = writeln!(self.body, "<path d=\"{data}\" {attributes}/>");
        }
    }

    /// A `polyline` or a `polygon`.
    pub fn poly(&mut self, element: &str, points: &[[f64; 2]], attributes: &str) {
        let points: Vec<String> = points.iter().map(|[x, y]| format!("{},{}", number(*x), number(*y))).collect();
        let _ = writeln!(self.body, "<{element} points=\"{}\" {attributes}/>", points.join(" "));
    }

    /// A rectangle from its upper left corner.
    pub fn rect(&mut self, [x, y]: [f64; 2], [width, height]: [f64; 2], attributes: &str) {
        let [x, y, width, height] = [x, y, width, height].map(number);
        let _ = writeln!(self.body, "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" {attributes}/>");
    }

    /// The whole text.
    pub fn finish(self) -> String {
        self.body + "</svg>\n"
    }
}

#[test]
fn numbers_have_two_decimals_at_most() {
    assert_eq!([1.0, 0.126, -0.001, 2.5, -3.999].map(number), ["1", "0.13", "0", "2.5", "-4"]);
}
