//! Lines on two logarithmic axes, the host's dashed, each with a mark of its own and its name where it ends.

use super::figure::{Line, Lines};
use super::names::plain;
use super::ticks::{Ticks, tens};
use super::{FONT, HEAD};
use plotters::coord::Shift;
use plotters::coord::combinators::{BindKeyPoints, LogCoord};
use plotters::coord::ranged1d::{BoldPoints, LightPoints, Ranged};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// For the names, at least.
const NAMES: i32 = 190;
/// Before the letters of a name.
const KEY: i32 = 36;
const ROW: i32 = 19;
/// From the end of a line to its name, where the line goes on to the right border.
const NEAR: i32 = 80;
/// Along the horizontal axis, at most.
const LABELS: usize = 11;
/// Half a mark.
const MARK: i32 = 5;
/// Of Okabe and Ito, told apart by everybody, then darker ones.
const COLORS: [RGBColor; 10] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(90, 90, 90),
    RGBColor(120, 60, 0),
    RGBColor(0, 0, 0),
    RGBColor(110, 50, 150),
];

/// Width and height.
pub fn size(lines: &Lines) -> (u32, u32) {
    ((670 + names(lines)) as u32, (lines.lines.len() as u32 * ROW as u32 + 90).max(440) + HEAD as u32)
}

/// Width of the names.
fn names(lines: &Lines) -> i32 {
    let letters = lines.lines.iter().map(|line| line.name.len()).max().unwrap_or(0) as i32;
    NAMES.max(KEY + 7 * letters + 8)
}

/// A little more than all of the numbers.
fn range(numbers: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let (low, high) = numbers.fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(x), high.max(x)));
    if low <= high { low / 1.2..high * 1.2 } else { 1.0..10.0 }
}

type Drawn<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// Draws axes, lines and names.
pub fn draw<B: DrawingBackend>(lines: &Lines, root: &DrawingArea<B, Shift>) -> Drawn<B> {
    let (width, height) = root.dim_in_pixel();
    let (_, below) = root.split_vertically(HEAD);
    let (plot, _) = below.split_horizontally(width as i32 - names(lines));
    let points = || lines.lines.iter().flat_map(|line| &line.points);
    let [across, up] = [range(points().map(|point| point.0)), range(points().map(|point| point.1))];
    let [at_x, at_y] = [twos(&across), tens(&up)];
    let mut chart = ChartBuilder::on(&plot).margin(10).x_label_area_size(42).y_label_area_size(64).build_cartesian_2d(
        across.log_scale().base(2.0).with_key_points(at_x.labels).with_light_points(at_x.lines),
        up.log_scale().with_key_points(at_y.labels).with_light_points(at_y.lines),
    )?;
    chart
        .configure_mesh()
        .x_desc(lines.x)
        .y_desc(lines.y)
        .label_style((FONT, 13))
        .axis_desc_style((FONT, 14))
        .light_line_style(RGBColor(240, 240, 240))
        .bold_line_style(RGBColor(215, 215, 215))
        .x_label_formatter(&|x| plain(*x))
        .y_label_formatter(&|y| plain(*y))
        .draw()?;
    let on_paper = |line: &Line| line.points.iter().map(|point| chart.backend_coord(point)).collect::<Vec<_>>();
    let paths: Vec<Vec<(i32, i32)>> = lines.lines.iter().map(on_paper).collect();
    let ends: Vec<i32> = paths.iter().map(|path| path.last().map_or(0, |end| end.1)).collect();
    let x = width as i32 - names(lines) + 4;
    let heights = beside(&ends, height as i32);
    // Below the lines, and dotted where one ends early, so that none is taken for measured.
    for (&end, &y) in paths.iter().filter_map(|path| path.last()).zip(&heights) {
        let guide = vec![end, (x, y)];
        if x - end.0 > NEAR {
            root.draw(&DashedPathElement::new(guide, 1, 6, RGBColor(140, 140, 140)))?;
        } else {
            root.draw(&PathElement::new(guide, RGBColor(190, 190, 190)))?;
        }
    }
    for (i, (line, y)) in lines.lines.iter().zip(heights).enumerate() {
        let color = COLORS[i % COLORS.len()];
        stroke(&paths[i], line.is_on_host, color, root)?;
        stroke(&[(x, y), (x + 30, y)], line.is_on_host, color, root)?;
        for &at in paths[i].iter().chain(&[(x + 15, y)]) {
            mark(i, at, color, root)?;
        }
        let text = (FONT, 13).into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
        root.draw(&Text::new(line.name.clone(), (x + KEY, y), text))?;
    }
    Ok(())
}

