//! Line charts with markers, labels beside the lines, dashed limits and percentile bands.

use crate::labels::{ROW, beside};
use crate::marker::{Paint, REACH};
use crate::scale::{Kind, Scale, plain};
use crate::style::Style;
use crate::svg::{Anchor, Head, MARGIN, Svg, TEXT, head_height, number};
use crate::text::width;
use std::fmt::Write;

/// Width of the axes.
const ACROSS: f64 = 560.0;
/// Least height of the axes.
const UP: f64 = 370.0;
/// For the numbers and the name of the vertical axis, and of the horizontal one.
const LEFT: f64 = 64.0;
const BELOW: f64 = 44.0;
/// From the axes to the labels, and from the sample of a line to its name.
const GAP: f64 = 22.0;
const SAMPLE: f64 = 34.0;
/// From the end of a line to its label, where the line goes on to the right border.
const NEAR: f64 = 80.0;
/// Dashes of the lines that are dashed, and of a limit.
const DASHES: &str = "7 4";
const LIMIT: &str = "2.5 3";

/// One axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Quantity and unit.
    pub name: String,
    /// How numbers are spread along it.
    pub kind: Kind,
}

/// A measured number with its percentiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Along the horizontal axis.
    pub x: f64,
    /// Along the vertical axis.
    pub y: f64,
    /// The 10th and the 90th percentile of `y`, if known.
    pub band: Option<[f64; 2]>,
}

/// A line with markers.
#[derive(Clone, Debug)]
pub struct Series {
    /// Label at the end of the line.
    pub name: String,
    /// Colour and marker.
    pub style: Style,
    /// Dashed lines are of another kind, which a note of the head names.
    pub is_dashed: bool,
    /// By increasing `x`.
    pub points: Vec<Point>,
}

/// What a machine can do at best: a thin dashed line without markers.
#[derive(Clone, Debug)]
pub struct Limit {
    /// Label at the end of the line.
    pub name: String,
    /// x and y, by increasing x.
    pub points: Vec<[f64; 2]>,
}

/// A chart.
#[derive(Clone, Debug)]
pub struct LineChart {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Lines with markers.
    pub series: Vec<Series>,
    /// Lines without.
    pub limits: Vec<Limit>,
}

/// The place of the axes and what they show.
struct Frame {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
    x: Scale,
    y: Scale,
}

impl Frame {
    fn at(&self, x: f64, y: f64) -> [f64; 2] {
        [
            self.left + (self.right - self.left) * self.x.place(x),
            self.bottom - (self.bottom - self.top) * self.y.place(y),
        ]
    }
}

impl LineChart {
    /// Returns the chart as SVG, without points that have no place on an axis: those of numbers that are infinite, negative or, on a
    /// logarithmic axis, 0.
    pub fn svg(&self, head: &Head) -> String {
        let shows = |x: f64, y: f64| self.x.kind.shows(x) && self.y.kind.shows(y);
        let mut shown = self.clone();
        for point in shown.series.iter_mut().flat_map(|series| &mut series.points) {
            point.band = point.band.filter(|ends| ends.iter().all(|end| self.y.kind.shows(*end)));
        }
        shown.series.iter_mut().for_each(|series| series.points.retain(|point| shows(point.x, point.y)));
        shown.limits.iter_mut().for_each(|limit| limit.points.retain(|[x, y]| shows(*x, *y)));
        shown.drawn(head)
    }

