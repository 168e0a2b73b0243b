//! The structure of written figures: one polyline per series, labels that cover nothing, words for people who do not see them.

use minifenl_figure::{Axis, Head, HeatMap, Kind, Limit, LineChart, Panel, Point, Series, styles, width};
use roxmltree::{Document, Node};

fn head() -> Head {
    Head {
        title: "Times <of> \"this\" & that".into(),
        notes: vec!["one machine, ".repeat(12).trim_end().into(), "time of one call".into()],
    }
}

/// Lines that start together, end together or early, and cross; every other one is dashed.
fn chart(names: &[&str]) -> LineChart {
    let styles = styles(names);
    let series = names.iter().zip(styles).enumerate().map(|(i, (name, style))| {
        let last = if i % 3 == 1 { 5 } else { 9 };
        let points = (0..last).map(|k| {
            let y = 1e-3 * (1.0 + (i * k) as f64 % 7.0) * 1.7f64.powi(k as i32);
            Point { x: 8.0 * 2f64.powi(k as i32), y, band: (i == 0).then_some([0.9 * y, 1.2 * y]) }
        });
        Series { name: name.to_string(), style, is_dashed: i % 2 == 1, points: points.collect() }
    });
    let axis = |name: &str, kind| Axis { name: name.into(), kind };
    LineChart {
        x: axis("contraction length K = P D1 D2", Kind::Twos),
        y: axis("time, ms", Kind::Tens),
        series: series.collect(),
        limits: vec![Limit { name: "roofline".into(), points: vec![[8.0, 5e-4], [2048.0, 4e-3]] }],
    }
}

const NAMES: [&str; 11] =
    ["flat", "auto", "cublas-gemm", "serial", "threads", "loops", "a", "b<c", "d", "e, 8 × 8", "f"];

#[test]
fn numbers_without_a_place_are_left_out() {
    let good = chart(&["a", "b"]);
    let expected = good.svg(&head());
    let mut bare = good.clone();
    bare.series[0].points[2].band = None;
    for wrong in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -1.0, 0.0, 1e300, 5e-324] {
        let mut chart = good.clone();
        chart.series[0].points[2].band = Some([1.0, wrong]);
        assert_eq!(chart.svg(&head()), bare.svg(&head()), "{wrong}");
        let mut chart = good.clone();
        chart.series[0].points.insert(3, Point { x: 5.0, y: wrong, band: None });
        chart.series[1].points.push(Point { x: wrong, y: 1.0, band: Some([wrong, 1.0]) });
        chart.limits[0].points.push([wrong, 1.0]);
        assert_eq!(chart.svg(&head()), expected, "{wrong}");
    }
}

fn has_class(node: &Node<'_, '_>, class: &str) -> bool {
    node.attribute("class") == Some(class)
}

fn attribute(node: &Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
}

fn points(node: &Node<'_, '_>) -> Vec<[f64; 2]> {
    let pair = |text: &str| text.split_once(',').map(|(x, y)| [x.parse().unwrap(), y.parse().unwrap()]);
    node.attribute("points").unwrap().split(' ').map(|text| pair(text).unwrap()).collect()
}

/// Left, top, right and bottom of every text, by its font size and anchor.
fn boxes(document: &Document<'_>) -> Vec<(String, [f64; 4])> {
    let texts = document.descendants().filter(|node| node.has_tag_name("text") && !node.has_attribute("transform"));
    let of = |node: Node<'_, '_>| {
        let inherited = |name: &str| node.ancestors().find_map(|node| node.attribute(name).map(String::from));
        let size: f64 = inherited("font-size").unwrap().parse().unwrap();
        let (text, [x, y]) = (node.text().unwrap().to_string(), ["x", "y"].map(|name| attribute(&node, name)));
        let wide = width(&text, size);
        let left = match inherited("text-anchor").as_deref() {
            Some("middle") => x - 0.5 * wide,
            Some("end") => x - wide,
            _ => x,
        };
        // Capital letters reach 0.73 of the size above the line, other letters 0.24 below it.
        (text, [left, y - 0.73 * size, left + wide, y + 0.24 * size])
    };
    texts.map(of).collect()
}

fn is_apart(a: &[f64; 4], b: &[f64; 4]) -> bool {
    a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1]
}

