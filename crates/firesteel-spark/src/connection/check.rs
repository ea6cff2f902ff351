//! The invariants of a connection.

use firesteel_protocol::Violation;

use super::{Connection, Occupant, State};

/// Returns a violation with this sentence, unless the condition holds.
fn ensure(condition: bool, sentence: impl FnOnce() -> String) -> Result<(), Violation> {
    if condition { Ok(()) } else { Err(Violation { machine: "spark connection", sentence: sentence() }) }
}

impl Connection {
    pub(super) fn check_tables(&self) -> Result<(), Violation> {
        ensure(self.effects.is_empty(), || format!("{} effects were not handed out", self.effects.len()))?;
        self.check_channels()?;
        let wrong = self.peers.wrong_name();
        ensure(wrong.is_none(), || format!("{wrong:?} finds another row, or none"))?;
        self.check_limits()
    }

    /// Checks that each channel has a peer, and each peer the right channel.
    fn check_channels(&self) -> Result<(), Violation> {
        let mut taken = 0;
        for (peer, row) in self.peers.iter() {
            for (channel, occupant) in [
                (row.driver.as_ref().map(|driver| driver.channel), Occupant::Driver(peer)),
                (row.worker.as_ref().and_then(|worker| worker.channel), Occupant::Worker(peer)),
            ] {
                let Some(channel) = channel else { continue };
                taken += 1;
                let there = self.channels.get(&channel);
                ensure(there == Some(&occupant), || format!("{channel:?} of {occupant:?} has {there:?}"))?;
            }
        }
        if let Some(master_client) = &self.master_client {
            taken += 1;
            let there = self.channels.get(&master_client.channel);
            ensure(there == Some(&Occupant::MasterClient), || {
                format!("{:?} of clients has {there:?}", master_client.channel)
            })?;
        }
        let channels = self.channels.len();
        ensure(taken == channels, || format!("{channels} channels, {taken} of them taken"))?;
        let is_over = matches!(self.state, State::New(_) | State::Closed);
        ensure(!is_over || channels == 0, || {
            format!("{channels} channels on a connection that is {:?}", self.state)
        })?;
        let ahead = self.channels.keys().find(|channel| channel.0 >= self.next_channel);
        ensure(ahead.is_none(), || format!("{ahead:?} is taken, and will be opened again"))
    }

    /// Checks that no table exceeds its limit.
    fn check_limits(&self) -> Result<(), Violation> {
        let limits = &self.limits;
        let pending = self.peers.iter().map(|(_, row)| row.pending.len()).max().unwrap_or_default();
        let asked = self.master_client.as_ref().map_or(0, |master_client| master_client.pending.len());
        let held = self.clients.iter().map(|client| client.held()).max().unwrap_or_default();
        // A client has at most one open question.
        let questions = limits.questions + limits.clients;
        for (what, count, most) in [
            ("peers", self.peers.iter().count(), limits.peers),
            ("clients", self.clients.len(), limits.clients),
            ("requests that wait for a client's release", held, limits.held),
            ("requests of a peer that wait for the Master", pending, limits.pending),
            ("requests of clients that wait for the Master", asked, limits.pending),
            ("open questions", self.questions.len(), questions),
        ] {
            ensure(count <= most, || format!("{count} {what}, and there may be {most}"))?;
        }
        Ok(())
    }
}
