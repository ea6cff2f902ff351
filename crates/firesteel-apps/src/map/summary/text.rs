//! The summary as lines of text.

use std::fmt;
use std::time::Duration;

use firesteel_host::plain::clean;
use firesteel_host::progress::{counted, grouped};

use super::{Failure, LocalityUse, Summary, shown};

/// Number of failed items that the text names.
const NAMED: usize = 10;

/// Number of hosts per failed item that the text names.
const NAMED_HOSTS: usize = 4;

/// Writes the lines: the counts, the executors by host, the failed items.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unread = self.unread.unwrap_or(0);
        write!(f, "{} in {}: ", counted(self.items + unread, "item"), seconds(self.elapsed))?;
        write!(f, "{} succeeded, {} failed", grouped(self.succeeded), grouped(self.failed))?;
        for (count, what) in
            [(self.cancelled, "cancelled"), (self.unusable, "unusable"), (unread, "not begun")]
        {
            if count > 0 {
                write!(f, ", {} {what}", grouped(count))?;
            }
        }
        if self.unread.is_none() {
            f.write_str("; more of the input was not read")?;
        }
        if self.unprinted > 0 {
            write!(f, "; {} of those that succeeded not printed", grouped(self.unprinted))?;
        }
        match self.repeated_attempts {
            0 => {}
            1 => f.write_str("; 1 retry")?,
            retries => write!(f, "; {} retries", grouped(retries))?,
        }
        for (host, used) in &self.hosts {
            let cores = u64::try_from(used.cores).unwrap_or(0);
            let used = [(used.items, "item"), (used.executors, "executor"), (cores, "core")];
            write!(
                f,
                "\n  on {}: {}",
                clean(host),
                used.map(|(count, noun)| counted(count, noun)).join(", ")
            )?;
        }
        let LocalityUse { host, rack, any } = self.locality;
        if host + rack + any > 0 {
            let [host, rack, any] = [host, rack, any].map(grouped);
            write!(
                f,
                "\n  of items that prefer hosts: {host} ran on a preferred host, {rack} in the same rack as one, {any} elsewhere"
            )?;
        }
        self.excluded.iter().try_for_each(|excluded| write!(f, "\n  {}", clean(&excluded.to_string())))?;
        self.write_failures(f)
    }
}

impl Summary {
    /// Number of failed items that the text does not name.
    #[must_use]
    pub fn unnamed(&self) -> u64 {
        self.failed.saturating_sub(NAMED as u64)
    }

    fn write_failures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for failure in self.failures.iter().take(NAMED) {
            let Failure { number, item, failures, cause, hosts, .. } = failure;
            write!(f, "\n  failed: item {number} ({}): {}", shown(item), clean(cause))?;
            if *failures > 1 {
                write!(f, ", after {failures} attempts")?;
                match hosts.len() {
                    0 => {}
                    1..=NAMED_HOSTS => write!(f, " on {}", clean(&hosts.join(", ")))?,
                    many => write!(f, " on {many} hosts")?,
                }
            }
        }
        match self.unnamed() {
            0 => Ok(()),
            more => write!(f, "\n  and {} more failed", grouped(more)),
        }
    }
}

/// A duration as text: `0.42 s`, `75.0 s`, `2 h 05 min`.
fn seconds(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{:.2} s", duration.as_secs_f64()),
        10..600 => format!("{:.1} s", duration.as_secs_f64()),
        600..7200 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        for (millis, text) in
            [(420, "0.42 s"), (75_000, "75.0 s"), (610_000, "10 min 10 s"), (7_500_000, "2 h 05 min")]
        {
            assert_eq!(seconds(Duration::from_millis(millis)), text);
        }
    }
}
