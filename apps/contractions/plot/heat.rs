//! Panels of coloured fields with their numbers: blue above 1, red below, white at 1, on a logarithmic scale.

use super::FONT;
use super::figure::{Heat, Panel};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const CELL: (i32, i32) = (44, 22);
/// Around the fields of a panel: left, top, right, bottom.
const MARGIN: (i32, i32, i32, i32) = (64, 30, 14, 44);
const TITLE: i32 = 30;

fn extent(heat: &Heat) -> (i32, i32) {
    let most = |of: fn(&Panel) -> usize| heat.panels.iter().map(of).max().unwrap_or(0) as i32;
    let (columns, rows) = (most(|panel| panel.terms.len()), most(|panel| panel.memory.len()));
    ((columns * CELL.0).max(220) + MARGIN.0 + MARGIN.2, rows * CELL.1 + MARGIN.1 + MARGIN.3)
}

/// Panels side by side.
fn columns(heat: &Heat) -> usize {
    (1100 / extent(heat).0 as usize).clamp(1, heat.panels.len().clamp(1, 3))
}

/// Width and height.
pub fn size(heat: &Heat) -> (u32, u32) {
    let ((width, height), columns) = (extent(heat), columns(heat));
    let rows = heat.panels.len().div_ceil(columns);
    // Room for the title, also over one narrow panel.
    ((width as u32 * columns as u32).max(9 * heat.title.len() as u32), height as u32 * rows as u32 + TITLE as u32)
}

type Drawn<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

fn text(size: i32, color: RGBColor, horizontal: HPos) -> TextStyle<'static> {
    (FONT, size).into_font().color(&color).pos(Pos::new(horizontal, VPos::Center))
}

/// Draws all panels.
pub fn draw<B: DrawingBackend>(heat: &Heat, root: &DrawingArea<B, Shift>) -> Drawn<B> {
    root.draw(&Text::new(heat.title.clone(), (12, TITLE / 2), text(17, BLACK, HPos::Left)))?;
    let largest = heat.panels.iter().flat_map(|panel| panel.values.iter().flatten().flatten());
    let scale = largest.fold(2.0f64, |scale, value| scale.max(*value).max(1.0 / value)).ln();
    for (i, one) in heat.panels.iter().enumerate() {
        let (width, height) = extent(heat);
        let at = ((i % columns(heat)) as i32 * width, (i / columns(heat)) as i32 * height + TITLE);
        panel(one, scale, at, root)?;
    }
    Ok(())
}

fn panel<B: DrawingBackend>(
    panel: &Panel,
    scale: f64,
    (left, top): (i32, i32),
    root: &DrawingArea<B, Shift>,
) -> Drawn<B> {
    let (x0, y0) = (left + MARGIN.0, top + MARGIN.1);
    let (rows, columns) = (panel.memory.len() as i32, panel.terms.len() as i32);
    root.draw(&Text::new(panel.title.clone(), (x0, top + MARGIN.1 / 2), text(14, BLACK, HPos::Left)))?;
    for (row, values) in panel.values.iter().enumerate() {
        // The largest memory on top.
        let y = y0 + (rows - 1 - row as i32) * CELL.1;
        let name = short(panel.memory[row]);
        root.draw(&Text::new(name, (x0 - 6, y + CELL.1 / 2), text(12, BLACK, HPos::Right)))?;
        for (column, value) in values.iter().enumerate() {
            let x = x0 + column as i32 * CELL.0;
            let Some(value) = value else { continue };
            let (fill, ink) = colors(value.ln() / scale);
            root.draw(&Rectangle::new([(x, y), (x + CELL.0, y + CELL.1)], fill.filled()))?;
            let at = (x + CELL.0 / 2, y + CELL.1 / 2);
            root.draw(&Text::new(short(*value), at, text(12, ink, HPos::Center)))?;
        }
    }
    let bottom = y0 + rows * CELL.1;
    for (column, terms) in panel.terms.iter().enumerate() {
        let at = (x0 + column as i32 * CELL.0 + CELL.0 / 2, bottom + 10);
        root.draw(&Text::new(terms.to_string(), at, text(12, BLACK, HPos::Center)))?;
    }
    let at = (x0 + columns * CELL.0 / 2, bottom + 27);
    root.draw(&Text::new("contraction size", at, text(12, BLACK, HPos::Center)))?;
    root.draw(&Text::new("MiB", (x0 - 6, y0 - 8), text(12, BLACK, HPos::Right)))
}

/// Of a number from -1 to 1: the field's and the text's.
fn colors(at: f64) -> (RGBColor, RGBColor) {
    let end = if at < 0.0 { [178, 24, 43] } else { [8, 64, 129] };
    let share = at.abs().clamp(0.0, 1.0);
    let [r, g, b] = end.map(|end| (255.0 + (f64::from(end) - 255.0) * share) as u8);
    (RGBColor(r, g, b), if share > 0.5 { WHITE } else { BLACK })
}

/// Two or three digits.
fn short(value: f64) -> String {
    match value {
        value if value >= 9.95 || value.fract() == 0.0 => format!("{value:.0}"),
        value if value >= 0.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}
