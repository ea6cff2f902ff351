//! The invariants of an ApplicationMaster after every event.

use firesteel_protocol::Machine as _;
use firesteel_protocol::machine::{Violation, ensure};

use super::{ApplicationMaster, Manager, Phase, Program};

pub(super) fn check(master: &ApplicationMaster) -> Result<(), Violation> {
    const ME: &str = "application master";
    let violated = |sentence| Err(Violation { machine: ME, sentence });
    master.effects.check("application master")?;
    master.allocator.check()?;
    if let Some(sentence) = master.executors.contradiction() {
        return violated(sentence);
    }
    ensure!(
        "application master",
        master.allocator.executors().eq(master.executors.ids()),
        "its executors are not those of its allocator"
    );
    let (phase, manager) = (&master.phase, master.manager);
    let described = master.drivers.description().is_some();
    match phase {
        Phase::Idle | Phase::Waiting { .. } => {
            ensure!(
                "application master",
                !described,
                "it waits for a driver, although a driver is already known"
            );
            ensure!(
                "application master",
                master.executors.is_empty(),
                "there are executors without a driver"
            );
        }
        Phase::Serving | Phase::Stopping { .. } => {
            ensure!("application master", described, "it serves a driver that it does not know");
            ensure!(
                "application master",
                manager != Manager::Gone,
                "it is serving, although the ResourceManager has given up this attempt"
            );
            let away = master.drivers.away().is_some();
            ensure!(
                "application master",
                !away || master.drivers.peer().is_none(),
                "the driver is here and away"
            );
        }
        Phase::Finishing(_) | Phase::Done => {}
    }
    let program = master.program == Program::Running;
    let stopped = matches!(phase, Phase::Stopping { then: None });
    ensure!("application master", !stopped || program, "it waits for the end of a program that does not run");
    Ok(())
}
