//! The master URL `local-cluster[workers,cores,memoryMiB]`.

use std::fmt;
use std::str::FromStr;

use firesteel_placement::{Cores, MiB};

/// The size of a local cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalClusterSpec {
    /// Number of Workers, 1 to 256.
    pub workers: u32,
    /// Cores per Worker, at least 1. This can exceed the machine's cores.
    pub cores: Cores,
    /// Memory per Worker, at least 1 MiB.
    pub memory: MiB,
}

/// The maximum number of Workers, because all their processes run on one machine.
const MOST_WORKERS: u32 = 256;

/// Why the size of a local cluster is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The text is not of the form `local-cluster[workers,cores,memoryMiB]`.
    #[error(
        "{text:?} is not a local cluster: write local-cluster[WORKERS,CORES,MIB], such as local-cluster[2,1,1024]"
    )]
    Form { text: String },
    /// A number is malformed or out of range.
    #[error("{text:?}: {what} cannot be {number:?}: write a whole number from 1 to {most}")]
    Number { text: String, what: &'static str, number: String, most: i64 },
}

/// Parses the URL. Blanks around the numbers are allowed, as in Spark.
impl FromStr for LocalClusterSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let form = || SpecError::Form { text: text.to_owned() };
        let inner = text.strip_prefix("local-cluster[").and_then(|rest| rest.strip_suffix(']'));
        let parts: Vec<&str> = inner.ok_or_else(form)?.split(',').map(str::trim).collect();
        let [workers, cores, memory] = parts[..] else { return Err(form()) };
        let number = |what, number: &str, most: i64| {
            let digits = number.bytes().all(|b| b.is_ascii_digit());
            let value = number.parse().ok().filter(|value| digits && (1..=most).contains(value));
            value.ok_or_else(|| SpecError::Number {
                text: text.to_owned(),
                what,
                number: number.to_owned(),
                most,
            })
        };
        let workers = number("the number of Workers", workers, MOST_WORKERS.into())?;
        Ok(Self {
            workers: u32::try_from(workers).expect("it is at most 256"),
            cores: Cores(number("the cores of a Worker", cores, i32::MAX.into())?),
            memory: MiB(number("the memory of a Worker", memory, i32::MAX.into())?),
        })
    }
}

impl fmt::Display for LocalClusterSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "local-cluster[{},{},{}]", self.workers, self.cores.0, self.memory.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_may_stand_around_the_numbers() {
        let spec = LocalClusterSpec { workers: 2, cores: Cores(4), memory: MiB(1024) };
        for text in ["local-cluster[2,4,1024]", "local-cluster[ 2 , 4,\t1024 ]"] {
            assert_eq!(text.parse(), Ok(spec), "{text}");
        }
        assert_eq!(spec.to_string(), "local-cluster[2,4,1024]");
    }

    #[test]
    fn what_is_wrong_is_said_precisely() {
        for text in [
            "local-cluster",
            "local-cluster[]",
            "local-cluster[2]",
            "local-cluster[2,1]",
            "local-cluster[2,1,1024",
            "local-cluster[2,1,1024,1]",
            "local-cluster[2,1,1024] ",
            "local-cluster [2,1,1024]",
            "local-cluster(2,1,1024)",
        ] {
            assert!(matches!(text.parse::<LocalClusterSpec>(), Err(SpecError::Form { .. })), "{text}");
        }
        for (text, words) in [
            (
                "local-cluster[0,1,1024]",
                "the number of Workers cannot be \"0\": write a whole number from 1 to 256",
            ),
            ("local-cluster[257,1,1024]", "the number of Workers cannot be \"257\""),
            ("local-cluster[two,1,1024]", "the number of Workers cannot be \"two\""),
            ("local-cluster[2,,1024]", "the cores of a Worker cannot be \"\""),
            ("local-cluster[2,+1,1024]", "the cores of a Worker cannot be \"+1\""),
            ("local-cluster[2,1,1g]", "the memory of a Worker cannot be \"1g\""),
            ("local-cluster[2,1,-5]", "the memory of a Worker cannot be \"-5\""),
            ("local-cluster[2,1,99999999999999999999]", "the memory of a Worker cannot be"),
        ] {
            let error = text.parse::<LocalClusterSpec>().expect_err(text).to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
