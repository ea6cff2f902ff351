//! The run times of ended applications, by user and name.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// The maximum number of combinations of user and name. A further one replaces the combination whose last run is the
/// oldest.
const MOST: usize = 4096;

/// The number of last runs whose median is the expected run time.
const RUNS: usize = 5;

/// The last run times by user and name.
#[derive(Debug, Default)]
pub(crate) struct RunTimes {
    by_name: BTreeMap<(String, String), Past>,
    /// The combinations of user and name, by the number of their last run.
    by_use: BTreeMap<u64, (String, String)>,
    runs: u64,
}

#[derive(Debug, Default)]
struct Past {
    last: VecDeque<Duration>,
    used: u64,
}

impl RunTimes {
    /// Learns an application's run time, from its first executor to its end.
    pub(crate) fn learn(&mut self, user: &str, name: &str, ran: Duration) {
        let key = (user.to_owned(), name.to_owned());
        self.runs += 1;
        let past = self.by_name.entry(key.clone()).or_default();
        if past.last.len() == RUNS {
            past.last.pop_front();
        }
        past.last.push_back(ran);
        self.by_use.remove(&past.used);
        past.used = self.runs;
        self.by_use.insert(self.runs, key);
        if self.by_name.len() > MOST
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.by_name.remove(&oldest);
        }
    }

    /// The expected run time of an application of this user and name: the median of its last runs. If there are only
    /// two, the longer one.
    pub(crate) fn expected(&self, user: &str, name: &str) -> Option<Duration> {
        let past = self.by_name.get(&(user.to_owned(), name.to_owned()))?;
        let mut last: Vec<Duration> = past.last.iter().copied().collect();
        last.sort_unstable();
        last.get(last.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_median_of_the_last_five_runs_is_expected() {
        let mut times = RunTimes::default();
        assert_eq!(times.expected("u", "n"), None);
        for (ran, expected) in [(10, 10), (30, 30), (20, 20), (500, 30), (600, 30), (700, 500), (5, 500)] {
            times.learn("u", "n", seconds(ran));
            assert_eq!(times.expected("u", "n"), Some(seconds(expected)), "after {ran}");
        }
        assert_eq!(times.expected("u", "m"), None, "another name");
        assert_eq!(times.expected("v", "n"), None, "another user");
    }

    #[test]
    fn the_name_that_ended_first_is_forgotten() {
        let mut times = RunTimes::default();
        for n in 0..MOST {
            times.learn("u", &n.to_string(), seconds(1));
        }
        times.learn("u", "0", seconds(1));
        times.learn("u", "new", seconds(1));
        assert_eq!((times.by_name.len(), times.by_use.len()), (MOST, MOST));
        assert_eq!(times.expected("u", "1"), None, "the oldest");
        assert!(times.expected("u", "0").is_some() && times.expected("u", "2").is_some());
    }
}
