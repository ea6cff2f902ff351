//! Many Workers at a glance: one small bar per Worker, in rows, without names.
//!
//! The length of a bar is its Worker's number of cores. Executors have the colours of their applications, and free
//! cores are light. Stranded free cores have a red edge. All areas of one colour are one path, so that a browser draws
//! tens of thousands of executors at once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use firesteel_placement::Cores;

use super::palette::Paint;
use super::svg::{Escaped, Number, PATTERNS};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    pub cores: Cores,
    /// The used cores by user.
    pub held: Vec<(Holder, Cores)>,
    /// Whether no waiting application can use the Worker's free cores.
    pub is_stranded: bool,
    /// Whether the Worker gets no new executors, so that its unused cores are not free.
    pub is_withheld: bool,
}

impl Tile {
    #[must_use]
    pub fn used(&self) -> Cores {
        self.held.iter().map(|(_, cores)| *cores).sum()
    }
}

/// The user of cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// The application with this series.
    Series(usize),
    /// An application that has no series of its own.
    Other,
    Driver,
}

/// The colour of cores that are neither used nor free.
pub const WITHHELD: Paint = Paint::Grid;

impl Holder {
    #[must_use]
    pub fn paint(self) -> Paint {
        match self {
            Self::Series(number) => Paint::Series(number),
            Self::Other => Paint::Muted,
            Self::Driver => Paint::Ink,
        }
    }
}

/// Width of the mosaic, in SVG units.
const WIDTH: f64 = 1200.0;
/// The approximate height of a mosaic with many Workers, in SVG units.
const HEIGHT: f64 = 720.0;
/// The ratio of length to height of an average bar.
const SHAPE: f64 = 4.0;
/// The smallest and largest height of a bar, in SVG units.
const BAR: (f64, f64) = (3.0, 22.0);

/// The size of bars, and the position of the next bar. Bars are placed in rows, like words in a text.
struct Flow {
    height: f64,
    gap: f64,
    /// The width of one core, in SVG units.
    scale: f64,
    at: (f64, f64),
}

impl Flow {
    fn of(tiles: &[Tile]) -> Self {
        let count = tiles.len().max(1) as f64;
        let cores = tiles.iter().map(|tile| tile.cores.0.max(1)).sum::<i64>().max(1) as f64;
        let widest = tiles.iter().map(|tile| tile.cores.0).max().unwrap_or(1).max(1) as f64;
        let height = (WIDTH * HEIGHT / (count * SHAPE)).sqrt().clamp(BAR.0, BAR.1).floor();
        let gap = if height > 8.0 { 4.0 } else { 1.0 };
        let scale = (height * SHAPE / (cores / count)).min(WIDTH / widest);
        Self { height, gap, scale, at: (0.0, 0.0) }
    }

    /// The position of the next bar (x, y), and its width.
    fn next(&mut self, cores: Cores) -> (f64, f64, f64) {
        let width = cores.0.max(0) as f64 * self.scale;
        if self.at.0 > 0.0 && self.at.0 + width > WIDTH {
            self.at = (0.0, self.at.1 + self.height + self.gap);
        }
        let (x, y) = self.at;
        self.at.0 += width + self.gap;
        (x, y, width)
    }

    fn bottom(&self) -> f64 {
        self.at.1 + self.height
    }
}

/// The mosaic as an HTML element. Its colours are defined by [`super::colours`].
#[must_use]
pub fn draw(tiles: &[Tile], title: &str) -> String {
    let mut flow = Flow::of(tiles);
    let (scale, height) = (flow.scale, flow.height);
    let (mut free, mut withheld, mut stranded) = (String::new(), String::new(), String::new());
    let mut held: BTreeMap<Holder, String> = BTreeMap::new();
    for tile in tiles {
        let (x, y, width) = flow.next(tile.cores);
        let mut at = x;
        for (holder, cores) in merged(&tile.held) {
            let width = (cores.0.max(0) as f64 * scale).min(x + width - at);
            area(held.entry(holder).or_default(), (at, y), (width, height));
            at += width;
        }
        let rest = x + width - at;
        let left = if tile.is_withheld { &mut withheld } else { &mut free };
        area(left, (at, y), (rest, height));
        if tile.is_stranded {
            area(&mut stranded, (at + 0.5, y + 0.5), (rest - 1.0, height - 1.0));
        }
    }
    let height = Number(flow.bottom());
    let mut text = format!(
        "<svg viewBox=\"0 0 {} {height}\" role=\"img\" aria-label=\"{}\">{PATTERNS}",
        Number(WIDTH),
        Escaped(title)
    );
    let mut path = |look: String, area: &str| {
        if !area.is_empty() {
            write!(text, "<path {look} d=\"{area}\"/>").expect("a text takes it");
        }
    };
    path(format!("class=\"{}\"", Paint::Free.fill()), &free);
    path(format!("class=\"{}\"", WITHHELD.fill()), &withheld);
    for (holder, area) in &held {
        path(format!("class=\"{}\"", holder.paint().fill()), area);
        if let Some(pattern) = holder.paint().pattern() {
            path(format!("fill=\"url(#{pattern})\""), area);
        }
    }
    path(format!("class=\"{}\"", Paint::Warning.stroke()), &stranded);
    text + "</svg>"
}