    fn drawn(&self, head: &Head) -> String {
        let names = self.series.iter().map(|series| &series.name).chain(self.limits.iter().map(|limit| &limit.name));
        let (rows, widest) = names.fold((0, 0.0f64), |(n, widest), name| (n + 1, widest.max(width(name, TEXT))));
        let left = MARGIN + LEFT;
        let wide = (left + ACROSS + GAP + SAMPLE + widest + MARGIN).ceil();
        let top = head_height(head, wide).ceil() + 4.0;
        let up = UP.max(ROW * rows as f64 + 4.0);
        let xs = || self.series.iter().flat_map(|series| series.points.iter().map(|point| point.x));
        let ys = self.series.iter().flat_map(|series| &series.points);
        let ys = ys.flat_map(|point| [point.y].into_iter().chain(point.band.into_iter().flatten()));
        let limits = || self.limits.iter().flat_map(|limit| &limit.points);
        let frame = Frame {
            left,
            top,
            right: left + ACROSS,
            bottom: top + up,
            x: Scale::new(self.x.kind, xs().chain(limits().map(|point| point[0]))),
            y: Scale::new(self.y.kind, ys.chain(limits().map(|point| point[1]))),
        };
        let mut svg = Svg::new([wide, (top + up + BELOW + MARGIN).ceil()], head, &self.description());
        self.axes(&frame, &mut svg);
        self.labelled(&frame, &mut svg);
        svg.finish()
    }

    /// Axes, and from where to where each line goes.
    fn description(&self) -> String {
        let range = |points: &mut dyn Iterator<Item = [f64; 2]>| match points.collect::<Vec<_>>()[..] {
            [] => "no points".into(),
            [[x, y]] => format!("{} at {}", plain(y), plain(x)),
            [[x, y], .., [last, end]] => {
                format!("from {} at {} to {} at {}", plain(y), plain(x), plain(end), plain(last))
            }
        };
        let series = self
            .series
            .iter()
            .map(|series| (&series.name, range(&mut series.points.iter().map(|point| [point.x, point.y]))));
        let limits = self.limits.iter().map(|limit| (&limit.name, range(&mut limit.points.iter().copied())));
        let lines: Vec<String> = series.chain(limits).map(|(name, range)| format!("{name}: {range}")).collect();
        format!("Line chart of {} over {}. {}.", self.y.name, self.x.name, lines.join("; "))
    }

    fn axes(&self, frame: &Frame, svg: &mut Svg) {
        let Frame { left, top, right, bottom, .. } = *frame;
        let [across, up] = [frame.x.ticks(), frame.y.ticks()];
        let grid = |xs: &[f64], ys: &[f64]| {
            let mut path = String::new();
            for x in xs {
                let _ = write!(path, "M{} {}V{}", number(frame.at(*x, 1.0)[0]), number(top), number(bottom));
            }
            for y in ys {
                let _ = write!(path, "M{} {}H{}", number(left), number(frame.at(1.0, *y)[1]), number(right));
            }
            path
        };
        svg.path(&grid(&across.lines, &up.lines), "stroke=\"#eee\" stroke-width=\"0.8\"");
        svg.path(&grid(&across.labels, &up.labels), "stroke=\"#d4d4d4\" stroke-width=\"0.8\"");
        let corner = format!("M{} {}V{}H{}", number(left), number(top), number(bottom), number(right));
        svg.path(&corner, "fill=\"none\" stroke=\"#333\"");
        for x in across.labels {
            svg.text([frame.at(x, 1.0)[0], bottom + 13.0], Anchor::Middle, "", &plain(x));
        }
        for y in up.labels {
            svg.text([left - 7.0, frame.at(1.0, y)[1]], Anchor::End, "", &plain(y));
        }
        svg.text([0.5 * (left + right), bottom + 34.0], Anchor::Middle, "", &self.x.name);
        svg.upright([MARGIN + 0.5 * TEXT, 0.5 * (top + bottom)], &self.y.name);
    }

