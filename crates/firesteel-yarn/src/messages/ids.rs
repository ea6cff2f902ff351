//! The text forms of ids, as Hadoop writes them in logs, environment variables and web pages.

use std::fmt;
use std::str::FromStr;

use super::records::{ApplicationAttemptId, ApplicationId, ContainerId, NodeId};

/// The number of bits of a container's number. The higher bits are the ResourceManager's epoch.
const NUMBER_BITS: u32 = 40;

/// The error that a text is not an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid {what}, such as {example}")]
pub struct NoId {
    /// The text that was read.
    pub text: String,
    /// The kind of id that was expected.
    pub what: &'static str,
    pub example: &'static str,
}

impl ApplicationId {
    /// The application with this number, of a ResourceManager that started at this time (milliseconds since
    /// 1970).
    #[must_use]
    pub fn new(cluster_timestamp: i64, id: i32) -> Self {
        Self { id: Some(id), cluster_timestamp: Some(cluster_timestamp) }
    }

    fn parts(&self) -> String {
        format!("{}_{:04}", self.cluster_timestamp(), self.id())
    }
}

impl ApplicationAttemptId {
    /// An attempt of the application. Attempts are counted from 1.
    #[must_use]
    pub fn new(application: ApplicationId, attempt: i32) -> Self {
        Self { application_id: Some(application), attempt_id: Some(attempt) }
    }
}

impl ContainerId {
    /// The container with this number, which may include the ResourceManager's epoch.
    #[must_use]
    pub fn new(attempt: ApplicationAttemptId, id: i64) -> Self {
        Self { app_id: None, app_attempt_id: Some(attempt), id: Some(id) }
    }
}

impl NodeId {
    /// The NodeManager at this address.
    #[must_use]
    pub fn new(host: impl Into<String>, port: i32) -> Self {
        Self { host: Some(host.into()), port: Some(port) }
    }
}

/// Written as `application_1700000000123_0007`.
impl fmt::Display for ApplicationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("application_{}", self.parts()))
    }
}

/// Written as `appattempt_1700000000123_0007_000001`.
impl fmt::Display for ApplicationAttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let application = self.application_id.unwrap_or_default();
        f.pad(&format!("appattempt_{}_{:06}", application.parts(), self.attempt_id()))
    }
}

/// Written as `container_1700000000123_0007_01_000002`. With epoch 17, `e17_` follows the first `_`.
impl fmt::Display for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attempt = self.app_attempt_id.unwrap_or_default();
        let application = attempt.application_id.unwrap_or_default();
        let (epoch, number) = (self.id() >> NUMBER_BITS, self.id() & ((1 << NUMBER_BITS) - 1));
        let epoch = if epoch > 0 { format!("e{epoch:02}_") } else { String::new() };
        f.pad(&format!("container_{epoch}{}_{:02}_{number:06}", application.parts(), attempt.attempt_id()))
    }
}

/// Written as `127.0.0.2:45454`.
impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", self.host(), self.port()))
    }
}

impl FromStr for ApplicationId {
    type Err = NoId;

    fn from_str(text: &str) -> Result<Self, NoId> {
        let parse = || {
            let mut parts = text.strip_prefix("application_")?.split('_');
            let id = application(&mut parts)?;
            parts.next().is_none().then_some(id)
        };
        parse().ok_or_else(|| NoId {
            text: text.to_owned(),
            what: "application id",
            example: "application_1700000000123_0007",
        })
    }
}

impl FromStr for ApplicationAttemptId {
    type Err = NoId;

    fn from_str(text: &str) -> Result<Self, NoId> {
        let parse = || {
            let mut parts = text.strip_prefix("appattempt_")?.split('_');
            let id = Self::new(application(&mut parts)?, number(parts.next()?)?);
            parts.next().is_none().then_some(id)
        };
        parse().ok_or_else(|| NoId {
            text: text.to_owned(),
            what: "attempt id",
            example: "appattempt_1700000000123_0007_000001",
        })
    }
}

