//! A Master under load for an hour: its memory, its open files, and the times of its answers.
//!
//! Half of the cores are always in use. Besides, applications come and go, Workers leave and return, a client asks for
//! the whole state, and hostile peers send invalid messages. A Master's memory of all this is bounded, so it stays
//! constant once the histories are full.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use firesteel_protocol::messages::{ClientToMaster, StateCursor};
use firesteel_protocol::wire::Role;
use firesteel_sim::picture::axis::{Axis, Scale};
use firesteel_sim::picture::chart::{ABOVE, BELOW, Chart, LEFT, Series};
use firesteel_sim::picture::{Anchor, Area, MARGIN, Paint, Point, SMALL, Svg, Weight, ticks};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::mocks;
use crate::probe::Probe;
use crate::scenarios::{Size, Testbed};
use crate::server::Door;
use crate::table::Sheet;

/// The number of samples, independent of the duration.
const SAMPLES: u32 = 60;
/// The pause between two applications, and before a Worker returns.
const PAUSE: Duration = Duration::from_millis(500);

/// The measurements at one time.
struct Sample {
    /// Seconds since the beginning.
    at: f64,
    /// Bytes.
    memory: f64,
    files: f64,
    /// The 99th percentile of answer times since the last sample, in seconds.
    most: f64,
    /// The longest of these answer times, in seconds.
    longest: f64,
}

type Figure = fn(&Sample) -> f64;

const MEGABYTES: Figure = |sample| sample.memory / 1e6;
const FILES: Figure = |sample| sample.files;
const MOST: Figure = |sample| sample.most * 1e3;
const LONGEST: Figure = |sample| sample.longest * 1e3;

pub(crate) async fn run(testbed: &Testbed, size: Size, sheet: &mut Sheet) {
    let workers = size.workers.min(1_000);
    let _workers = testbed.workers(workers, 16).await;
    let holders = (workers / 20).max(1);
    let held = workers * 8 / holders;
    let (_drivers, begin) = testbed.drivers(holders, i64::try_from(held).expect("it is small")).await;
    begin.notify_waiters();
    testbed.running(held * holders).await;

    let mut going_on = JoinSet::new();
    for number in 0..4 {
        let door = testbed.server.door.clone();
        going_on.spawn_local(applications(door, number));
    }
    going_on.spawn_local(workers_that_leave(testbed.server.door.clone(), testbed.seen.clone()));
    going_on.spawn_local(strangers(testbed.server.door.clone()));

    let begun = Instant::now();
    let mut samples = Vec::new();
    for number in 1..=SAMPLES {
        let probe = Probe::start(&testbed.server.door);
        sleep((size.span * number / SAMPLES).saturating_sub(begun.elapsed())).await;
        let delays = tokio::task::spawn_blocking(|| probe.finish()).await.expect("the probe does not panic");
        samples.push(Sample {
            at: begun.elapsed().as_secs_f64(),
            memory: testbed.server.memory() as f64,
            files: testbed.server.open_files() as f64,
            most: delays.most.as_secs_f64(),
            longest: delays.longest.as_secs_f64(),
        });
        assert!(going_on.try_join_next().is_none(), "what goes on does not end");
    }
    going_on.abort_all();
    write_down(&samples, sheet);
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("stability.svg");
    std::fs::write(&path, picture(&samples)).expect("the picture can be written");
    println!("drawn in {}", path.display());
}

/// Runs applications of some executors, one after the other.
async fn applications(door: Door, number: u64) {
    sleep(PAUSE * u32::try_from(number).expect("it is small") / 4).await;
    loop {
        let one = timeout(mocks::PATIENCE, mocks::one_application(&door, 16)).await;
        assert!(one.is_ok(), "waited for {:?} until an application was done", mocks::PATIENCE);
        sleep(PAUSE).await;
    }
}

/// Additional Workers that leave, and return under the same ids.
async fn workers_that_leave(door: Door, seen: std::rc::Rc<mocks::Seen>) {
    for number in (0..10).cycle() {
        let worker = mocks::worker(&door, 1_000_000 + number, 1, &seen);
        sleep(PAUSE).await;
        drop(worker);
    }
}