/// Powers of two, as plotters has them; within two octaves those and even steps.
fn twos(range: &std::ops::Range<f64>) -> Ticks {
    let coord: LogCoord<f64> = range.clone().log_scale().base(2.0).into();
    if range.end >= 4.0 * range.start {
        let lines = coord.key_points(LightPoints::new(LABELS, 10 * LABELS));
        return Ticks { labels: coord.key_points(BoldPoints(LABELS)), lines };
    }
    let first = 2f64.powf(range.start.log2().ceil());
    match tens(range) {
        Ticks { lines, .. } if 2.0 * first <= range.end => Ticks { labels: vec![first, 2.0 * first], lines },
        fine => fine,
    }
}

/// Heights of the names: near the ends of their lines, in their order, none over another.
fn beside(ends: &[i32], height: i32) -> Vec<i32> {
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by_key(|&i| ends[i]);
    let mut heights = ends.to_vec();
    let mut free = HEAD + 10;
    for &i in &order {
        heights[i] = heights[i].max(free);
        free = heights[i] + ROW;
    }
    let mut free = height - 20;
    for &i in order.iter().rev() {
        heights[i] = heights[i].min(free);
        free = heights[i] - ROW;
    }
    heights
}

fn stroke<B: DrawingBackend>(
    path: &[(i32, i32)],
    is_dashed: bool,
    color: RGBColor,
    root: &DrawingArea<B, Shift>,
) -> Drawn<B> {
    if is_dashed {
        return root.draw(&DashedPathElement::new(path.to_vec(), 7, 5, color.stroke_width(2)));
    }
    root.draw(&PathElement::new(path.to_vec(), color.stroke_width(2)))
}

/// Eight shapes, so that a line is known without its colour.
fn mark<B: DrawingBackend>(kind: usize, (x, y): (i32, i32), color: RGBColor, root: &DrawingArea<B, Shift>) -> Drawn<B> {
    const M: i32 = MARK;
    let shape = |corners: &[(i32, i32)]| {
        let corners: Vec<_> = corners.iter().map(|corner| (x + corner.0, y + corner.1)).collect();
        root.draw(&Polygon::new(corners, color.filled()))
    };
    match kind % 8 {
        0 => root.draw(&Circle::new((x, y), M, color.filled())),
        1 => shape(&[(-M, M), (M, M), (0, -M - 1)]),
        2 => root.draw(&Rectangle::new([(x - M + 1, y - M + 1), (x + M - 1, y + M - 1)], color.filled())),
        3 => shape(&[(-M - 1, 0), (0, M + 1), (M + 1, 0), (0, -M - 1)]),
        4 => root.draw(&Cross::new((x, y), M, color.stroke_width(2))),
        5 => {
            root.draw(&Circle::new((x, y), M, WHITE.filled()))?;
            root.draw(&Circle::new((x, y), M, color.stroke_width(2)))
        }
        6 => shape(&[(-M, -M), (M, -M), (0, M + 1)]),
        _ => {
            root.draw(&PathElement::new([(x - M - 1, y), (x + M + 1, y)], color.stroke_width(2)))?;
            root.draw(&PathElement::new([(x, y - M - 1), (x, y + M + 1)], color.stroke_width(2)))
        }
    }
}
