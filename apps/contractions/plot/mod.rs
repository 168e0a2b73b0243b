//! The figures of a deck, as SVG and as PNG, drawn by one body.

mod figure;
mod heat;
mod lines;

use figure::Figure;
use minifenl::run::sweep::{SweepDeck, Table};
use minifenl::{Error, Result};
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Once;

/// The family of all text; in a PNG it is the font that this program carries.
const FONT: &str = "sans-serif";

/// Draws every figure that the table has numbers for.
pub fn all(deck: &SweepDeck, table: &Table, folder: &Path) -> Result<()> {
    static FONTS: Once = Once::new();
    FONTS.call_once(|| {
        // A font that is not one is noticed by the first text that is drawn.
        let _ = register_font(FONT, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    });
    for plot in &deck.plot {
        for (ending, figure) in figure::of(plot, table) {
            let path = folder.join(format!("{}-{}-{ending}", deck.name, plot.name));
            draw(&figure, &path).map_err(|reason| Error::File { path: path.display().to_string(), reason })?;
        }
    }
    Ok(())
}

fn draw(figure: &Figure, path: &Path) -> std::result::Result<(), String> {
    let size @ (width, height) = match figure {
        Figure::Heat(heat) => heat::size(heat),
        Figure::Lines(lines) => lines::size(lines),
    };
    // The name has dots of its own, so endings are added, not replaced.
    let file = |ending: &str| format!("{}.{ending}", path.display());
    onto(figure, SVGBackend::new(&file("svg"), size))?;
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

fn onto<B: DrawingBackend>(figure: &Figure, backend: B) -> std::result::Result<(), String> {
    let root = backend.into_drawing_area();
    root.fill(&WHITE).map_err(|error| error.to_string())?;
    match figure {
        Figure::Heat(heat) => heat::draw(heat, &root),
        Figure::Lines(lines) => lines::draw(lines, &root),
    }
    .and_then(|()| root.present())
    .map_err(|error| error.to_string())
}
