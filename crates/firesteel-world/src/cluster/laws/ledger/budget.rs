//! The memory that a Master has for what live applications and cluster drivers describe.

use std::collections::BTreeMap;

use firesteel_master::{Effect, Event, Outbound};
use firesteel_protocol::messages::{
    ApplicationEnd, MasterToClient, MasterToDriver, RefusedDriver, SubmitDriverAnswer,
};
use firesteel_protocol::wire;

use super::Ledger;
use super::drivers::submitted;

/// Whether this is the reason of a refusal for want of memory.
pub(super) fn is_refusal(reason: &str) -> bool {
    reason.contains("firesteel.master.memory")
}

/// What a Master counts for a description or for host preferences of this length.
pub(super) fn weight(length: usize) -> u64 {
    6 * length as u64
}

impl Ledger {
    /// Checks that what is kept stays within the budget, and that nothing is refused that fits. The first check leaves
    /// out what may have ended already, and the second counts it.
    pub(super) fn check_budget(&self, event: &Event, effects: &[Effect], budget: u64) -> Result<(), String> {
        let drivers = self.workers.values().flat_map(|book| book.drivers.values());
        let described = self.apps.values().map(|book| book.described);
        let kept: u64 = described.chain(drivers.map(|hold| hold.described)).sum();
        if kept > budget {
            return Err(format!("the Master keeps descriptions of {kept} bytes, and may keep {budget}"));
        }
        for effect in effects {
            let refused = match effect {
                Effect::Send {
                    peer,
                    message:
                        Outbound::Driver(MasterToDriver::ApplicationRemoved(ApplicationEnd::Refused { reason })),
                } if is_refusal(reason) => {
                    let Some(candidate) = self.candidates.get(peer) else { continue };
                    (&candidate.description.user, weight(wire::length(&candidate.description)))
                }
                Effect::Send {
                    message:
                        Outbound::Client(MasterToClient::SubmitDriverResponse(SubmitDriverAnswer::Refused(
                            RefusedDriver::Unsound { why },
                        ))),
                    ..
                } if is_refusal(why) => {
                    let description = submitted(event)?;
                    (&description.user, weight(wire::length(description)))
                }
                _ => continue,
            };
            self.check_refusal(refused, budget)?;
        }
        Ok(())
    }

    fn check_refusal(&self, (user, weight): (&String, u64), budget: u64) -> Result<(), String> {
        let mut most: BTreeMap<&str, u64> = BTreeMap::new();
        for book in self.apps.values() {
            *most.entry(&book.user).or_default() += book.described + book.preferred;
        }
        for description in self.described_drivers() {
            *most.entry(&description.user).or_default() += self::weight(wire::length(description));
        }
        let of_user = most.get(user.as_str()).copied().unwrap_or(0) + weight;
        let in_all = most.values().sum::<u64>() + weight;
        // A user may have three times what stays free.
        let fits = in_all <= budget && of_user <= 3 * (budget - in_all);
        match fits {
            true => Err(format!(
                "{weight} bytes of {user:?} are refused, and {in_all} of {budget} would be kept at most"
            )),
            false => Ok(()),
        }
    }
}
