//! What does `firesteel map` cost for each item, beside `xargs -P` and GNU parallel?
//!
//! All tools run the same tasks with the same number of slots, as whole commands, alternating round by round. The table
//! has medians, and ratios to xargs in the same round. Each figure includes the start of the tool: for Firesteel, a
//! Master, a Worker, an executor and a driver. Then the memory of all of Firesteel's processes over the number of
//! items, and a long output through one executor.
//!
//! `-- --test` runs each once with few items and measures nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use firesteel_testkit::arguments::{Arguments, Known};

const SLOTS: &str = "2";
const FIRESTEEL: [&str; 6] = ["map", "--summary", "none", "--quiet", "--master", "local-cluster[1,2,1024]"];

/// The sizes of the measurements.
struct Grid {
    trivial: Tasks,
    ten_millis: Tasks,
    memory: &'static [usize],
    bytes: u64,
}

/// The number of tasks of one kind, and of rounds.
struct Tasks {
    rounds: usize,
    items: usize,
    /// For GNU parallel, which takes some milliseconds for each task.
    items_of_parallel: usize,
}

const MEASURED: Grid = Grid {
    trivial: Tasks { rounds: 1, items: 100_000, items_of_parallel: 10_000 },
    ten_millis: Tasks { rounds: 3, items: 2_000, items_of_parallel: 2_000 },
    memory: &[1_000, 10_000, 100_000],
    bytes: 1 << 30,
};
const TESTED: Grid = Grid {
    trivial: Tasks { rounds: 1, items: 200, items_of_parallel: 20 },
    ten_millis: Tasks { rounds: 1, items: 20, items_of_parallel: 20 },
    memory: &[200],
    bytes: 1 << 30,
};

fn main() {
    let test = Arguments::of(Known::default()).test();
    let grid = if test { TESTED } else { MEASURED };
    println!("{SLOTS} slots; medians of interleaved rounds");
    compare("true", &grid.trivial);
    compare("sleep 0.01", &grid.ten_millis);
    for &items in grid.memory {
        memory(items);
    }
    long_output(grid.bytes);
    closed_pipe();
}

/// Compares the tools on one kind of task.
fn compare(task: &str, tasks: &Tasks) {
    let Tasks { rounds, items, items_of_parallel } = *tasks;
    let mut rates: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut ratios = Vec::new();
    for _ in 0..rounds {
        let xargs = rate(items, shell(&format!("seq {items} | xargs -P {SLOTS} -n 1 sh -c '{task}'")));
        let firesteel = rate(items, shell(&firesteel(items, &format!("sh -c '{task}'"))));
        ratios.push(firesteel / xargs);
        rates.entry("xargs").or_default().push(xargs);
        rates.entry("firesteel").or_default().push(firesteel);
        if present("parallel") {
            let line =
                format!("seq {items_of_parallel} | parallel --will-cite -j {SLOTS} -n 1 \"sh -c '{task}'\"");
            let parallel = rate(items_of_parallel, shell(&line));
            rates.entry("parallel").or_default().push(parallel);
        } else {
            println!("  (no GNU parallel on this machine)");
        }
    }
    println!("\n{items} x sh -c '{task}', {rounds} rounds");
    for (tool, rates) in &rates {
        let median = median(rates.clone());
        println!("  {tool:9} {median:8.0} tasks/s, {:.3} ms a task", 1000.0 / median);
    }
    println!("  firesteel / xargs: {:.2}", median(ratios));
    let each = |tool| 1000.0 / median(rates[tool].clone());
    println!("  firesteel's own part of a task, over xargs': {:.3} ms", each("firesteel") - each("xargs"));
}

/// Prints the peak memory of each of Firesteel's processes.
fn memory(items: usize) {
    let mut child = shell(&firesteel(items, "true")).spawn().expect("sh is there");
    let mut peaks: BTreeMap<String, u64> = BTreeMap::new();
    while child.try_wait().expect("it is our child").is_none() {
        for (name, kib) in family(child.id()) {
            let peak = peaks.entry(name).or_default();
            *peak = kib.max(*peak);
        }
        thread::sleep(Duration::from_millis(20));
    }
    assert!(child.wait().expect("it has ended").success(), "the items succeed");
    let list: Vec<String> = peaks.iter().map(|(name, kib)| format!("{name} {} KiB", kib)).collect();
    println!("\nmost memory with {items} items: {}", list.join(", "));
}

