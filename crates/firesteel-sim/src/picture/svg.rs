//! Elements of an SVG document, in drawing order.

use std::fmt::{self, Display, Formatter, Write as _};

use super::palette::{Paint, style};

/// A position in a picture, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The distance from the left edge.
    pub x: f64,
    /// The distance from the top edge.
    pub y: f64,
}

/// A rectangle, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// The upper left corner.
    pub at: Point,
    /// Its width, to the right.
    pub width: f64,
    /// Its height, downwards.
    pub height: f64,
}

/// The part of a text that is at the text's point. The point is on the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The beginning of the text.
    Start,
    Middle,
    End,
}

/// The weight of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    Plain,
    Bold,
}

#[derive(Clone, Debug)]
pub struct Svg {
    title: String,
    description: String,
    body: String,
}

impl Svg {
    /// Creates an empty picture. Screen readers read its title and description aloud.
    #[must_use]
    pub fn new(title: &str, description: &str) -> Self {
        let (title, description) = (title.to_owned(), description.to_owned());
        Self { title, description, body: String::new() }
    }

    /// A filled rectangle with slightly rounded corners. Draws nothing if the rectangle has no area.
    pub fn rect(&mut self, area: Area, paint: Paint) {
        self.shape(area, &format!("class=\"{}\"", paint.fill()));
        if let Some(pattern) = paint.pattern() {
            self.shape(area, &format!("fill=\"url(#{pattern})\""));
        }
    }

    pub fn outline(&mut self, area: Area, paint: Paint) {
        self.shape(area, &format!("class=\"{}\"", paint.stroke()));
    }

    fn shape(&mut self, area: Area, look: &str) {
        let Area { at, width, height } = area;
        if width > 0.0 && height > 0.0 {
            let round = Number((width.min(height) / 4.0).min(2.0));
            let (x, y, width, height) = (Number(at.x), Number(at.y), Number(width), Number(height));
            self.element(format_args!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{round}\" {look}/>"
            ));
        }
    }

    /// A solid line through these points. `width` is in pixels. With fewer than two points, draws nothing.
    pub fn line(&mut self, points: &[Point], width: f64, paint: Paint) {
        self.dashed(points, width, paint, "");
    }

    /// A dashed line through these points. `dashes` contains the lengths of dashes and gaps in pixels. If it is empty,
    /// the line is solid.
    pub fn dashed(&mut self, points: &[Point], width: f64, paint: Paint, dashes: &str) {
        if points.len() < 2 {
            return;
        }
        let dashes =
            if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dashes}\"") };
        let (class, points, width) = (paint.stroke(), joined(points), Number(width));
        self.element(format_args!(
            "<polyline class=\"{class}\" stroke-width=\"{width}\"{dashes} stroke-linejoin=\"round\" points=\"{points}\"/>"
        ));
    }

    /// A filled circle. `radius` is in pixels.
    pub fn circle(&mut self, at: Point, radius: f64, paint: Paint) {
        let (x, y, radius, class) = (Number(at.x), Number(at.y), Number(radius), paint.fill());
        self.element(format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" class=\"{class}\"/>"));
    }

    pub fn polygon(&mut self, corners: &[Point], paint: Paint) {
        let (class, points) = (paint.fill(), joined(corners));
        self.element(format_args!("<polygon class=\"{class}\" points=\"{points}\"/>"));
    }

    pub fn text(&mut self, at: Point, size: f64, weight: Weight, anchor: Anchor, paint: Paint, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = match weight {
            Weight::Plain => "",
            Weight::Bold => " font-weight=\"600\"",
        };
        let (x, y, size, class, text) =
            (Number(at.x), Number(at.y), Number(size), paint.fill(), Escaped(text));
        self.element(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" class=\"{class}\"{anchor}{weight}>{text}</text>"
        ));
    }

    /// Groups elements. Viewers show `words` when the pointer is on one of these elements.
    pub fn group(&mut self, words: &str, draw: impl FnOnce(&mut Self)) {
        self.element(format_args!("<g><title>{}</title>", Escaped(words)));
        draw(self);
        self.element(format_args!("</g>"));
    }

    /// Returns the document. Width and height are in pixels.
    #[must_use]
    pub fn document(self, width: f64, height: f64) -> String {
        let (width, height) = (Number(width.ceil()), Number(height.ceil()));
        let (title, description) = (Escaped(&self.title), Escaped(&self.description));
        let (style, body) = (style(), self.body);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} \
             {height}\" role=\"img\" font-family=\"system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif\">\n\
             <title>{title}</title>\n<desc>{description}</desc>\n<style>{style}</style>\n{PATTERNS}\n\
             <rect width=\"{width}\" height=\"{height}\" class=\"page\"/>\n{body}</svg>\n"
        )
    }

    fn element(&mut self, element: fmt::Arguments<'_>) {
        writeln!(self.body, "{element}").expect("a text takes every element");
    }
}

/// The points in the form of an SVG attribute.
fn joined(points: &[Point]) -> String {
    let points = points.iter().map(|point| format!("{},{}", Number(point.x), Number(point.y)));
    points.collect::<Vec<_>>().join(" ")
}

/// The definitions of the patterns that are laid over repeated colours.
pub(super) const PATTERNS: &str = "<defs>\
<pattern id=\"stripes\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
<path d=\"M0 3H6\" stroke-width=\"2\" class=\"over\"/></pattern>\
<pattern id=\"dots\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
<circle cx=\"3\" cy=\"3\" r=\"1.4\" class=\"over\"/></pattern></defs>";

/// A number of pixels with at most two decimals. So the text is short, and the same on every machine.
pub(super) struct Number(pub(super) f64);

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let rounded = format!("{:.2}", self.0);
        let short = rounded.trim_end_matches('0').trim_end_matches('.');
        f.write_str(if short == "-0" { "0" } else { short })
    }
}

/// Text between tags. Markup is escaped. Characters that XML does not allow are replaced.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\n' => f.write_char(c),
            c if c.is_control() || c == '\u{fffe}' || c == '\u{ffff}' => f.write_char('\u{fffd}'),
            c => f.write_char(c),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_element() {
        let mut svg = Svg::new("a & b", "</desc><script>");
        let at = Point { x: 1.0, y: 2.5 };
        svg.text(at, 13.0, Weight::Plain, Anchor::Start, Paint::Ink, "</text><script a=\"b\">\u{1b}[2J\u{0}");
        svg.group("<x>", |svg| svg.rect(Area { at, width: 10.0, height: 0.0 }, Paint::Free));
        let document = svg.document(100.0, 50.0);
        assert!(!document.contains("<script") && !document.contains("<x>"), "{document}");
        assert!(document.contains("<title>a &amp; b</title>"));
        assert!(document.contains("&quot;b&quot;&gt;\u{fffd}[2J\u{fffd}</text>"));
        assert!(document.chars().all(|c| c == '\n' || !c.is_control()));
    }

    #[test]
    fn numbers_are_short_and_have_no_negative_zero() {
        let all = [0.0, -0.001, 1.5, 2.0, 1.0 / 3.0, 1234.0].map(|number| Number(number).to_string());
        assert_eq!(all, ["0", "0", "1.5", "2", "0.33", "1234"]);
    }
}
