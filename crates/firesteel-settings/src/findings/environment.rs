//! The findings of `firesteel config check` about environment variables.

use firesteel_protocol::byte_text;

use super::{Finding, FindingReaders, Outcome};
use crate::secrets::shown_options;
use crate::sources::variables::{self, Environment, Role};

#[must_use]
pub fn of_variables(environment: &Environment, audience: FindingReaders) -> Vec<Finding> {
    let readers = audience.readers();
    let mut findings: Vec<Finding> = Vec::new();
    for variable in variables::TABLE {
        let Some(value) = environment.get(variable.name) else { continue };
        if findings.iter().any(|finding| finding.name == variable.name) {
            continue;
        }
        let is_theirs = readers.iter().any(|reader| variable.readers.contains(reader));
        let (outcome, why) = match variable.role {
            Role::Ignored => (Outcome::Ignored, variable.meaning.to_owned()),
            Role::Flag("--port") if value.starts_with("tcp://") => {
                (Outcome::Ignored, "the value is a URL (Kubernetes sets such variables)".to_owned())
            }
            Role::Place if !byte_text::path(value).is_dir() => {
                (Outcome::NotHonoured, "no such directory".to_owned())
            }
            Role::Flag(_)
            | Role::Property(_)
            | Role::Override(_)
            | Role::Options
            | Role::Place
            | Role::Java
            | Role::JavaOptions
                if is_theirs =>
            {
                (Outcome::Read, variable.meaning.to_owned())
            }
            Role::Flag(_)
            | Role::Property(_)
            | Role::Override(_)
            | Role::Options
            | Role::Place
            | Role::Java
            | Role::JavaOptions => {
                let who: Vec<_> = variable.readers.iter().map(|reader| reader.described()).collect();
                (Outcome::Ignored, format!("read by {}", who.join(" and ")))
            }
        };
        let value = Some(match variable.role {
            Role::Options | Role::JavaOptions => shown_options(value),
            Role::Flag(_)
            | Role::Property(_)
            | Role::Override(_)
            | Role::Place
            | Role::Java
            | Role::Ignored => value.to_owned(),
        });
        findings.push(Finding { name: variable.name.to_owned(), value, origin: None, outcome, why });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    #[test]
    fn variables_are_read_or_ignored_for_a_reason() {
        let pairs =
            [("SPARK_WORKER_CORES", "4"), ("SPARK_LOG_DIR", "/x"), ("SPARK_MASTER_PORT", "tcp://a:1")];
        let environment =
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
        let found = |audience| -> Vec<(String, Outcome)> {
            of_variables(&environment, audience).into_iter().map(|it| (it.name, it.outcome)).collect()
        };
        let expected = |worker_cores| {
            [
                ("SPARK_MASTER_PORT", Outcome::Ignored),
                ("SPARK_WORKER_CORES", worker_cores),
                ("SPARK_LOG_DIR", Outcome::Ignored),
            ]
            .map(|(name, outcome)| (name.to_owned(), outcome))
        };
        assert_eq!(found(FindingReaders::All), expected(Outcome::Read));
        assert_eq!(found(FindingReaders::One(Reader::Master)), expected(Outcome::Ignored));
    }
}
