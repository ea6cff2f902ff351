//! The invariants of a launcher after every event.

use firesteel_protocol::machine::{Violation, ensure};

use super::{Launcher, Phase, Until};

pub(super) fn check(launcher: &Launcher) -> Result<(), Violation> {
    if let Some(sentence) = launcher.registration.contradiction() {
        return Err(Violation { machine: "launcher", sentence });
    }
    launcher.effects.check("launcher")?;
    match launcher.phase {
        Phase::Running => {
            ensure!(
                "launcher",
                launcher.met().is_none(),
                "all executors have ended, but the launcher keeps running"
            );
            let any = launcher.final_ends.first().is_some();
            ensure!(
                "launcher",
                launcher.until != Until::Never || !any,
                "an executor is not replaced where all are to be"
            );
        }
        Phase::Ending { .. } => {
            ensure!(
                "launcher",
                launcher.registration.master().is_some(),
                "it waits for the ends of executors without a Master"
            );
        }
        Phase::Done => {}
    }
    Ok(())
}
