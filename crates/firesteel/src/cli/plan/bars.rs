//! One Worker of a picture: a bar of cores, a thin bar of memory, and a square for each address.

use firesteel_placement::amount::WHOLE;
use firesteel_placement::{Cores, Quantity};
use firesteel_sim::draft::WorkerOutcome;
use firesteel_sim::picture::words::width;
use firesteel_sim::picture::{Anchor, Area, Paint, Point, SERIES, SMALL, Svg, Weight};

use super::why;

/// Height of the bar of cores, in pixels.
pub(super) const BAR: f64 = 20.0;
/// Height of the bar of memory, in pixels.
pub(super) const THIN: f64 = 5.0;
/// Height and greatest width of a square, in pixels.
pub(super) const SQUARE: f64 = 7.0;

/// Where a Worker is drawn, and how large.
pub(super) struct Bar {
    /// The upper left corner.
    pub(super) at: Point,
    /// Pixels per core.
    pub(super) scale: f64,
    /// Width of the whole column, in pixels.
    pub(super) column: f64,
    /// Stranded cores, which get a red outline.
    pub(super) stranded: Cores,
}

impl Bar {
    /// Draws the cores of a Worker, its memory and its addresses.
    pub(super) fn draw(&self, svg: &mut Svg, worker: &WorkerOutcome) {
        let (at, width) = (self.at, worker.cores.0.max(0) as f64 * self.scale);
        svg.rect(Area { at, width, height: BAR }, Paint::Free);
        let mut x = at.x;
        for executor in &worker.executors {
            let width = executor.cores.0 as f64 * self.scale;
            let area = Area { at: Point { x, y: at.y }, width: width - gap(width), height: BAR };
            svg.rect(area, Paint::Series(executor.app));
            letter(svg, area, executor.app);
            x += width;
        }
        if self.stranded > Cores::ZERO {
            let free = Point { x: x + 0.5, y: at.y + 0.5 };
            svg.outline(Area { at: free, width: at.x + width - x - 1.0, height: BAR - 1.0 }, Paint::Warning);
        }
        let y = at.y + BAR + 3.0;
        svg.rect(Area { at: Point { x: at.x, y }, width, height: THIN }, Paint::Free);
        let (mut x, each) = (at.x, width / worker.memory.0.max(1) as f64);
        for executor in &worker.executors {
            let width = executor.memory.0 as f64 * each;
            let area = Area { at: Point { x, y }, width: width - gap(width), height: THIN };
            svg.rect(area, Paint::Series(executor.app));
            x += width;
        }
        squares(svg, Point { x: at.x, y: y + THIN + 3.0 }, worker, self.column);
    }
}

/// Space between an executor and the next, if there is room for one.
fn gap(width: f64) -> f64 {
    if width > 4.0 { 1.0 } else { 0.0 }
}

/// A square for each address, first those in use. An executor with a part of an address fills that part of a square. Many
/// addresses are narrow, so that all fit into the column.
fn squares(svg: &mut Svg, at: Point, worker: &WorkerOutcome, column: f64) {
    let count = worker.resources.values().copied().sum::<Quantity>().thousandths() / WHOLE;
    let gaps = worker.resources.len().saturating_sub(1) as f64;
    let step = ((column - gaps * SQUARE) / count.max(1) as f64).min(SQUARE + 2.0);
    let width = step - (step / 3.0).min(2.0);
    let mut x = at.x;
    for (name, &all) in &worker.resources {
        let held = worker.executors.iter().map(|executor| {
            let quantity = executor.resources.get(name).copied().unwrap_or_default();
            (Paint::Series(executor.app), quantity)
        });
        let mut filled = 0;
        for (paint, quantity) in held.chain([(Paint::Free, all)]) {
            let end = (filled + quantity.thousandths()).min(all.thousandths());
            while filled < end {
                let start = filled % WHOLE;
                let part = (end - filled).min(WHOLE - start);
                let [before, own] = [start, part].map(|part| width * (part as f64 / WHOLE as f64));
                let area = Area { at: Point { x: x + before, y: at.y }, width: own, height: SQUARE };
                svg.rect(area, paint);
                if paint == Paint::Free {
                    svg.outline(area, Paint::Grid);
                }
                filled += part;
                if start + part == WHOLE {
                    x += step;
                }
            }
        }
        x += SQUARE;
    }
}

/// Draws the application's letter in the middle of the area, if there is room.
pub(super) fn letter(svg: &mut Svg, area: Area, app: usize) {
    let text = why::mark(app).to_string();
    if width(&text, SMALL, Weight::Bold) <= area.width {
        if Paint::Series(app).is_patterned() {
            // A letter on stripes cannot be read.
            let at = Point { x: area.at.x + area.width / 2.0 - 6.0, y: area.at.y + area.height / 2.0 - 7.0 };
            svg.rect(Area { at, width: 12.0, height: 14.0 }, Paint::Series(app % SERIES));
        }
        let at = Point { x: area.at.x + area.width / 2.0, y: area.at.y + area.height / 2.0 + 4.0 };
        svg.text(at, SMALL, Weight::Bold, Anchor::Middle, Paint::Upon(app), &text);
    }
}
