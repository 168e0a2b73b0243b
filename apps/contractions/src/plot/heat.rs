//! Panels of coloured fields with their numbers: blue above 1, red below, white about 1, the same colours in every picture.

use super::figure::Panel;
use super::names::{plain, short};
use super::{FONT, HEAD};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const CELL: (i32, i32) = (44, 22);
/// Letters, but for titles.
const SMALL: i32 = 13;
/// Around the fields of a panel: left, top, right, bottom.
const MARGIN: (i32, i32, i32, i32) = (66, 34, 18, 48);
/// Height of the key of the colours.
const KEY: i32 = 44;
/// Width of a colour in the key.
const SWATCH: i32 = 40;
/// From one colour to the next.
const STEPS: [f64; 11] = [0.1, 0.2, 0.5, 0.9, 1.1, 2.0, 5.0, 10.0, 30.0, 100.0, 300.0];
/// One more than steps: ColorBrewer's reds and blues.
const COLORS: [[u8; 3]; 12] = [
    [165, 15, 21],
    [222, 45, 38],
    [251, 106, 74],
    [252, 187, 161],
    [250, 250, 250],
    [222, 235, 247],
    [198, 219, 239],
    [158, 202, 225],
    [107, 174, 214],
    [66, 146, 198],
    [33, 113, 181],
    [8, 69, 148],
];

fn extent(panels: &[Panel]) -> (i32, i32) {
    let most = |of: fn(&Panel) -> usize| panels.iter().map(of).max().unwrap_or(0) as i32;
    let (columns, rows) = (most(|panel| panel.terms.len()), most(|panel| panel.memory.len()));
    // Room for the title, which starts with the fields.
    let letters = most(|panel| 7 * panel.title.len());
    ((columns * CELL.0).max(220).max(letters) + MARGIN.0 + MARGIN.2, rows * CELL.1 + MARGIN.1 + MARGIN.3)
}

/// Panels side by side: the layouts of a variant and its sizes.
fn columns(panels: &[Panel]) -> usize {
    panels.len().clamp(1, 2)
}

/// Width and height.
pub fn size(panels: &[Panel]) -> (u32, u32) {
    let ((width, height), columns) = (extent(panels), columns(panels));
    let rows = panels.len().div_ceil(columns);
    // Room for the key, also over one narrow panel.
    let key = SWATCH * COLORS.len() as i32 + 2 * MARGIN.2 + 90;
    ((width * columns as i32).max(key) as u32, height as u32 * rows as u32 + (HEAD + KEY) as u32)
}

type Drawn<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

fn text(size: i32, color: RGBColor, horizontal: HPos) -> TextStyle<'static> {
    (FONT, size).into_font().color(&color).pos(Pos::new(horizontal, VPos::Center))
}

/// Draws key and panels.
pub fn draw<B: DrawingBackend>(panels: &[Panel], root: &DrawingArea<B, Shift>) -> Drawn<B> {
    key(root)?;
    for (i, one) in panels.iter().enumerate() {
        let ((width, height), columns) = (extent(panels), columns(panels));
        let at = ((i % columns) as i32 * width, (i / columns) as i32 * height + HEAD + KEY);
        panel(one, at, root)?;
    }
    Ok(())
}

/// Which colour is which speedup; numbers stand where one colour ends.
fn key<B: DrawingBackend>(root: &DrawingArea<B, Shift>) -> Drawn<B> {
    let (x0, y0) = (12 + 66, HEAD + 4);
    root.draw(&Text::new("speedup", (x0 - 8, y0 + 8), text(SMALL, BLACK, HPos::Right)))?;
    for i in 0..COLORS.len() {
        let x = x0 + i as i32 * SWATCH;
        root.draw(&Rectangle::new([(x, y0), (x + SWATCH, y0 + 16)], color(i).filled()))?;
        if let Some(step) = STEPS.get(i) {
            let at = (x + SWATCH, y0 + 26);
            root.draw(&Text::new(step.to_string(), at, text(SMALL, BLACK, HPos::Center)))?;
        }
    }
    let frame = Rectangle::new([(x0, y0), (x0 + SWATCH * COLORS.len() as i32, y0 + 16)], RGBColor(150, 150, 150));
    root.draw(&frame)
}

fn panel<B: DrawingBackend>(panel: &Panel, (left, top): (i32, i32), root: &DrawingArea<B, Shift>) -> Drawn<B> {
    let (x0, y0) = (left + MARGIN.0, top + MARGIN.1);
    let (rows, columns) = (panel.memory.len() as i32, panel.terms.len() as i32);
    root.draw(&Text::new(panel.title.clone(), (x0, top + MARGIN.1 / 2 + 4), text(14, BLACK, HPos::Left)))?;
    for (row, values) in panel.values.iter().enumerate() {
        // The largest memory on top.
        let y = y0 + (rows - 1 - row as i32) * CELL.1;
        let name = plain(panel.memory[row]);
        root.draw(&Text::new(name, (x0 - 6, y + CELL.1 / 2), text(SMALL, BLACK, HPos::Right)))?;
        let fills: Vec<Option<RGBColor>> = values.iter().map(|value| Some(fill_of((*value)?))).collect();
        let mut x = x0;
        // Neighbours of one colour are one field.
        for fields in fills.chunk_by(|a, b| a == b) {
            let end = x + fields.len() as i32 * CELL.0;
            if let Some(fill) = fields[0] {
                root.draw(&Rectangle::new([(x, y), (end, y + CELL.1)], fill.filled()))?;
            }
            x = end;
        }
        for (column, (value, fill)) in values.iter().zip(&fills).enumerate() {
            let (Some(value), Some(fill)) = (value, fill) else { continue };
            let at = (x0 + column as i32 * CELL.0 + CELL.0 / 2, y + CELL.1 / 2);
            root.draw(&Text::new(short(*value), at, text(SMALL, ink(*fill), HPos::Center)))?;
        }
    }
    let frame = [(x0, y0), (x0 + columns * CELL.0, y0 + rows * CELL.1)];
    root.draw(&Rectangle::new(frame, RGBColor(190, 190, 190)))?;
    let bottom = y0 + rows * CELL.1;
    for (column, terms) in panel.terms.iter().enumerate() {
        let at = (x0 + column as i32 * CELL.0 + CELL.0 / 2, bottom + 10);
        root.draw(&Text::new(terms.to_string(), at, text(SMALL, BLACK, HPos::Center)))?;
    }
    let at = (x0 + columns * CELL.0 / 2, bottom + 27);
    root.draw(&Text::new("contraction size", at, text(SMALL, BLACK, HPos::Center)))?;
    let up = (FONT, SMALL).into_font().transform(FontTransform::Rotate270).color(&BLACK);
    let at = (left + 14, y0 + rows * CELL.1 / 2);
    root.draw(&Text::new("memory, MiB", at, up.pos(Pos::new(HPos::Center, VPos::Center))))
}

fn color(step: usize) -> RGBColor {
    let [r, g, b] = COLORS[step];
    RGBColor(r, g, b)
}

fn fill_of(value: f64) -> RGBColor {
    color(STEPS.partition_point(|step| *step <= value))
}

/// Black on light, white on dark: by luminance as sRGB has it.
fn ink(fill: RGBColor) -> RGBColor {
    let linear = |part: u8| (f64::from(part) / 255.0).powf(2.2);
    let light = 0.2126 * linear(fill.0) + 0.7152 * linear(fill.1) + 0.0722 * linear(fill.2);
    // Where both have the same contrast, (light + 0.05)^2 = 0.05 x 1.05.
    if light > 0.18 { BLACK } else { WHITE }
}
