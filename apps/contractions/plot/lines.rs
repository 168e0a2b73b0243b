//! Lines on two logarithmic axes, with the names beside them.

use super::FONT;
use super::figure::Lines;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const LEGEND: i32 = 210;
const ROW: i32 = 18;
/// Of Okabe and Ito, told apart by everybody, then darker ones.
const COLORS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(90, 90, 90),
    RGBColor(120, 60, 0),
];

/// Width and height.
pub fn size(lines: &Lines) -> (u32, u32) {
    (860, (lines.lines.len() as u32 * ROW as u32 + 90).max(440))
}

/// A little more than all of the numbers.
fn range(numbers: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let (low, high) = numbers.fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(x), high.max(x)));
    if low <= high { low / 1.2..high * 1.2 } else { 1.0..10.0 }
}

/// Draws axes, lines and names.
pub fn draw<B: DrawingBackend>(
    lines: &Lines,
    root: &DrawingArea<B, Shift>,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let (width, _) = root.dim_in_pixel();
    let (plot, legend) = root.split_horizontally(width as i32 - LEGEND);
    let points = || lines.lines.iter().flat_map(|(_, points)| points);
    let mut chart = ChartBuilder::on(&plot)
        .caption(&lines.title, (FONT, 17))
        .margin(10)
        .x_label_area_size(42)
        .y_label_area_size(64)
        .build_cartesian_2d(
            range(points().map(|point| point.0)).log_scale().base(2.0),
            range(points().map(|point| point.1)).log_scale(),
        )?;
    chart
        .configure_mesh()
        .x_desc(lines.x)
        .y_desc(&lines.y)
        .label_style((FONT, 13))
        .axis_desc_style((FONT, 14))
        .light_line_style(RGBColor(240, 240, 240))
        .bold_line_style(RGBColor(215, 215, 215))
        .y_labels(12)
        .x_label_formatter(&|x| plain(*x))
        .y_label_formatter(&|y| plain(*y))
        .draw()?;
    for (i, (name, points)) in lines.lines.iter().enumerate() {
        let (color, mark) = (COLORS[i % COLORS.len()], i / COLORS.len());
        chart.draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))?;
        let y = 46 + i as i32 * ROW;
        legend.draw(&PathElement::new([(0, y), (22, y)], color.stroke_width(2)))?;
        let text = (FONT, 13).into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
        legend.draw(&Text::new(name.clone(), (28, y), text))?;
        match mark {
            0 => {
                chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, color.filled())))?;
                legend.draw(&Circle::new((11, y), 3, color.filled()))?;
            }
            1 => {
                chart.draw_series(points.iter().map(|point| TriangleMarker::new(*point, 5, color.filled())))?;
                legend.draw(&TriangleMarker::new((11, y), 5, color.filled()))?;
            }
            _ => {
                chart.draw_series(points.iter().map(|point| Cross::new(*point, 4, color.stroke_width(2))))?;
                legend.draw(&Cross::new((11, y), 4, color.stroke_width(2)))?;
            }
        }
    }
    Ok(())
}

/// Without a row of zeros.
fn plain(value: f64) -> String {
    match value.abs() {
        size if size >= 1e5 || (size < 1e-3 && size > 0.0) => format!("{value:.0e}"),
        size if size >= 10.0 => format!("{value:.0}"),
        _ => format!("{}", (value * 1e3).round() / 1e3),
    }
}