#[test]
fn a_series_is_one_polyline_with_fractional_coordinates() {
    let text = chart(&NAMES).svg(&head());
    let document = Document::parse(&text).unwrap();
    let polylines =
        |class| document.descendants().filter(move |node| node.has_tag_name("polyline") && has_class(node, class));
    let series: Vec<Node<'_, '_>> = polylines("series").collect();
    assert_eq!((series.len(), polylines("limit").count()), (NAMES.len(), 1));
    for (i, line) in series.iter().enumerate() {
        assert_eq!(line.has_attribute("stroke-dasharray"), i % 2 == 1);
        assert_eq!(points(line).len(), if i % 3 == 1 { 5 } else { 9 });
    }
    assert!(polylines("limit").all(|limit| limit.has_attribute("stroke-dasharray")));
    let all: Vec<f64> = series.iter().flat_map(points).flatten().collect();
    assert!(all.iter().filter(|x| x.fract() != 0.0).count() > all.len() / 2, "{all:?}");
    // One band, as wide as its line, with a corner above and one below each point.
    let bands: Vec<_> = document.descendants().filter(|node| node.has_tag_name("polygon")).collect();
    assert_eq!((bands.len(), points(&bands[0]).len()), (1, 18));
    assert_eq!(points(&bands[0])[0][0], points(&series[0])[0][0]);
    let (low, high, own) = (points(&bands[0])[0][1], points(&bands[0])[17][1], points(&series[0])[0][1]);
    assert!(high < own && own < low, "{high} {own} {low}");
    // The middle of a logarithmic axis: K from 8 / 1.2 to 2048 x 1.2.
    let [first, last] = [points(&series[0])[0][0], points(&series[0])[8][0]];
    let middle = points(&series[0])[4][0];
    assert!((middle - 0.5 * (first + last)).abs() < 0.02, "{first} {middle} {last}");
}

#[test]
fn no_text_covers_a_point_or_another_text() {
    for names in [&NAMES[..], &NAMES[..1], &NAMES[3..7], &["x"; 30]] {
        let text = chart(names).svg(&head());
        let document = Document::parse(&text).unwrap();
        let boxes = boxes(&document);
        let [wide, high] = ["width", "height"].map(|name| attribute(&document.root_element(), name));
        for (i, (text, of)) in boxes.iter().enumerate() {
            assert!(of[0] >= 0.0 && of[1] >= 0.0 && of[2] <= wide && of[3] <= high, "{text} is cut: {of:?}");
            for (other, at) in &boxes[..i] {
                assert!(is_apart(of, at), "{text} {of:?} over {other} {at:?}");
            }
        }
        let is_line = |node: &Node<'_, '_>| node.has_tag_name("polyline");
        for [x, y] in document.descendants().filter(is_line).flat_map(|node| points(&node)) {
            let marker = [x - 6.0, y - 6.0, x + 6.0, y + 6.0];
            for (text, of) in &boxes {
                assert!(is_apart(of, &marker), "{text} {of:?} over a point {x} {y}");
            }
        }
        let labels = document.descendants().filter(|node| has_class(node, "label")).count();
        assert_eq!(labels, names.len() + 1);
    }
}

#[test]
fn a_figure_has_words_and_a_background_and_is_the_same_again() {
    let (own, head) = (chart(&NAMES), head());
    let text = own.svg(&head);
    assert_eq!(text, own.svg(&head));
    let document = Document::parse(&text).unwrap();
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    let words = |tag| root.children().find(|node| node.has_tag_name(tag)).unwrap().text().unwrap();
    assert_eq!(words("title"), head.title);
    let desc = words("desc");
    assert!(
        desc.starts_with("Line chart of time, ms over contraction length K = P D1 D2. flat: from 0.001 at 8 to "),
        "{desc}"
    );
    assert!(desc.contains("; b<c: from ") && desc.ends_with("; roofline: from 5e-4 at 8 to 0.004 at 2048."), "{desc}");
    // The title is the first child, as browsers and screen readers expect.
    assert!(root.first_element_child().unwrap().has_tag_name("title"));
    let back = root.children().find(|node| node.has_tag_name("rect")).unwrap();
    assert_eq!(back.attribute("fill"), Some("#fff"));
    assert_eq!(
        ["width", "height"].map(|name| back.attribute(name)),
        ["width", "height"].map(|name| root.attribute(name))
    );
    // A long note is broken into lines, a name is escaped.
    assert!(text.matches(">one machine").count() == 1 && text.contains("b&lt;c") && text.contains("8 × 8"));
    assert!(boxes(&document).iter().filter(|(text, _)| text.contains("one machine")).count() > 1);
}

