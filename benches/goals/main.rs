//! Are the goals met that the allocation core is held to?
//!
//! Each figure is a ratio of two things measured in the same process, by turns, after both gave the same answer; the
//! table has the median over several processes, since how code and data come to lie in memory differs from process to
//! process more than within one.
//!
//! ```text
//! cargo bench -p firesteel-world --bench goals
//! cargo bench -p firesteel-world --bench goals -- --processes 9
//! cargo bench -p firesteel-world --bench goals -- --decisions 32  # ten times that many: measures nothing, to be counted
//! cargo bench -p firesteel-world --bench goals -- --test          # once and small: measures nothing
//! ```

#![allow(clippy::disallowed_types, clippy::disallowed_methods, clippy::disallowed_macros, reason = "a bench")]
#![allow(unreachable_pub, reason = "nothing outside can reach into a bench")]

mod cluster;
mod core;
mod plain;
mod product;
mod table;

use std::process::Command;

use firesteel_testkit::arguments::{Arguments, Known};
use table::{Scale, Sheet};

fn main() {
    let arguments = Arguments::of(Known {
        flags: &["--one"],
        numbers: &["--processes", "--decisions"],
        ..Known::default()
    });
    if arguments.test() {
        measure(Scale::Small);
        return println!("the goals can be measured");
    }
    if arguments.has("--one") {
        return write(&measure(Scale::Full));
    }
    if let Some(decisions) = arguments.number("--decisions") {
        return core::decide_after_b(usize::try_from(decisions).expect("it is small"));
    }
    let processes = arguments.number("--processes").unwrap_or(5);
    let sheets: Vec<Sheet> = (0..processes).map(|_| another_process()).collect();
    table::print(&sheets);
}

fn measure(scale: Scale) -> Sheet {
    let mut sheet = Sheet::default();
    core::rows(scale, &mut sheet);
    product::rows(scale, &mut sheet);
    sheet
}

fn another_process() -> Sheet {
    let this = std::env::current_exe().expect("a program knows its file");
    let output = Command::new(this).arg("--one").output().expect("a bench can start itself");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    read(&String::from_utf8(output.stdout).expect("it writes text"))
}

/// Writes a sheet as lines: a goal with its figure, or another measurement with figure and unit.
fn write(sheet: &Sheet) {
    for (goal, figure) in &sheet.goals {
        println!("{goal}\t{figure}");
    }
    for (what, (figure, unit)) in &sheet.beside {
        println!("{what}\t{figure}\t{unit}");
    }
}

fn read(lines: &str) -> Sheet {
    let mut sheet = Sheet::default();
    for line in lines.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        match words[..] {
            [goal, figure] => sheet.put(goal, figure.parse().expect("a number")),
            [what, figure, unit] => sheet.say(what, figure.parse().expect("a number"), unit),
            _ => panic!("no line of a sheet: {line}"),
        }
    }
    sheet
}
