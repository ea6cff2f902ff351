//! Class paths from Maven.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// The class path of the dependencies in a file such as `tests/NAME/pom.xml`.
///
/// # Errors
/// Java or Maven is missing, or Maven cannot get the jars.
pub(crate) fn class_path(pom: &str) -> Result<String, String> {
    let found = Command::new("java").arg("-version").output();
    found.map_err(|error| format!("java: {error}"))?;
    let target = TempDir::new().map_err(|error| error.to_string())?;
    let file = target.path().join("class-path");
    let done = Command::new("mvn")
        .env("MAVEN_OPTS", "-Xmx256m")
        .args(["--quiet", "--batch-mode", "dependency:build-classpath", "--file"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(pom))
        .arg(format!("-Dmdep.outputFile={}", file.display()))
        .output()
        .map_err(|error| format!("mvn: {error}"))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        let first = said.lines().find(|line| line.contains("ERROR")).unwrap_or("it says nothing");
        return Err(format!("mvn does not get the jars of {pom}: {first}"));
    }
    fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))
}
