//! Lines with marks on a logarithmic horizontal and a linear or logarithmic vertical axis, as SVG.

use super::document::escaped;
use std::fmt::Write;

/// Width and height of a chart, and of the names of its lines.
const SIZE: [f64; 3] = [760.0, 380.0, 190.0];
/// Left, right, top and bottom of the axes.
const AXES: [f64; 4] = [70.0, SIZE[0] - SIZE[2], 44.0, SIZE[1] - 48.0];
/// Of Okabe and Ito, told apart by everybody.
const COLORS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#5a5a5a", "#000000"];

/// One line; a point has a low and a high end beside its value.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    pub is_dashed: bool,
    /// Which colour.
    pub color: usize,
    /// x, y, low, high.
    pub points: Vec<[f64; 4]>,
}

/// What is drawn.
#[derive(Clone, Debug)]
pub struct Chart<'a> {
    pub title: &'a str,
    pub x: &'a str,
    pub y: &'a str,
    /// Logarithmic vertical axis; a linear one starts at 0.
    pub is_log: bool,
    pub series: Vec<Series>,
}

/// Steps of 1, 2 or 5 times a power of ten, at most seven, from 0.
fn steps(most: f64) -> Vec<f64> {
    let power = 10f64.powf((most / 5.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| most / step <= 6.0).unwrap_or(most);
    (0..=6).map(|i| f64::from(i) * step).filter(|tick| *tick <= most * (1.0 + 1e-9)).collect()
}

/// Powers of a base in a range, every n-th so that there are at most eight.
fn powers(base: f64, low: f64, high: f64) -> Vec<f64> {
    let [first, last] = [(low.log(base) - 1e-9).ceil() as i32, (high.log(base) + 1e-9).floor() as i32];
    let every = ((last - first) / 8 + 1).max(1) as usize;
    (first..=last).step_by(every).map(|power| base.powi(power)).collect()
}

/// Mantissas 1, 2, 5 where few powers of ten are in sight.
fn tens(low: f64, high: f64) -> Vec<f64> {
    let decades = powers(10.0, low, high);
    if decades.len() > 2 {
        return decades;
    }
    let all = powers(10.0, low / 10.0, high).into_iter().flat_map(|power| [1.0, 2.0, 5.0].map(|m| m * power));
    all.filter(|tick| (low * 0.999..=high * 1.001).contains(tick)).collect()
}

/// A number without a row of zeros.
fn plain(value: f64) -> String {
    match value.abs() {
        size if size >= 1e7 || (size < 1e-3 && size > 0.0) => format!("{value:.0e}"),
        size if size >= 10.0 => format!("{value:.0}"),
        _ => format!("{}", (value * 1e4).round() / 1e4),
    }
}

impl Chart<'_> {
    /// The picture.
    pub fn svg(&self) -> String {
        let [left, right, top, bottom] = AXES;
        let points = || self.series.iter().flat_map(|series| &series.points);
        let range = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)))
        };
        let (x_low, x_high) = range(&mut points().map(|point| point[0]));
        let (y_low, y_high) = range(&mut points().flat_map(|point| point[1..].iter().copied()));
        if x_low > x_high {
            return String::new();
        }
        let (x_low, x_high) = (x_low / 1.15, x_high * 1.15);
        let (y_low, y_high) = if self.is_log { (y_low / 1.2, y_high * 1.2) } else { (0.0, y_high.max(1e-12) * 1.08) };
        let at_x = |x: f64| left + (right - left) * (x / x_low).ln() / (x_high / x_low).ln();
        let at_y = |y: f64| match self.is_log {
            true => bottom - (bottom - top) * (y / y_low).ln() / (y_high / y_low).ln(),
            false => bottom - (bottom - top) * y / y_high,
        };
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"12\" y=\"22\" font-size=\"16\">{}</text>\n",
            SIZE[0],
            SIZE[1],
            SIZE[0],
            SIZE[1],
            escaped(self.title)
        );
        let base = if x_high / x_low > 600.0 { 10.0 } else { 2.0 };
        for x in powers(base, x_low, x_high) {
            let (at, label) = (at_x(x), plain(x));
            let _ = writeln!(
                text,
                "<path d=\"M{at:.1} {top}V{bottom}\" stroke=\"#ddd\"/><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                bottom + 16.0
            );
        }
        for y in if self.is_log { tens(y_low, y_high) } else { steps(y_high) } {
            let (at, label) = (at_y(y), plain(y));
            let _ = writeln!(
                text,
                "<path d=\"M{left} {at:.1}H{right}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                left - 6.0,
                at + 4.0
            );
        }
        let _ = writeln!(
            text,
            "<path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"#333\"/>\n<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text x=\"16\" y=\"{:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 16 {:.1})\">{}</text>",
            (left + right) / 2.0,
            bottom + 36.0,
            escaped(self.x),
            (top + bottom) / 2.0,
            (top + bottom) / 2.0,
            escaped(self.y)
        );
        for (index, series) in self.series.iter().enumerate() {
            let color = COLORS[series.color % COLORS.len()];
            let dashes = if series.is_dashed { " stroke-dasharray=\"7 5\"" } else { "" };
            let path: Vec<String> =
                series.points.iter().map(|p| format!("{:.1} {:.1}", at_x(p[0]), at_y(p[1]))).collect();
            if !path.is_empty() {
                let _ = writeln!(
                    text,
                    "<path d=\"M{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"{dashes}/>",
                    path.join("L")
                );
            }
            for &[x, y, low, high] in &series.points {
                let (x, y, low, high) = (at_x(x), at_y(y), at_y(low), at_y(high));
                let mark = if index % 2 == 0 {
                    format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"")
                } else {
                    format!("<rect x=\"{:.1}\" y=\"{:.1}\" width=\"7\" height=\"7\"", x - 3.5, y - 3.5)
                };
                let _ = writeln!(
                    text,
                    "<path d=\"M{x:.1} {low:.1}V{high:.1}\" stroke=\"{color}\"/>{mark} fill=\"{color}\"/>"
                );
            }
            let y = top + 10.0 + 19.0 * index as f64;
            let _ = writeln!(
                text,
                "<path d=\"M{:.1} {y:.1}h24\" stroke=\"{color}\" stroke-width=\"2\"{dashes}/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                right + 10.0,
                right + 40.0,
                y + 4.0,
                escaped(&series.name)
            );
        }
        text + "</svg>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_equal_those_by_hand() {
        assert_eq!(steps(1.08).len(), 6);
        assert_eq!(steps(12.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
        assert_eq!(steps(4.9), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(powers(2.0, 0.9, 8.5), [1.0, 2.0, 4.0, 8.0]);
        assert_eq!(powers(10.0, 0.9, 1.1e5).len(), 6);
        assert_eq!(tens(0.9, 12.0), [1.0, 2.0, 5.0, 10.0]);
    }

    #[test]
    fn points_lie_where_they_should() {
        let series = Series {
            name: "a<b".into(),
            is_dashed: true,
            color: 0,
            points: vec![[1.0, 1.0, 1.0, 1.0], [4.0, 0.5, 0.4, 0.6]],
        };
        let chart = |series| Chart { title: "t", x: "x", y: "y", is_log: false, series };
        let svg = chart(vec![series]).svg();
        // The middle of the line on the logarithmic axis is at x = 2: its grid line lies there.
        let middle = (AXES[0] + AXES[1]) / 2.0;
        assert!(svg.contains(&format!("<path d=\"M{middle:.1} {}V", AXES[2])), "{svg}");
        let y = AXES[3] - (AXES[3] - AXES[2]) * 0.5 / 1.08;
        assert!(
            svg.contains(&format!(" {y:.1}\" fill=\"none\"")) && svg.contains("a&lt;b") && svg.contains("dasharray"),
            "{svg}"
        );
        assert_eq!(chart(vec![]).svg(), "");
    }
}
