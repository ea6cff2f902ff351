//! One Worker of a picture: a bar of its cores, a thin one of its memory, and a square for each address.

use firesteel_placement::Cores;
use firesteel_sim::draft::WorkerOutcome;
use firesteel_sim::picture::{Anchor, Area, Paint, Point, SERIES, SMALL, Svg, Weight};

use super::why;

/// Height of the bar of cores.
pub(super) const BAR: f64 = 20.0;
/// Height of the bar of memory.
pub(super) const THIN: f64 = 5.0;
/// Height and width of a square.
pub(super) const SQUARE: f64 = 7.0;

/// A Worker: its cores, its memory and its addresses.
pub(super) fn draw(svg: &mut Svg, at: Point, worker: &WorkerOutcome, scale: f64, stranded: Cores) {
    let width = worker.cores.0.max(0) as f64 * scale;
    svg.rect(Area { at, width, height: BAR }, Paint::Free);
    let mut x = at.x;
    for executor in &worker.executors {
        let width = executor.cores.0 as f64 * scale;
        // Neighbours are told apart by a gap, as far as there is room for one.
        let gap = if width > 4.0 { 1.0 } else { 0.0 };
        let area = Area { at: Point { x, y: at.y }, width: width - gap, height: BAR };
        svg.rect(area, Paint::Series(executor.app));
        letter(svg, area, executor.app);
        x += width;
    }
    if stranded > Cores::ZERO {
        let area = Area {
            at: Point { x: x + 1.0, y: at.y + 0.5 },
            width: at.x + width - x - 1.5,
            height: BAR - 1.0,
        };
        svg.outline(area, Paint::Warning);
    }
    let y = at.y + BAR + 3.0;
    svg.rect(Area { at: Point { x: at.x, y }, width, height: THIN }, Paint::Free);
    let (mut x, each) = (at.x, width / worker.memory.0.max(1) as f64);
    for executor in &worker.executors {
        let width = executor.memory.0 as f64 * each;
        let gap = if width > 4.0 { 1.0 } else { 0.0 };
        svg.rect(Area { at: Point { x, y }, width: width - gap, height: THIN }, Paint::Series(executor.app));
        x += width;
    }
    squares(svg, Point { x: at.x, y: y + THIN + 3.0 }, worker, width);
}

/// A square for each address: first those that executors have.
fn squares(svg: &mut Svg, at: Point, worker: &WorkerOutcome, width: f64) {
    let mut x = at.x;
    for (name, &all) in &worker.resources {
        let held = worker.executors.iter().flat_map(|executor| {
            let count = executor.resources.get(name).copied().unwrap_or(0);
            std::iter::repeat_n(Paint::Series(executor.app), usize::try_from(count).unwrap_or(usize::MAX))
        });
        let free = std::iter::repeat(Paint::Free);
        for paint in held.chain(free).take(usize::try_from(all).unwrap_or(usize::MAX)) {
            if x + SQUARE > at.x + width.max(SQUARE) {
                return;
            }
            let area = Area { at: Point { x, y: at.y }, width: SQUARE, height: SQUARE };
            svg.rect(area, paint);
            if paint == Paint::Free {
                svg.outline(area, Paint::Grid);
            }
            x += SQUARE + 2.0;
        }
        x += SQUARE;
    }
}

/// The application's letter in the middle of the area, if there is room.
pub(super) fn letter(svg: &mut Svg, area: Area, app: usize) {
    if area.width >= 10.0 {
        if Paint::Series(app).is_patterned() {
            // Letters are not read upon stripes.
            let at = Point { x: area.at.x + area.width / 2.0 - 6.0, y: area.at.y + area.height / 2.0 - 7.0 };
            svg.rect(Area { at, width: 12.0, height: 14.0 }, Paint::Series(app % SERIES));
        }
        let at = Point { x: area.at.x + area.width / 2.0, y: area.at.y + area.height / 2.0 + 4.0 };
        let text = why::mark(app).to_string();
        svg.text(at, SMALL, Weight::Bold, Anchor::Middle, Paint::Upon(app), &text);
    }
}