/// A client asks for the whole state and disconnects within the answer. Another peer speaks another protocol.
async fn strangers(door: Door) {
    loop {
        if let Ok(mut link) = door.try_dial(Role::Client, "stability").await {
            link.outgoing.push(&ClientToMaster::RequestMasterState { from: StateCursor::beginning() });
            link.outgoing.flush().await;
            let _ = link.incoming.next().await;
        }
        if let Ok(mut stream) = TcpStream::connect(&door.address).await {
            let _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await;
        }
        sleep(PAUSE).await;
    }
}

/// Records the figures of the second quarter, when all histories are full, and of the last one.
fn write_down(samples: &[Sample], sheet: &mut Sheet) {
    let quarter = samples.len() / 4;
    let (second, last) = (&samples[quarter..2 * quarter], &samples[3 * quarter..]);
    let rows = [
        ("stability: memory, MB, second quarter", "stability: memory, MB, last quarter", MEGABYTES),
        ("stability: open files, second quarter", "stability: open files, last quarter", FILES),
        (
            "stability: probe, 99 of 100, ms, second quarter",
            "stability: probe, 99 of 100, ms, last quarter",
            MOST,
        ),
        (
            "stability: probe, longest, ms, second quarter",
            "stability: probe, longest, ms, last quarter",
            LONGEST,
        ),
    ];
    for (in_second, in_last, figure) in rows {
        sheet.put(in_second, median(second, figure));
        sheet.put(in_last, median(last, figure));
    }
}

fn median(samples: &[Sample], figure: Figure) -> f64 {
    let mut figures: Vec<f64> = samples.iter().map(figure).collect();
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 150.0;

/// Draws memory, open files and delays over time, below each other.
fn picture(samples: &[Sample]) -> String {
    let end = samples.last().map_or(1.0, |last| last.at);
    let time = || axis("time", end, ticks::times(end));
    let series = |words: &str, figure: Figure| Series {
        points: samples.iter().map(|it| (it.at, figure(it))).collect(),
        words: words.to_owned(),
    };
    let highest = |figure: Figure| samples.iter().map(figure).fold(1.0, f64::max);
    let counts = |title: &str, most: f64| axis(title, most, ticks::counts(most));
    let charts = [
        Chart {
            title: "Memory of the Master".to_owned(),
            x: time(),
            y: counts("resident, MB", highest(MEGABYTES)),
            series: vec![series("memory", MEGABYTES)],
        },
        Chart {
            title: "Open files of the Master".to_owned(),
            x: time(),
            y: counts("number", highest(FILES)),
            series: vec![series("open files", FILES)],
        },
        Chart {
            title: "Time until a small question is answered".to_owned(),
            x: time(),
            y: counts("ms", highest(LONGEST)),
            series: vec![series("the longest", LONGEST), series("99 of 100", MOST)],
        },
    ];
    let mut svg = Svg::new("A Master over time", &description(samples));
    let mut top = MARGIN;
    for chart in charts {
        let at = Point { x: MARGIN + LEFT, y: top + ABOVE };
        chart.draw(&mut svg, Area { at, width: WIDTH, height: HEIGHT });
        top += ABOVE + HEIGHT + BELOW + MARGIN;
    }
    let words = "Of the two curves of the last chart the upper one is the longest time, the lower one that of 99 of 100.";
    svg.text(Point { x: MARGIN, y: top }, SMALL, Weight::Plain, Anchor::Start, Paint::Muted, words);
    svg.document(2.0 * MARGIN + LEFT + WIDTH, top + MARGIN)
}

fn axis(title: &str, to: f64, ticks: Vec<ticks::Tick>) -> Axis {
    Axis { title: title.to_owned(), scale: Scale::Even, from: 0.0, to, ticks }
}

fn description(samples: &[Sample]) -> String {
    let mut words = String::new();
    for sample in samples.iter().step_by(samples.len() / 4) {
        let Sample { at, memory, files, most, .. } = sample;
        write!(words, "After {at:.0} s: {:.1} MB, {files} files, {:.1} ms. ", memory / 1e6, most * 1e3)
            .expect("a text takes every word");
    }
    words
}
