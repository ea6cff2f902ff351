//! Those on a connection who submit cluster drivers, or ask whether the Master works. They need not register.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use firesteel_core::ids::DriverId;
use firesteel_core::master::{Event, Inbound};
use firesteel_core::messages::{ClientToMaster, MasterToClient};
use firesteel_core::wire::Role;
use firesteel_host::inbox::OwnerGone;
use firesteel_host::net::{Envoy, Letter};
use firesteel_spark::messages::{ClientRequest, ToClient};
use firesteel_spark::session::{ClientNumber, Session};
use firesteel_spark::translate::clients;

use super::{Addressed, Addressee, Connection};
use crate::spark::frames::Frames;

/// Asks the Master for all of them. It answers in the order of the questions.
pub(super) struct Asker {
    envoy: Envoy<Event>,
    /// Those to whom the next answers belong, oldest first.
    owed: VecDeque<Owed>,
}

/// To whom an answer belongs: a number of a request, and what it asked.
pub(super) enum Owed {
    /// Somebody asks whether the Master works.
    Readyz(i64),
    /// Somebody submits a cluster driver.
    Submission(ClientNumber, i64),
    /// Somebody asks for the end of this cluster driver.
    Kill(ClientNumber, i64, String),
    /// Somebody asks for the state of a cluster driver.
    Status(ClientNumber, i64),
}

impl Connection {
    /// Asks the Master, behind all that came on this connection before. The question had this number of bytes.
    pub(super) async fn ask(
        &mut self,
        owed: Owed,
        bytes: usize,
        question: ClientToMaster,
    ) -> Result<(), OwnerGone> {
        let asker = match &mut self.asker {
            Some(asker) => asker,
            none => {
                let name = "Spark's client".to_owned();
                let (envoy, letters) = self.envoys.open(Role::Client, name, self.remote)?;
                self.letters.push(Addressed { address: Addressee::Asker, letters });
                none.insert(Asker { envoy, owed: VecDeque::new() })
            }
        };
        asker.owed.push_back(owed);
        let peer = asker.envoy.peer();
        self.tell(peer, bytes, Inbound::Client(question)).await
    }

    /// One who submits cluster drivers has a request, which had this number of bytes.
    pub(super) async fn client_asks(
        &mut self,
        (client, id): (ClientNumber, i64),
        request: ClientRequest,
        bytes: usize,
        frames: &mut Frames,
    ) -> Result<(), OwnerGone> {
        // It may wait for the end of its driver.
        self.has_registered = true;
        match request {
            ClientRequest::SubmitDriver(submission) => {
                match clients::submission(*submission, self.session.client_releases(client)) {
                    Ok(question) => self.ask(Owed::Submission(client, id), bytes, question).await?,
                    Err(unfit) => {
                        self.complain(&format!("a cluster driver is refused: {unfit}"));
                        frames.push(&self.session.answer_client(
                            client,
                            id,
                            &clients::refusal(unfit.to_string()),
                        ));
                    }
                }
                Ok(())
            }
            ClientRequest::KillDriver { driver } => {
                let by = format!("Spark's client at {}", self.remote.ip());
                let question =
                    ClientToMaster::RequestKillDriver { driver: DriverId::new(driver.as_str()), by };
                self.ask(Owed::Kill(client, id, driver), bytes, question).await
            }
            ClientRequest::DriverStatus { driver } => {
                let question = ClientToMaster::RequestDriverStatus { driver: DriverId::new(driver) };
                self.ask(Owed::Status(client, id), bytes, question).await
            }
        }
    }

    /// Has written what the Master answers. `Break` if the Master ends the connection.
    pub(super) fn deliver_to_asker(&mut self, letter: Letter, frames: &mut Frames) -> ControlFlow<()> {
        let answer: MasterToClient = match letter {
            Letter::Message(parcel) => parcel.open(),
            Letter::End(_) => {
                self.asker = None;
                return ControlFlow::Break(());
            }
        };
        if let Some(owed) = self.asker.as_mut().and_then(|asker| asker.owed.pop_front()) {
            let (client, id, answer) = match owed {
                Owed::Readyz(id) => {
                    frames.push(&Session::accept(id));
                    return ControlFlow::Continue(());
                }
                Owed::Submission(client, id) => (client, id, worded("", &answer)),
                Owed::Kill(client, id, driver) => (client, id, worded(&driver, &answer)),
                Owed::Status(client, id) => (client, id, worded("", &answer)),
            };
            frames.push(&self.session.answer_client(client, id, &answer));
        }
        ControlFlow::Continue(())
    }
}

/// What the Master answered, in Spark's words. The question may have named this cluster driver.
fn worded(driver: &str, answer: &MasterToClient) -> ToClient {
    match answer {
        MasterToClient::SubmitDriverResponse(answer) => clients::to_submitter(answer),
        MasterToClient::KillDriverResponse(answer) => clients::to_killer(driver, answer),
        MasterToClient::DriverStatusResponse(view) => clients::to_watcher(view.as_deref()),
        other => unreachable!("{other:?} answers no question of Spark's clients"),
    }
}
