//! The SVG as PNG: two pixels per unit in each direction, 192 pixels per inch, text in DejaVu Sans shaped with its kerning.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb::Database};
use std::sync::{Arc, LazyLock};

/// Pixels per unit of the SVG.
const SCALE: f32 = 2.0;
/// 96 units per inch, 0.0254 m per inch.
const PER_METRE: u32 = (2.0 * 96.0 / 0.0254) as u32;

/// The font, parsed once.
static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    Arc::new(fonts)
});

/// Returns the PNG of an SVG.
///
/// # Errors
/// Why the SVG cannot be drawn.
pub fn png(svg: &str) -> Result<Vec<u8>, String> {
    let options = Options { fontdb: Arc::clone(&FONTS), font_family: "DejaVu Sans".into(), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or("a picture without pixels")?;
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or("a picture without pixels")?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    // The background is opaque.
    let rgb: Vec<u8> = pixels.data().chunks_exact(4).flat_map(|pixel| pixel[..3].iter().copied()).collect();
    let mut picture = Vec::new();
    let mut encoder = png::Encoder::new(&mut picture, size.width(), size.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Balanced);
    encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: PER_METRE, yppu: PER_METRE, unit: png::Unit::Meter }));
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(&rgb)?;
        writer.finish()
    });
    written.map_err(|error| error.to_string())?;
    Ok(picture)
}