fn map(panels: usize) -> HeatMap {
    let labels = |labels: &[&str]| labels.iter().map(|label| label.to_string()).collect::<Vec<_>>();
    let panel = |i: usize| Panel {
        title: format!("variant {i}, left layout"),
        values: vec![
            vec![Some(0.07), Some(0.08), None, Some(i as f64)],
            vec![None, Some(1.0), Some(400.0), Some(12.3)],
        ],
    };
    HeatMap {
        x: ("contraction length K = P D1 D2".into(), labels(&["8", "16", "32", "64"])),
        y: ("memory, MiB".into(), labels(&["1", "1024"])),
        value: "speedup".into(),
        panels: (0..panels).map(panel).collect(),
    }
}

#[test]
fn panels_share_their_axes() {
    for panels in 1..6 {
        let text = map(panels).svg(&head());
        let document = Document::parse(&text).unwrap();
        let boxes = boxes(&document);
        let count = |words: &str| boxes.iter().filter(|(text, _)| text == words).count();
        let desc = document.descendants().find(|node| node.has_tag_name("desc")).unwrap().text().unwrap();
        assert!(desc.contains("variant 0, left layout: 0 to 400"), "{desc}");
        // Once per column and once per row of panels.
        assert_eq!((count("64"), count("1024")), (panels.min(2), panels.div_ceil(2)));
        assert_eq!((count("400"), count("0.07")), (panels, panels));
        for (i, (text, of)) in boxes.iter().enumerate() {
            assert!(boxes[..i].iter().all(|(_, at)| is_apart(of, at)), "{text}");
        }
        // Two neighbours of one colour are one rectangle: four per panel and its frame; the key has 12 and a frame.
        let rectangles = document.descendants().filter(|node| node.has_tag_name("rect")).count();
        assert_eq!(rectangles, 1 + 13 + 6 * panels);
    }
}

#[cfg(feature = "png")]
mod pictures {
    use super::*;
    use minifenl_figure::png;
    use resvg::usvg::{Options, Tree, fontdb::Database};
    use std::sync::Arc;

    fn be(bytes: &[u8]) -> u32 {
        u32::from_be_bytes(bytes.try_into().unwrap())
    }

    /// Two pixels per unit; 7559 pixels per metre are 192 per inch.
    #[test]
    fn a_picture_has_twice_the_size_and_says_its_resolution() {
        for text in [chart(&NAMES).svg(&head()), map(3).svg(&head())] {
            let (document, picture) = (Document::parse(&text).unwrap(), png(&text).unwrap());
            assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n"));
            let size = [be(&picture[16..20]), be(&picture[20..24])].map(f64::from);
            assert_eq!(size, ["width", "height"].map(|name| 2.0 * attribute(&document.root_element(), name)));
            let at = picture.windows(4).position(|four| four == b"pHYs").unwrap();
            let [x, y] = [be(&picture[at + 4..at + 8]), be(&picture[at + 8..at + 12])];
            assert_eq!((x, y, picture[at + 12]), (7559, 7559, 1));
            assert_eq!(picture, png(&text).unwrap());
        }
        assert!(png("<svg").is_err());
    }

    /// Width of the letters of a text as the picture has them.
    fn drawn(text: &str, size: f64) -> f64 {
        let mut fonts = Database::new();
        fonts.load_font_data(dejavu::sans::regular().to_vec());
        let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"50\" font-family=\"DejaVu Sans\" font-size=\"{size}\">\
             <text x=\"9\" y=\"30\">{}</text></svg>",
            minifenl_figure::escaped(text)
        );
        f64::from(Tree::from_str(&svg, &options).unwrap().root().abs_bounding_box().width())
    }

    #[test]
    fn letters_are_kerned_and_as_wide_as_the_layout_takes_them() {
        assert!(drawn("AVAVAV", 20.0) < 0.95 * width("AVAVAV", 20.0));
        for text in ["cublas-gemm, 8 × 8, 0.0625 MiB", "contraction length K = P D1 D2", "10⁻⁴", "(MW) {x}|~^_`@#$%&*"]
        {
            let (drawn, taken) = (drawn(text, 12.0), width(text, 12.0));
            assert!(drawn <= taken && drawn > 0.85 * taken, "{text}: {drawn} of {taken}");
        }
    }
}
