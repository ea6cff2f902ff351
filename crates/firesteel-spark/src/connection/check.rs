//! The invariants of a connection.

use firesteel_protocol::Violation;

use super::{Connection, Occupant, State};

/// A violation with this sentence, unless the condition holds.
fn ensure(condition: bool, sentence: impl FnOnce() -> String) -> Result<(), Violation> {
    if condition { Ok(()) } else { Err(Violation { machine: "spark connection", sentence: sentence() }) }
}

impl Connection {
    pub(super) fn check_tables(&self) -> Result<(), Violation> {
        ensure(self.effects.is_empty(), || format!("{} effects were not handed out", self.effects.len()))?;
        self.check_seats()?;
        let wrong = self.peers.wrong_name();
        ensure(wrong.is_none(), || format!("{wrong:?} finds another row, or none"))?;
        self.check_limits()
    }

    /// Each seat has its peer, and each peer its seat.
    fn check_seats(&self) -> Result<(), Violation> {
        let mut taken = 0;
        for (peer, row) in self.peers.iter() {
            for (seat, occupant) in [
                (row.driver.as_ref().map(|driver| driver.seat), Occupant::Driver(peer)),
                (row.worker.as_ref().and_then(|worker| worker.seat), Occupant::Worker(peer)),
            ] {
                let Some(seat) = seat else { continue };
                taken += 1;
                let there = self.seats.get(&seat);
                ensure(there == Some(&occupant), || format!("{seat:?} of {occupant:?} has {there:?}"))?;
            }
        }
        if let Some(asker) = &self.asker {
            taken += 1;
            let there = self.seats.get(&asker.seat);
            ensure(there == Some(&Occupant::Asker), || format!("{:?} of clients has {there:?}", asker.seat))?;
        }
        let seats = self.seats.len();
        ensure(taken == seats, || format!("{seats} seats, {taken} of them taken"))?;
        let is_over = matches!(self.state, State::New(_) | State::Closed);
        ensure(!is_over || seats == 0, || format!("{seats} seats on a connection that is {:?}", self.state))?;
        let ahead = self.seats.keys().find(|seat| seat.0 >= self.next_seat);
        ensure(ahead.is_none(), || format!("{ahead:?} is taken, and will be opened again"))
    }

    /// No table exceeds its limit.
    fn check_limits(&self) -> Result<(), Violation> {
        let limits = &self.limits;
        let owed = self.peers.iter().map(|(_, row)| row.owed.len()).max().unwrap_or_default();
        let asked = self.asker.as_ref().map_or(0, |asker| asker.owed.len());
        let held = self.clients.iter().map(|client| client.held()).max().unwrap_or_default();
        // A client has at most one open question.
        let questions = limits.questions + limits.clients;
        for (what, count, most) in [
            ("peers", self.peers.iter().count(), limits.peers),
            ("clients", self.clients.len(), limits.clients),
            ("requests that wait for a client's release", held, limits.held),
            ("requests of a peer that wait for the Master", owed, limits.owed),
            ("requests of clients that wait for the Master", asked, limits.owed),
            ("open questions", self.questions.len(), questions),
        ] {
            ensure(count <= most, || format!("{count} {what}, and there may be {most}"))?;
        }
        Ok(())
    }
}
