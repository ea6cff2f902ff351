//! Redaction of secrets in values that are shown.

use super::java_options;

/// The value as it may be shown, which is a placeholder for a secret.
///
/// Source: Spark 4.0.1, `spark.redaction.regex`.
#[must_use]
pub fn shown<'a>(name: &str, value: &'a str) -> &'a str {
    let name = name.to_ascii_lowercase();
    let is_secret =
        ["secret", "password", "token", "accesskey", "access.key"].iter().any(|part| name.contains(part));
    if is_secret { "*********(redacted)" } else { value }
}

/// Options as they may be shown. Options that cannot be parsed may contain a secret anywhere.
#[must_use]
pub fn shown_options(value: &str) -> String {
    let Ok(words) = java_options::words(value) else { return "(not shown)".to_owned() };
    let shown = words.iter().map(|word| match java_options::property(word) {
        Some((key, value)) => format!("-D{key}={}", shown(key, value)),
        None => word.clone(),
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_by_its_name() {
        let redacted = "*********(redacted)";
        for (name, value) in [
            ("spark.authenticate.secret", redacted),
            ("spark.executorEnv.API_TOKEN", redacted),
            ("spark.hadoop.fs.s3a.access.key", redacted),
            ("spark.app.name", "hush"),
        ] {
            assert_eq!(shown(name, "hush"), value, "{name}");
        }
    }

    #[test]
    fn options_have_no_secrets_either() {
        let options = "-Xmx1g -Dspark.authenticate.secret='h u s h'";
        assert_eq!(shown_options(options), "-Xmx1g -Dspark.authenticate.secret=*********(redacted)");
        assert_eq!(shown_options("-Dspark.authenticate.secret='hush"), "(not shown)");
    }
}
