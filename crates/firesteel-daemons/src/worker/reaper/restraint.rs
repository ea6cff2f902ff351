//! What a reaper takes from the process that it starts, and from all of its descendants.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use firesteel_protocol::byte_text;
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use nix::sys::prctl;

use crate::worker::confinement::Reach;

/// The file with which a process tells the kernel how gladly it is killed when memory runs out, from -1000 to 1000.
const SCORE: &str = "/proc/self/oom_score_adj";

/// The score of executors, cluster drivers and services. The Worker keeps its own, so the kernel takes them first.
const OF_EXECUTORS: i32 = 500;

/// Takes away the right to gain rights, for example by sudo. This cannot be undone.
///
/// # Errors
/// The kernel is older than 3.5.
pub(super) fn gain_no_privileges() -> io::Result<()> {
    Ok(prctl::set_no_new_privs()?)
}

/// Starts a process that the kernel kills rather than this one when memory runs out. Where the score cannot be changed,
/// the process is started with that of this one.
pub(super) fn killed_first<T>(start: impl FnOnce() -> T) -> T {
    let own = fs::read_to_string(SCORE).ok().and_then(|score| score.trim().parse().ok());
    if own.is_some_and(|own: i32| own < OF_EXECUTORS) {
        let _ = fs::write(SCORE, OF_EXECUTORS.to_string());
    }
    let started = start();
    if let Some(own) = own {
        let _ = fs::write(SCORE, own.to_string());
    }
    started
}

/// Why a program cannot be confined.
#[derive(Debug, thiserror::Error)]
pub enum NotConfined {
    #[error("the kernel has no Landlock: {0}")]
    Kernel(#[from] RulesetError),
    #[error("confined programs are to reach {path}: {error}")]
    Path { path: String, error: String },
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
}

/// Checks that the kernel can confine programs.
///
/// # Errors
/// It is older than 5.13, or Landlock is not switched on.
pub fn can_confine() -> Result<(), NotConfined> {
    Ok(ruleset().map(drop)?)
}

/// Does this on a thread that reaches these paths only, and neither signals nor looks into processes that it has not
/// started. This holds for all processes that are started there, too, and cannot be undone.
///
/// # Errors
/// The kernel cannot confine programs, or a path is not there.
pub(super) fn confined<T: Send>(reach: &Reach, start: impl FnOnce() -> T + Send) -> Result<T, NotConfined> {
    let rules = rules(reach)?;
    let on_thread = || {
        rules.restrict_self()?;
        Ok(start())
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, on_thread).map_err(NotConfined::Thread)?;
        thread.join().expect("starting a process does not panic")
    })
}

/// Of an old kernel as many rights as it knows.
fn ruleset() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V6))?
        .scope(Scope::from_all(ABI::V6))?
        .create()
}

fn rules(reach: &Reach) -> Result<RulesetCreated, NotConfined> {
    let read = AccessFs::from_read(ABI::V6);
    // Devices are written, but none is made.
    let device = read | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    let write = AccessFs::from_all(ABI::V6);
    // The kernel knows files by where they are, whichever links lead there now.
    let hidden = reach.hidden.iter().map(|path| byte_text::path(path));
    let hidden = hidden.flat_map(|path| [fs::canonicalize(&path).ok(), Some(path)]).flatten();
    let hidden: Vec<PathBuf> = hidden.collect();
    let mut rules = ruleset()?;
    let add = |rules: RulesetCreated, fd: PathFd, access: BitFlags<AccessFs>| {
        rules.add_rule(PathBeneath::new(fd, access))
    };
    // The Worker's own program, whatever has become of its path.
    for path in reach.system.iter().map(String::as_str).chain(["/proc/self/exe"]) {
        for (path, part) in visible(&byte_text::path(path), &hidden) {
            if let Ok(fd) = PathFd::new(&path) {
                rules = match part {
                    Part::Whole if path == Path::new("/dev") => add(rules, fd, device)?,
                    Part::Whole => add(rules, fd, read)?,
                    Part::Names => add(rules, fd, AccessFs::ReadDir.into())?,
                };
            }
        }
    }
    let opened = |path: &Path| {
        let named = || path.display().to_string();
        PathFd::new(path).map_err(|error| NotConfined::Path { path: named(), error: error.to_string() })
    };
    for path in &reach.readable {
        for (path, part) in visible(&byte_text::path(path), &hidden) {
            let access = if part == Part::Whole { read } else { AccessFs::ReadDir.into() };
            rules = add(rules, opened(&path)?, access)?;
        }
    }
    for path in &reach.writable {
        let path = byte_text::path(path);
        let real = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if let Some(hidden) = hidden.iter().find(|hidden| hidden.starts_with(&real)) {
            let error = format!("the Worker keeps secrets in {}", hidden.display());
            return Err(NotConfined::Path { path: path.display().to_string(), error });
        }
        rules = add(rules, opened(&path)?, write)?;
    }
    Ok(rules)
}

/// What is seen of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The directory with everything in it, also what is made there later; or a file.
    Whole,
    /// Only the names of what is in the directory and below.
    Names,
}

/// What is seen of this path where some files are hidden. Of a directory with a hidden file that is each of the other
/// files in it. What a link there leads to is seen only if it is seen itself.
fn visible(path: &Path, hidden: &[PathBuf]) -> Vec<(PathBuf, Part)> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if hidden.contains(&real) {
        return Vec::new();
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(&real)) {
        return vec![(path.to_owned(), Part::Whole)];
    }
    let entries = fs::read_dir(&real).into_iter().flatten().flatten();
    let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    let below = entries.flat_map(|entry| visible(&entry.path(), hidden));
    below.chain([(real, Part::Names)]).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn of_a_directory_with_a_hidden_file_all_others_are_seen() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let root = fs::canonicalize(scratch.path()).expect("it is there");
        let path = |name: &str| root.join(name);
        for name in ["a/b", "a/c"] {
            fs::create_dir_all(path(name)).expect("there is room");
        }
        for name in ["a/b/secret", "a/b/other", "a/d"] {
            fs::write(path(name), "").expect("there is room");
        }
        symlink(path("a/b"), path("a/c/link")).expect("there is room");
        symlink(&root, path("a/up")).expect("there is room");
        let seen = |of: &str, hidden: &[&str]| {
            let hidden: Vec<PathBuf> = hidden.iter().map(|name| path(name)).collect();
            let mut seen = visible(&path(of), &hidden);
            seen.sort_by(|(one, _), (other, _)| one.cmp(other));
            seen
        };
        assert_eq!(seen("a", &[]), [(path("a"), Part::Whole)]);
        assert_eq!(
            seen("a", &["elsewhere", "a/b/secretary/x"]),
            [
                (path("a"), Part::Names),
                (path("a/b"), Part::Names),
                (path("a/b/other"), Part::Whole),
                (path("a/b/secret"), Part::Whole),
                (path("a/c"), Part::Whole),
                (path("a/d"), Part::Whole),
            ]
        );
        let others = [
            (path("a"), Part::Names),
            (path("a/b"), Part::Names),
            (path("a/b/other"), Part::Whole),
            (path("a/c"), Part::Whole),
            (path("a/d"), Part::Whole),
        ];
        assert_eq!(seen("a", &["a/b/secret"]), others);
        assert_eq!(seen("a/b/secret", &["a/b/secret"]), []);
        // A link that is named counts as where it leads.
        assert_eq!(seen("a/c/link", &["a/b/secret"]), others[1..3]);
    }
}
