//! Finds the commit from which this is built, for `firesteel --version`.
//!
//! Without git, or outside the repository (in a tarball, for example), the variable `FIRESTEEL_COMMIT` can name the
//! commit; otherwise the commit is unknown. The commit is determined again only when HEAD moves or a source changes.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=FIRESTEEL_COMMIT");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let given = std::env::var("FIRESTEEL_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = given.or_else(|| commit(&root)).unwrap_or_else(|| "unknown commit".to_owned());
    println!("cargo::rustc-env=FIRESTEEL_COMMIT={commit}");
    for watched in ["Cargo.toml", "Cargo.lock", "crates"] {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    // A missing file would count as changed in every build.
    for moved in ["HEAD", "logs/HEAD", "packed-refs"] {
        let path = git(&root, &["rev-parse", "--git-path", moved]).map(|path| root.join(path));
        if let Some(path) = path.filter(|path| path.is_file()) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
}

/// The commit and its date: `3372250, 2026-11-21`. If files differ from the commit: `3372250-dirty, 2026-11-21`.
fn commit(root: &Path) -> Option<String> {
    // A repository around an unpacked tarball is not this one.
    let top = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    let commit = git(root, &["rev-parse", "--short=7", "HEAD"])?;
    let date = git(root, &["show", "--no-patch", "--format=%cs", "HEAD"])?;
    let dirty = git(root, &["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"])?;
    let mark = if dirty.is_empty() { "" } else { "-dirty" };
    Some(format!("{commit}{mark}, {date}"))
}

/// The output of git. `None` if git is missing or fails.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let done = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    let said = String::from_utf8(done.stdout).ok()?;
    done.status.success().then(|| said.trim().to_owned())
}