/// A small sample of a colour, for a legend.
#[must_use]
pub fn swatch(paint: Paint) -> String {
    let area = "d=\"M0 0h16v8h-16z\"";
    let over = paint.pattern().map(|pattern| format!("<path fill=\"url(#{pattern})\" {area}/>"));
    format!(
        "<svg viewBox=\"0 0 16 8\" aria-hidden=\"true\"><path class=\"{}\" {area}/>{}</svg>",
        paint.fill(),
        over.unwrap_or_default()
    )
}

/// The used cores with one entry per user.
fn merged(held: &[(Holder, Cores)]) -> Vec<(Holder, Cores)> {
    let mut all: Vec<(Holder, Cores)> = Vec::new();
    for &(holder, cores) in held {
        match all.last_mut() {
            Some((last, sum)) if *last == holder => *sum += cores,
            Some(_) | None => all.push((holder, cores)),
        }
    }
    all
}

/// Adds a rectangle to a path. Adds nothing if the rectangle has no area.
fn area(path: &mut String, (x, y): (f64, f64), (width, height): (f64, f64)) {
    if width < 0.05 || height <= 0.0 {
        return;
    }
    let (x, y, width, height) = (Number(x), Number(y), Number(width), Number(height));
    write!(path, "M{x} {y}h{width}v{height}h-{width}z").expect("a text takes it");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(held: &[(Holder, i64)], is_stranded: bool) -> Tile {
        let held = held.iter().map(|(holder, cores)| (*holder, Cores(*cores))).collect();
        Tile { cores: Cores(8), held, is_stranded, is_withheld: false }
    }

    #[test]
    fn what_is_held_free_and_stranded_has_paths_of_its_own() {
        let one = Holder::Series(1);
        let tiles = [
            tile(&[(one, 2), (one, 2), (Holder::Other, 4)], false),
            tile(&[(one, 6)], true),
            tile(&[], false),
        ];
        let svg = draw(&tiles, "3 <Workers>");
        assert!(svg.contains("aria-label=\"3 &lt;Workers&gt;\""), "{svg}");
        let paths = |class: &str| {
            let begin = svg.split(&format!("class=\"{class}\" d=\"")).nth(1).unwrap_or_default();
            begin.split('"').next().unwrap_or_default().matches('M').count()
        };
        assert_eq!((paths("s1"), paths("muted"), paths("free"), paths("l-warning")), (2, 1, 2, 1), "{svg}");
    }

    #[test]
    fn ten_thousand_workers_fit_a_page_and_few_bytes() {
        let held = |index: usize| vec![(Holder::Series(index % 12), 3), (Holder::Other, 2)];
        let tiles: Vec<Tile> = (0..10_000).map(|index| tile(&held(index), index % 3 == 0)).collect();
        let svg = draw(&tiles, "10,000 Workers");
        assert!(svg.len() < 2 << 20, "{}", svg.len());
        let height = svg.split("viewBox=\"0 0 1200 ").nth(1).and_then(|rest| rest.split('"').next());
        let height: f64 = height.and_then(|height| height.parse().ok()).expect("it has a height");
        assert!(height < 1.6 * HEIGHT, "{height}");
        assert!(svg.contains("fill=\"url(#stripes)\""));
    }

    #[test]
    fn no_workers_make_an_empty_picture() {
        assert!(draw(&[], "none").ends_with("</svg>"));
    }
}