/// Measures one item's long output, counted and summed on both sides.
fn long_output(bytes: u64) {
    let produce = format!("yes 0123456789abcdef | head -c {bytes}");
    let summed = |line: &str| {
        let started = Instant::now();
        let mut child = shell(line).stdout(Stdio::piped()).spawn().expect("sh is there");
        let mut sum = String::new();
        child.stdout.take().expect("it is piped").read_to_string(&mut sum).expect("it is text");
        assert!(child.wait().expect("it ends").success(), "{line}");
        (sum, started.elapsed())
    };
    let (expected, direct) = summed(&format!("{produce} | cksum"));
    let binary = env!("CARGO_BIN_EXE_firesteel");
    let (found, through) =
        summed(&format!("{binary} {} -- sh -c '{produce}' ::: x | cksum", quoted(&FIRESTEEL)));
    assert_eq!(found, expected, "not a byte is lost");
    let rate = bytes as f64 / through.as_secs_f64() / f64::from(1 << 20);
    println!(
        "\n{bytes} bytes through one executor: unchanged, {rate:.0} MiB/s ({:.1} times as long as a pipe)",
        through.as_secs_f64() / direct.as_secs_f64()
    );
}

/// Measures the time from the end of the output's reader until all processes of the run have ended.
fn closed_pipe() {
    let task = "sh -c '[ \"$1\" -le 9 ] || exec sleep 60; echo $1' sh";
    // The reader prints the time when it stops reading; a task that begins later is still asleep then.
    let line = format!("{} | {{ head -n 5 >/dev/null; date +%s.%N; }}", firesteel(1000, task));
    let mut child = shell(&line).stdout(Stdio::piped()).spawn().expect("sh is there");
    let mut closed = String::new();
    child.stdout.take().expect("it is piped").read_to_string(&mut closed).expect("it is text");
    child.wait().expect("it ends");
    let closed = Duration::from_secs_f64(closed.trim().parse().expect("date prints a number"));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970");
    println!("\nafter its reader left, all work had ended in {:.2} s", (now - closed).as_secs_f64());
}

/// A shell line that runs a task for each number up to `items`, without passing the number.
fn firesteel(items: usize, task: &str) -> String {
    format!("seq {items} | {} {} -- {task}", env!("CARGO_BIN_EXE_firesteel"), quoted(&FIRESTEEL))
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ")
}

fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn present(program: &str) -> bool {
    shell(&format!("command -v {program}")).status().is_ok_and(|status| status.success())
}

/// The number of tasks per second.
fn rate(items: usize, mut command: Command) -> f64 {
    let started = Instant::now();
    let status = command.status().expect("sh is there");
    assert!(status.success(), "{command:?}: {status}");
    items as f64 / started.elapsed().as_secs_f64()
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The `firesteel` processes below `ancestor`, by command, with the peak memory of each in KiB.
fn family(ancestor: u32) -> Vec<(String, u64)> {
    let entries = fs::read_dir("/proc").expect("there is a /proc").flatten();
    let pids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let field = |pid: u32, name: &str| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let is_below = |mut pid: u32| {
        while pid > 1 {
            if pid == ancestor {
                return true;
            }
            pid = field(pid, "PPid:").and_then(|pid| pid.try_into().ok()).unwrap_or(0);
        }
        false
    };
    let named = |pid: u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let mut words = line.split(|byte| *byte == 0);
        let program = String::from_utf8_lossy(words.next()?).into_owned();
        let command = String::from_utf8_lossy(words.next()?).into_owned();
        program.ends_with("firesteel").then_some(command)
    };
    let rows = pids.into_iter().filter_map(|pid| {
        let name = named(pid)?;
        Some((name, is_below(pid).then(|| field(pid, "VmHWM:"))??))
    });
    rows.collect()
}
