//! All processes of the machine, from `/proc`: their parents, processor time and memory.

use std::collections::BTreeMap;
use std::fs;

/// The contents of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub parent: u32,
    /// The processor time of the process and of its ended children, in ticks.
    pub ticks: u64,
    pub threads: u64,
    /// The memory of the process in RAM, in pages.
    pub pages: u64,
}

impl Stat {
    /// Reads a line of `/proc/PID/stat`. The program's name is in parentheses, and can contain any characters.
    fn of(line: &str) -> Option<Self> {
        let (_, rest) = line.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at - 3)?.parse::<u64>().ok();
        // An ended child counts with its parent from then on.
        let ticks = [14, 15, 16, 17].into_iter().map(number).sum::<Option<u64>>()?;
        let parent = u32::try_from(number(4)?).ok()?;
        Some(Self { parent, ticks, threads: number(20)?, pages: number(24)? })
    }
}

/// All processes of the machine, by id. Processes that end during the reading are left out.
#[must_use]
pub fn processes() -> BTreeMap<u32, Stat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let process = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, Stat::of(&fs::read_to_string(entry.path().join("stat")).ok()?)?))
    };
    entries.filter_map(process).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "70 (a) b (c)) S 7 71 72 0 -1 4194560 100 0 0 0 11 22 33 44 20 0 3 0 900 5000000 321 18446744073709551615";

    #[test]
    fn a_line_of_a_process_is_read_whatever_its_program_is_called() {
        assert_eq!(Stat::of(LINE), Some(Stat { parent: 7, ticks: 110, threads: 3, pages: 321 }));
        for line in ["", "70 (a) S", "70 (a", &LINE[..60]] {
            assert_eq!(Stat::of(line), None, "{line}");
        }
    }
}
