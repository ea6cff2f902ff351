//! A driver's remarks, as users read them on a terminal and in the log.

use std::fmt;

use firesteel_engine::driver::{MasterStatus, Note};

/// A remark, followed by the command that shows more, if there is one.
#[derive(Clone, Copy, Debug)]
pub struct Remark<'a>(pub &'a Note);

impl fmt::Display for Remark<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(note) = self;
        write!(f, "{note}")?;
        match note {
            Note::NoExecutor { master: MasterStatus::Registered { shortfalls, .. }, .. }
                if !shortfalls.is_empty() =>
            {
                f.write_str("; firesteel explain shows who holds the cores")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use firesteel_placement::explain::shortfall::shortfall;
    use firesteel_placement::{Cores, Demand};
    use firesteel_protocol::address::Address;
    use firesteel_protocol::ids::ProfileId;

    use super::*;

    #[test]
    fn who_has_no_executor_for_lack_of_room_is_told_what_explains_it() {
        let demand = Demand { cores_left: Cores(4), ..Demand::default() };
        let missing = shortfall(&demand, &[], &[]).expect("there are no Workers");
        for (shortfalls, hint) in [(vec![(ProfileId::DEFAULT, missing)], true), (Vec::new(), false)] {
            let master = Address::new("m1", 7077);
            let status = MasterStatus::Registered { master, shortfalls, unwanted: Vec::new() };
            let note = Note::NoExecutor { waited: Duration::from_secs(15), master: status };
            let hinted = Remark(&note).to_string().ends_with("; firesteel explain shows who holds the cores");
            assert_eq!(hinted, hint, "{}", Remark(&note));
        }
    }
}
