//! Exit codes after which a task is not retried.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use firesteel_protocol::process::ExitStatus;

/// A set of exit codes from 1 to 255.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExitCodes(BTreeSet<u8>);

/// The text is not a set of exit codes: neither `none` nor codes and ranges such as `2,124-126`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("exit codes are numbers from 1 to 255 and ranges, such as 2,124-126")]
pub struct BadExitCodes;

impl ExitCodes {
    /// Whether a process with this exit status returned one of the codes. A process that a signal ended returned no
    /// code.
    #[must_use]
    pub fn contains(&self, status: ExitStatus) -> bool {
        match status {
            ExitStatus::Code(code) => u8::try_from(code).is_ok_and(|code| self.0.contains(&code)),
            ExitStatus::Signal(_) => false,
        }
    }
}

impl FromIterator<u8> for ExitCodes {
    /// Collects the codes except 0, which means success.
    fn from_iter<I: IntoIterator<Item = u8>>(codes: I) -> Self {
        Self(codes.into_iter().filter(|code| *code != 0).collect())
    }
}

/// Parses `none`, or codes and ranges separated by commas.
impl FromStr for ExitCodes {
    type Err = BadExitCodes;

    fn from_str(text: &str) -> Result<Self, BadExitCodes> {
        if text == "none" {
            return Ok(Self::default());
        }
        let code = |text: &str| text.trim().parse().ok().filter(|code: &u8| *code > 0).ok_or(BadExitCodes);
        let mut codes = BTreeSet::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (code(first)?, code(last)?);
            if first > last {
                return Err(BadExitCodes);
            }
            codes.extend(first..=last);
        }
        Ok(Self(codes))
    }
}

/// Writes `none`, or the codes: `2,124,125,126`.
impl fmt::Display for ExitCodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        let comma = |at| if at == 0 { "" } else { "," };
        self.0.iter().enumerate().try_for_each(|(at, code)| write!(f, "{}{code}", comma(at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_ranges_are_read_and_everything_else_is_refused() {
        let read = |text: &str| text.parse::<ExitCodes>().map(|codes| codes.to_string());
        assert_eq!(read("2, 124-126"), Ok("2,124,125,126".to_owned()));
        assert_eq!(read("255"), Ok("255".to_owned()));
        assert_eq!(read("none"), Ok("none".to_owned()));
        for bad in ["", "0", "256", "-1", "3-2", "1,", "0-4", "x"] {
            assert_eq!(read(bad), Err(BadExitCodes), "{bad:?}");
        }
    }

    #[test]
    fn only_a_returned_code_is_in_the_set() {
        let codes = ExitCodes::from_iter([9, 137]);
        assert!(codes.contains(ExitStatus::Code(137)));
        assert!(!codes.contains(ExitStatus::Code(1)));
        assert!(!codes.contains(ExitStatus::Signal(9)), "a signal is no exit code");
        assert!(!ExitCodes::from_iter([0]).contains(ExitStatus::SUCCESS));
    }
}