    /// From below: bands, lines, limits, markers; and the labels.
    fn labelled(&self, frame: &Frame, svg: &mut Svg) {
        let paths: Vec<Vec<[f64; 2]>> = self
            .series
            .iter()
            .map(|series| series.points.iter().map(|point| frame.at(point.x, point.y)).collect())
            .collect();
        let limits: Vec<Vec<[f64; 2]>> =
            self.limits.iter().map(|limit| limit.points.iter().map(|[x, y]| frame.at(*x, *y)).collect()).collect();
        let ends: Vec<[f64; 2]> =
            paths.iter().chain(&limits).map(|path| *path.last().unwrap_or(&[frame.right, frame.top])).collect();
        let heights: Vec<f64> = ends.iter().map(|end| end[1]).collect();
        let heights = beside(&heights, frame.top + 4.0, frame.bottom);
        let x = frame.right + GAP;
        // Below the lines, and dotted where one ends early, so that none is taken for measured.
        for ([end_x, end_y], y) in ends.iter().zip(&heights) {
            let is_far = x - end_x > NEAR;
            let data = format!("M{} {}L{} {}", number(end_x + REACH), number(*end_y), number(x - 3.0), number(*y));
            let dots = if is_far { " stroke-dasharray=\"1 4\"" } else { "" };
            svg.path(&data, &format!("stroke=\"{}\" stroke-width=\"0.8\"{dots}", if is_far { "#888" } else { "#bbb" }));
        }
        for (series, path) in self.series.iter().zip(&paths) {
            self.band(frame, series, path, svg);
        }
        for ((series, path), y) in self.series.iter().zip(&paths).zip(&heights) {
            let colour = series.style.colour;
            let dashes = if series.is_dashed { format!(" stroke-dasharray=\"{DASHES}\"") } else { String::new() };
            let stroke = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"{dashes}");
            svg.poly("polyline", path, &format!("class=\"series\" {stroke}"));
            svg.path(&format!("M{} {}h26", number(x), number(*y)), &stroke);
        }
        for ((limit, path), y) in self.limits.iter().zip(&limits).zip(&heights[self.series.len()..]) {
            let stroke = format!("fill=\"none\" stroke=\"#222\" stroke-width=\"1.3\" stroke-dasharray=\"{LIMIT}\"");
            svg.poly("polyline", path, &format!("class=\"limit\" {stroke}"));
            svg.path(&format!("M{} {}h26", number(x), number(*y)), &stroke);
            svg.text([x + SAMPLE, *y], Anchor::Start, " class=\"label\"", &limit.name);
        }
        for ((series, path), y) in self.series.iter().zip(&paths).zip(&heights) {
            let Style { colour, marker } = series.style;
            let mut shapes = String::new();
            path.iter().chain(&[[x + 13.0, *y]]).for_each(|point| marker.outline(*point, &mut shapes));
            let paint = match marker.paint() {
                Paint::Filled => format!("fill=\"{colour}\" stroke=\"#fff\" stroke-width=\"0.7\""),
                Paint::Open => format!("fill=\"#fff\" stroke=\"{colour}\" stroke-width=\"1.6\""),
                Paint::Strokes => format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\""),
            };
            svg.path(&shapes, &paint);
            svg.text([x + SAMPLE, *y], Anchor::Start, " class=\"label\"", &series.name);
        }
    }

    /// The band between the percentiles: an area, and a bar at a line's only point.
    fn band(&self, frame: &Frame, series: &Series, path: &[[f64; 2]], svg: &mut Svg) {
        let Style { colour, .. } = series.style;
        let ends = |point: &Point| point.band.map(|band| band.map(|y| frame.at(point.x, y)));
        let ends: Option<Vec<[[f64; 2]; 2]>> = series.points.iter().map(ends).collect();
        match ends.as_deref() {
            Some([[low, high]]) => {
                let data = format!("M{} {}V{}", number(path[0][0]), number(low[1]), number(high[1]));
                svg.path(
                    &data,
                    &format!("class=\"band\" stroke=\"{colour}\" stroke-width=\"3\" stroke-opacity=\"0.3\""),
                );
            }
            Some(ends @ [_, _, ..]) => {
                let around: Vec<[f64; 2]> =
                    ends.iter().map(|end| end[0]).chain(ends.iter().rev().map(|end| end[1])).collect();
                svg.poly("polygon", &around, &format!("class=\"band\" fill=\"{colour}\" fill-opacity=\"0.16\""));
            }
            _ => {}
        }
    }
}
