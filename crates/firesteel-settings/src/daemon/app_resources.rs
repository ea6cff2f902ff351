//! Which jars and programs may be submitted by REST.

use regex::Regex;

use crate::keys;
use crate::properties::{Properties, SettingError};

/// The patterns of which one must match the whole of an application's resource. Without patterns every resource may be
/// submitted. Source: `spark.master.rest.allowedAppResourcePatterns`, Spark 4.3.0.
#[derive(Clone, Debug, Default)]
pub struct AppResources(Vec<Regex>);

const EXPECTED: &str = "regular expressions without look-around and back references, separated by commas, such as hdfs://jobs/.*";

impl AppResources {
    /// The resources that a Master takes.
    ///
    /// # Errors
    /// The value cannot be used.
    pub fn of(properties: &Properties) -> Result<Self, SettingError> {
        let read = |text: &str| {
            let patterns = text.split(',').map(str::trim).filter(|pattern| !pattern.is_empty());
            patterns.map(whole).collect()
        };
        Ok(Self(properties.read(keys::REST_RESOURCES, EXPECTED, read)?.unwrap_or_default()))
    }

    /// Whether this jar or program may be submitted. Where there are patterns, none admits a path with `..`, which
    /// leads elsewhere than it says.
    #[must_use]
    pub fn admit(&self, resource: &str) -> bool {
        let leads_up = resource.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/");
        let leads_up = leads_up.split('/').any(|part| part == "..");
        self.0.is_empty() || (!leads_up && self.0.iter().any(|pattern| pattern.is_match(resource)))
    }
}

/// The pattern of what this pattern matches from its beginning to its end.
fn whole(pattern: &str) -> Option<Regex> {
    // Alone, so that its brackets are its own.
    Regex::new(pattern).ok()?;
    Regex::new(&format!("^(?:{pattern})$")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &str) -> Result<AppResources, SettingError> {
        let pair = format!("spark.master.rest.allowedAppResourcePatterns={value}");
        AppResources::of(&Properties::parse([pair.as_str()]).expect("it is a pair"))
    }

    #[test]
    fn a_resource_is_admitted_if_a_pattern_matches_the_whole_of_it() {
        let jobs = r"file:/opt/jobs/[^/]+\.jar, hdfs://.*|s3a://jobs/.*";
        for (patterns, resource, expected) in [
            ("", "file:/tmp/x.jar", true),
            (" , ", "", true),
            (jobs, "file:/opt/jobs/a.jar", true),
            (jobs, "hdfs://name/a.jar", true),
            (jobs, "s3a://jobs/a.py", true),
            (jobs, "file:/opt/jobs/a.jar.txt", false),
            (jobs, "xfile:/opt/jobs/a.jar", false),
            (jobs, "file:/opt/jobs/b/a.jar", false),
            (jobs, "file:/opt/jobs/a.jar\nhdfs://", false),
            (jobs, "x hdfs://name/a.jar", false),
            (jobs, "", false),
            (jobs, "hdfs://name/../a.jar", false),
            (jobs, "hdfs://name/%2E./a.jar", false),
            (jobs, "hdfs://name/x%2f..%2Fa.jar", false),
            (jobs, "hdfs://name/a..jar", true),
        ] {
            assert_eq!(of(patterns).expect(patterns).admit(resource), expected, "{patterns} {resource}");
        }
    }

    #[test]
    fn a_pattern_that_this_program_cannot_match_is_refused() {
        for patterns in ["(", "a)|(b", "hdfs://.*,[", r"(a)\1", "(?!x).*", ")(", "a{1000}{1000}{1000}"] {
            let error = of(patterns).expect_err(patterns).to_string();
            assert!(error.starts_with("spark.master.rest.allowedAppResourcePatterns"), "{error}");
        }
    }
}
