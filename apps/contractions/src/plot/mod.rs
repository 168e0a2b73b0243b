//! The figures of a deck, as SVG and as PNG, drawn by one body.

mod figure;
mod heat;
mod lines;
mod names;
mod split;
mod ticks;

use crate::sweep::{SweepDeck, Table};
use figure::{Figure, Kind};
use minifenl::{Error, Result};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, register_font};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
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
        for (ending, figure) in &figures {
            let path = folder.join(format!("{}-{}-{ending}", deck.name, plot.name));
            draw(figure, &path).map_err(|reason| Error::File { path: path.display().to_string(), reason })?;
        }
        Ok(figures.len())
    });
    drawn.collect()
}

fn draw(figure: &Figure, path: &Path) -> std::result::Result<(), String> {
    let (width, height) = match &figure.kind {
        Kind::Heat(panels) => heat::size(panels),
        Kind::Lines(lines) => lines::size(lines),
    };
    // Room for title and note.
    let letters = (9 * figure.title.len()).max(7 * figure.note.len()) as u32;
    let size @ (width, height) = (width.max(letters + 24), height);
    // The name has dots of its own, so endings are added, not replaced.
    let file = |ending: &str| format!("{}.{ending}", path.display());
    let mut text = String::new();
    onto(figure, SVGBackend::with_string(&mut text, size))?;
    std::fs::write(file("svg"), compact(&text)).map_err(|error| error.to_string())?;
    let mut pixels = vec![255u8; width as usize * height as usize * 3];
    onto(figure, BitMapBackend::with_buffer(&mut pixels, size))?;
    let file = File::create(file("png")).map_err(|error| error.to_string())?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&pixels));
    written.map_err(|error| error.to_string())
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