impl FromStr for ContainerId {
    type Err = NoId;

    fn from_str(text: &str) -> Result<Self, NoId> {
        let parse = || {
            let mut rest = text.strip_prefix("container_")?;
            let mut epoch = 0_i64;
            if let Some((digits, after)) = rest.strip_prefix('e').and_then(|rest| rest.split_once('_')) {
                (epoch, rest) = (number(digits)?, after);
            }
            let mut parts = rest.split('_');
            let attempt = ApplicationAttemptId::new(application(&mut parts)?, number(parts.next()?)?);
            let id = number::<i64>(parts.next()?)?;
            let fits = id >> NUMBER_BITS == 0 && epoch < 1 << (63 - NUMBER_BITS);
            (fits && parts.next().is_none()).then(|| Self::new(attempt, epoch << NUMBER_BITS | id))
        };
        parse().ok_or_else(|| NoId {
            text: text.to_owned(),
            what: "container id",
            example: "container_1700000000123_0007_01_000002",
        })
    }
}

fn application<'a>(parts: &mut impl Iterator<Item = &'a str>) -> Option<ApplicationId> {
    Some(ApplicationId::new(number(parts.next()?)?, number(parts.next()?)?))
}

/// Reads a number that has only digits.
fn number<N: FromStr>(text: &str) -> Option<N> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt() -> ApplicationAttemptId {
        ApplicationAttemptId::new(ApplicationId::new(1_700_000_000_123, 7), 1)
    }

    #[test]
    fn ids_read_as_hadoop_writes_them() {
        let large = ApplicationId::new(1_700_000_000_123, 12_345);
        let container = |id| ContainerId::new(attempt(), id).to_string();
        let rows = [
            (attempt().application_id.expect("it has one").to_string(), "application_1700000000123_0007"),
            (large.to_string(), "application_1700000000123_12345"),
            (attempt().to_string(), "appattempt_1700000000123_0007_000001"),
            (container(2), "container_1700000000123_0007_01_000002"),
            (container(17 << 40 | 3), "container_e17_1700000000123_0007_01_000003"),
            (container(1 << 40 | 1_234_567), "container_e01_1700000000123_0007_01_1234567"),
            (NodeId::new("127.0.0.2", 45454).to_string(), "127.0.0.2:45454"),
        ];
        for (written, expected) in rows {
            assert_eq!(written, expected);
        }
    }

    #[test]
    fn an_id_that_was_written_is_read_back() {
        let application = ApplicationId::new(1_700_000_000_123, 12_345);
        assert_eq!(application.to_string().parse(), Ok(application));
        assert_eq!(attempt().to_string().parse(), Ok(attempt()));
        for id in [1, 17 << 40 | 3, (1 << 40) - 1] {
            let container = ContainerId::new(attempt(), id);
            assert_eq!(container.to_string().parse(), Ok(container));
        }
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for text in [
            "",
            "container_",
            "container_e_1_1_1_1",
            "container_1_2_3",
            "container_1_2_3_4_5",
            "container_1_2_3_-4",
            "container_1_2_3_+4",
            "container_e99999999_1_2_3_4",
            "container_1_2_3_1099511627776",
            "container_99999999999999999999_2_3_4",
            "application_1_2",
        ] {
            assert!(text.parse::<ContainerId>().is_err(), "{text}");
        }
        let error = "application_1".parse::<ApplicationId>().expect_err("a number is missing");
        assert_eq!(
            error.to_string(),
            "`application_1` is not a valid application id, such as application_1700000000123_0007"
        );
    }

    #[test]
    fn no_number_of_a_peers_breaks_a_text_form() {
        for id in [i64::MIN, -1, 0, i64::MAX] {
            assert!(
                ContainerId::new(ApplicationAttemptId::default(), id).to_string().starts_with("container_")
            );
        }
    }
}
