//! Renders SVG documents as PNG, in their light colours and with bundled fonts, so that the pictures are the same
//! everywhere.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, Options, Tree, fontdb};

/// Pixels of the PNG per pixel of the SVG: 2, so that small letters are sharp; 1 for large pictures.
const SCALES: [f32; 2] = [2.0, 1.0];

/// The largest number of pixels, at four bytes each.
const MOST_PIXELS: u64 = 1 << 27;

const FAMILY: &str = "DejaVu Sans";
const FONTS: [&[u8]; 2] =
    [include_bytes!("../../../fonts/DejaVuSans.ttf"), include_bytes!("../../../fonts/DejaVuSans-Bold.ttf")];

#[derive(Debug, thiserror::Error)]
pub(super) enum PngError {
    #[error(transparent)]
    Svg(#[from] usvg::Error),
    #[error("a picture of {width} x {height} pixels is too large for PNG: use --svg")]
    TooLarge { width: u32, height: u32 },
    /// The pixels cannot be encoded.
    #[error("{0}")]
    Encoding(String),
}

/// Draws an SVG document.
///
/// # Errors
/// The document is not valid, or has too many pixels.
pub(super) fn of(svg: &str) -> Result<Vec<u8>, PngError> {
    let mut fonts = fontdb::Database::new();
    FONTS.into_iter().for_each(|font| fonts.load_font_data(font.to_vec()));
    fonts.set_sans_serif_family(FAMILY);
    let fontdb = Arc::new(fonts);
    let tree =
        Tree::from_str(svg, &Options { font_family: FAMILY.to_owned(), fontdb, ..Options::default() })?;
    let size = tree.size().to_int_size();
    let scaled = |scale: f32| {
        let size = size.scale_by(scale)?;
        (u64::from(size.width()) * u64::from(size.height()) <= MOST_PIXELS).then_some(())?;
        Some((scale, Pixmap::new(size.width(), size.height())?))
    };
    let too_large = || PngError::TooLarge { width: size.width(), height: size.height() };
    let (scale, mut pixels) = SCALES.into_iter().find_map(scaled).ok_or_else(too_large)?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
}

#[cfg(test)]
mod tests {
    use resvg::tiny_skia::PremultipliedColorU8;

    use super::*;

    fn drawn(svg: &str) -> Pixmap {
        Pixmap::decode_png(&of(svg).expect("it can be drawn")).expect("it is a PNG")
    }

    #[test]
    fn a_picture_is_drawn_twice_as_large_in_its_light_colours_with_its_text() {
        let pixels = drawn(include_str!("../../../../../docs/pictures/plan.svg"));
        assert_eq!((pixels.width(), pixels.height()), (2764, 1568));
        let rgb = |color: PremultipliedColorU8| (color.red(), color.green(), color.blue());
        let at = |x, y| pixels.pixel(x, y).map(rgb);
        assert_eq!(at(0, 0), Some((0xff, 0xff, 0xff)), "the page");
        assert_eq!(at(560, 300), Some((0x05, 0x62, 0xa7)), "the first application");
        let heading = (48..240).flat_map(|x| (50..90).map(move |y| (x, y)));
        let ink = heading.filter(|(x, y)| at(*x, *y) == Some((0x1f, 0x23, 0x28))).count();
        assert!(ink > 500, "{ink} pixels of the heading");
    }

    #[test]
    fn a_picture_that_is_too_large_is_smaller_or_refused() {
        let sized = |width: u32, height: u32| {
            format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\"/>")
        };
        assert_eq!(drawn(&sized(10, 20)).height(), 40);
        let error = of(&sized(1 << 20, 1 << 20)).expect_err("no machine has the memory").to_string();
        assert_eq!(error, "a picture of 1048576 x 1048576 pixels is too large for PNG: use --svg");
        assert!(of("<svg").is_err());
    }
}
