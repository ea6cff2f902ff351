//! What a reaper takes from the process that it starts, and from all of its descendants.

use std::fs;
use std::io;
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
    thread::scope(|scope| scope.spawn(on_thread).join()).expect("starting a process does not panic")
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
    let mut rules = ruleset()?;
    let add = |rules: RulesetCreated, fd: PathFd, access: BitFlags<AccessFs>| {
        rules.add_rule(PathBeneath::new(fd, access))
    };
    // The Worker's own program, whatever has become of its path.
    for path in reach.system.iter().map(String::as_str).chain(["/proc/self/exe"]) {
        if let Ok(fd) = PathFd::new(byte_text::path(path)) {
            rules = add(rules, fd, if path == "/dev" { device } else { read })?;
        }
    }
    for (paths, access) in [(&reach.readable, read), (&reach.writable, write)] {
        for path in paths {
            let not_there = |error: landlock::PathFdError| NotConfined::Path {
                path: path.clone(),
                error: error.to_string(),
            };
            rules = add(rules, PathFd::new(byte_text::path(path)).map_err(not_there)?, access)?;
        }
    }
    Ok(rules)
}
