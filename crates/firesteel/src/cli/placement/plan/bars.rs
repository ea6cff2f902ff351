//! Draws one Worker: a bar of cores, a thin bar of memory, and a cell for each address.

use firesteel_placement::Cores;
use firesteel_placement::advanced::resources::WHOLE;
use firesteel_sim::draft::{Cells, User, WorkerOutcome};
use firesteel_sim::picture::words::width;
use firesteel_sim::picture::{Anchor, Area, Paint, Point, SERIES, SMALL, Svg, Weight};

use super::why;

/// Height of the bar of cores, in pixels.
pub(super) const BAR: f64 = 20.0;
/// Height of the bar of memory, in pixels.
pub(super) const THIN: f64 = 5.0;
/// The height and the maximum width of a cell, in pixels.
pub(super) const SQUARE: f64 = 7.0;
/// The height of the cell of a shared address, in pixels. It is larger, so that the fractions can be distinguished.
pub(super) const SHARED: f64 = 14.0;

/// The colour of resources that cluster drivers use.
const DRIVERS: Paint = Paint::Muted;

/// The position and the size of a drawn Worker.
pub(super) struct Bar {
    /// The upper left corner of the drawing.
    pub(super) at: Point,
    pub(super) scale: f64,
    /// Width of the whole column, in pixels.
    pub(super) column: f64,
    /// Stranded cores, which get a red outline.
    pub(super) stranded: Cores,
    /// The height and the maximum width of a cell, in pixels.
    pub(super) cell: f64,
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
        let drivers = worker.cores_of_drivers().0 as f64 * self.scale;
        svg.rect(Area { at: Point { x, y: at.y }, width: drivers - gap(drivers), height: BAR }, DRIVERS);
        x += drivers;
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
        let drivers = worker.memory_of_drivers().0 as f64 * each;
        svg.rect(Area { at: Point { x, y }, width: drivers - gap(drivers), height: THIN }, DRIVERS);
        cells(svg, Point { x: at.x, y: y + THIN + 3.0 }, &worker.cells, self);
    }
}

/// The space between an executor and the next one, if the bar is wide enough for it.
fn gap(width: f64) -> f64 {
    if width > 4.0 { 1.0 } else { 0.0 }
}

/// Draws a cell for each address, filled by the executors that use the address or fractions of it. With many addresses,
/// cells are narrow, so that all fit into the column.
fn cells(svg: &mut Svg, at: Point, cells: &Cells, bar: &Bar) {
    let count: usize = cells.iter().map(|(_, cells)| cells.len()).sum();
    let gaps = cells.iter().len().saturating_sub(1) as f64;
    let step = ((bar.column - gaps * SQUARE) / count.max(1) as f64).min(bar.cell + 2.0);
    let width = step - (step / 3.0).min(2.0);
    let mut x = at.x;
    for (_, cells) in cells.iter() {
        for cell in cells {
            let area = |from: u64, to: u64| {
                let [left, right] = [from, to].map(|part| width * (part as f64 / WHOLE as f64));
                Area { at: Point { x: x + left, y: at.y }, width: right - left, height: bar.cell }
            };
            let mut filled = 0;
            for (user, part) in cell {
                let end = (filled + part.thousandths()).min(WHOLE);
                let paint = match user {
                    User::Application(app) => Paint::Series(*app),
                    User::Driver => DRIVERS,
                };
                svg.rect(area(filled, end), paint);
                filled = end;
            }
            svg.rect(area(filled, WHOLE), Paint::Free);
            svg.outline(area(filled, WHOLE), Paint::Grid);
            x += step;
        }
        x += SQUARE;
    }
}

/// Draws the application's letter in the middle of the area, if it fits.
pub(super) fn letter(svg: &mut Svg, area: Area, app: usize) {
    let text = why::mark(app).to_string();
    if width(&text, SMALL, Weight::Bold) <= area.width {
        if Paint::Series(app).is_patterned() {
            // A letter would be unreadable on stripes.
            let at = Point { x: area.at.x + area.width / 2.0 - 6.0, y: area.at.y + area.height / 2.0 - 7.0 };
            svg.rect(Area { at, width: 12.0, height: 14.0 }, Paint::Series(app % SERIES));
        }
        let at = Point { x: area.at.x + area.width / 2.0, y: area.at.y + area.height / 2.0 + 4.0 };
        svg.text(at, SMALL, Weight::Bold, Anchor::Middle, Paint::Upon(app), &text);
    }
}
