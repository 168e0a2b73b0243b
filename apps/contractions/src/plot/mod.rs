//! The figures of a deck, as SVG and as PNG, drawn by one body.

mod figure;
mod heat;
mod lines;
mod names;
mod split;
mod ticks;

use crate::sweep::case::Precision;
use crate::sweep::deck::Plot;
use crate::sweep::{SweepDeck, Table};
use figure::{Figure, Kind};
use minifenl::files;
use minifenl::{Error, Result};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, register_font};
use std::path::{Path, PathBuf};
use std::sync::Once;

/// The family of all text; in a PNG it is the font that this program carries.
const FONT: &str = "sans-serif";
/// Height of title and note.
const HEAD: i32 = 50;

/// Draws every figure that the table has numbers for; of each plot, how many.
pub fn all(deck: &SweepDeck, table: &Table, folder: &Path) -> Result<Vec<usize>> {
    static FONTS: Once = Once::new();
    FONTS.call_once(|| {
        // A font that is not one is noticed by the first text that is drawn.
        let _ = register_font(FONT, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    });
    let drawn = deck.plot.iter().map(|plot| {
        let figures = figure::of(plot, table);
        for (precision, figure) in &figures {
            draw(figure, &files(deck, plot, precision, folder))?;
        }
        Ok(figures.len())
    });
    drawn.collect()
}

/// The files of all figures that a deck may have.
pub fn paths(deck: &SweepDeck, folder: &Path) -> Vec<PathBuf> {
    let plots = deck.plot.iter();
    plots.flat_map(|plot| Precision::ALL.map(|(_, name)| files(deck, plot, name, folder))).flatten().collect()
}

/// A figure as SVG and as PNG.
fn files(deck: &SweepDeck, plot: &Plot, precision: &str, folder: &Path) -> [PathBuf; 2] {
    ["svg", "png"].map(|ending| folder.join(format!("{}-{}-{precision}.{ending}", deck.name, plot.name)))
}

fn draw(figure: &Figure, [svg, png]: &[PathBuf; 2]) -> Result<()> {
    let (text, picture) = both(figure).map_err(|reason| Error::File { path: svg.display().to_string(), reason })?;
    files::write(svg, text.as_bytes())?;
    files::write(png, &picture)
}

/// The SVG and the PNG of a figure.
fn both(figure: &Figure) -> std::result::Result<(String, Vec<u8>), String> {
    let (width, height) = match &figure.kind {
        Kind::Heat(panels) => heat::size(panels),
        Kind::Lines(lines) => lines::size(lines),
    };
    // Room for title and note.
    let letters = (9 * figure.title.len()).max(7 * figure.note.len()) as u32;
    let size @ (width, height) = (width.max(letters + 24), height);
    let mut text = String::new();
    onto(figure, SVGBackend::with_string(&mut text, size))?;
    let mut pixels = vec![255u8; width as usize * height as usize * 3];
    onto(figure, BitMapBackend::with_buffer(&mut pixels, size))?;
    let mut picture = Vec::new();
    let mut encoder = png::Encoder::new(&mut picture, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(&pixels)?;
        writer.finish()
    });
    written.map_err(|error| error.to_string())?;
    Ok((compact(&text), picture))
}

/// The same picture in fewer bytes: the font of most texts named once, nothing said that is so anyway.
fn compact(svg: &str) -> String {
    let family = format!(" font-family=\"{FONT}\"");
    // Sizes of 13, 14 and 17 as plotters has them.
    let sizes = [("10.483870967741936", "10.5"), ("11.290322580645162", "11.3"), ("13.709677419354838", "13.7")];
    let mut short = svg.replace(&family, "").replace(" opacity=\"1\"", "").replace(" stroke=\"none\"", "");
    for (long, size) in sizes {
        short = short.replace(&format!("\"{long}\""), &format!("\"{size}\""));
    }
    let usual = " text-anchor=\"middle\" font-size=\"10.5\"";
    let short = short.replace(usual, "").replace("<svg ", &format!("<svg{family}{usual} "));
    // A text's letters stand on lines of their own.
    let lines = short.split_inclusive('\n').map(|line| match line.trim_end() {
        start if start.starts_with("<text") => start.replace(" fill=\"#000000\"", ""),
        letters if !letters.starts_with('<') => letters.into(),
        _ => line.into(),
    });
    lines.collect()
}

fn onto<B: DrawingBackend>(figure: &Figure, backend: B) -> std::result::Result<(), String> {
    let root = backend.into_drawing_area();
    let all = || {
        root.fill(&WHITE)?;
        let text = |size: i32| (FONT, size).into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
        root.draw(&Text::new(figure.title.clone(), (12, 16), text(17)))?;
        root.draw(&Text::new(figure.note.clone(), (12, 37), text(13)))?;
        match &figure.kind {
            Kind::Heat(panels) => heat::draw(panels, &root)?,
            Kind::Lines(lines) => lines::draw(lines, &root)?,
        }
        root.present()
    };
    all().map_err(|error| error.to_string())
}
