//! Charts of a study: lines over ranks on a logarithmic horizontal and a linear or logarithmic vertical axis, drawn by
//! `minifenl-figure`.

use minifenl_figure::{Axis, Head, Kind, Limit, LineChart, Point, is_known, styles};

/// One line; a point has a low and a high end beside its value.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its label. What stands before a comma decides on colour and marker.
    pub name: String,
    pub is_dashed: bool,
    /// Series with the same number share a colour unless the table of styles has their name.
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

impl Chart<'_> {
    /// Returns the chart with a note below its title and the machine's limits; nothing without points.
    pub fn svg(&self, note: &str, limits: Vec<Limit>) -> String {
        if self.series.iter().all(|series| series.points.is_empty()) {
            return String::new();
        }
        let base = |series: &Series| match series.name.split(',').next() {
            Some(name) if is_known(name) => name.to_string(),
            _ => format!("#{}", series.color),
        };
        let names: Vec<String> = self.series.iter().map(base).collect();
        let styles = styles(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let series = self.series.iter().zip(styles).map(|(series, style)| minifenl_figure::Series {
            name: series.name.clone(),
            style,
            is_dashed: series.is_dashed,
            points: series.points.iter().map(point).collect(),
        });
        let axis = |name: &str, kind| Axis { name: name.into(), kind };
        let chart = LineChart {
            x: axis(self.x, Kind::Twos),
            y: axis(self.y, if self.is_log { Kind::Tens } else { Kind::Linear }),
            series: series.collect(),
            limits,
        };
        chart.svg(&Head { title: self.title.into(), notes: vec![note.into()] })
    }
}

/// A value that is its own low and high end has no band.
fn point(&[x, y, low, high]: &[f64; 4]) -> Point {
    Point { x, y, band: (low < high).then_some([low, high]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, is_dashed: bool, points: &[[f64; 4]]) -> Series {
        Series { name: name.into(), is_dashed, color: 0, points: points.to_vec() }
    }

    #[test]
    fn lines_bands_and_limits_are_where_they_should_be() {
        let measured = series("CG iteration, 2 threads", true, &[[1.0, 1.0, 0.9, 1.2], [4.0, 0.5, 0.4, 0.6]]);
        let other = series("a<b", false, &[[1.0, 0.25, 0.25, 0.25], [2.0, 0.75, 0.75, 0.75], [4.0, 1.0, 1.0, 1.0]]);
        let chart = |series| Chart { title: "t", x: "ranks", y: "ms", is_log: false, series };
        let limit = Limit { name: "bytes / triad".into(), points: vec![[1.0, 0.5], [4.0, 0.5]] };
        let svg = chart(vec![measured.clone(), other]).svg("a machine & a version", vec![limit]);
        let points = |class: &str| -> Vec<Vec<f64>> {
            let lines = svg.lines().filter(|line| line.contains(class));
            let data = lines.map(|line| line.split("points=\"").nth(1).unwrap().split('"').next().unwrap());
            data.map(|data| data.split([' ', ',']).map(|number| number.parse().unwrap()).collect()).collect()
        };
        let (lines, limits, bands) = (points("class=\"series\""), points("class=\"limit\""), points("class=\"band\""));
        assert_eq!((lines.len(), limits.len(), bands.len()), (2, 1, 1), "{svg}");
        // 2 ranks lie in the middle of 1 and 4; 0.75 ms in the middle of 0.5 and 1.
        assert!((lines[1][2] - 0.5 * (lines[0][0] + lines[0][2])).abs() < 0.02, "{lines:?}");
        assert!((lines[1][3] - 0.5 * (lines[0][1] + lines[0][3])).abs() < 0.02, "{lines:?}");
        assert_eq!(limits[0][1], lines[0][3]);
        assert!(bands[0][1] > lines[0][1] && bands[0][7] < lines[0][1], "{bands:?} {lines:?}");
        assert_eq!(svg.matches("stroke-dasharray=\"7 4\"").count(), 2);
        assert!(svg.contains("a&lt;b") && svg.contains(">a machine &amp; a version<"), "{svg}");
        // The colour of CG, with any number of threads.
        let alone = series("CG iteration", false, &[[1.0, 1.0, 1.0, 1.0]]);
        let colour = styles(&["CG iteration"])[0].colour;
        assert!(svg.contains(colour) && chart(vec![alone]).svg("", Vec::new()).contains(colour));
        // Unknown names of one number have one colour.
        let unknown = |color, name| Series { color, ..series(name, false, &[[1.0, 1.0, 1.0, 1.0]]) };
        let svg = chart(vec![unknown(0, "0 %"), unknown(1, "9 %"), unknown(1, "9 %, by rows")]).svg("", Vec::new());
        let strokes: Vec<&str> = svg
            .lines()
            .filter(|line| line.contains("class=\"series\""))
            .map(|line| line.split("stroke=").nth(1).unwrap().split(' ').next().unwrap())
            .collect();
        assert!(strokes[0] != strokes[1] && strokes[1] == strokes[2], "{strokes:?}");
        assert_eq!(chart(vec![]).svg("", Vec::new()), "");
        assert_eq!(chart(vec![series("a", false, &[])]).svg("", Vec::new()), "");
    }
}
