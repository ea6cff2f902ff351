//! Spark's REST protocol for submissions, at a Master's port of its own.
//!
//! `firesteel_spark::rest` decides what a request means and how to respond. The Master gets the same requests as it
//! gets from a client.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use firesteel_host::net::{Arrival, Keyring, Purpose, VirtualPeers};
use firesteel_host::plain;
use firesteel_master::{Event, Inbound};
use firesteel_protocol::ids::DriverId;
use firesteel_protocol::messages::{ClientToMaster, MasterToClient, Requester};
use firesteel_settings::app_resources::AppResources;
use firesteel_settings::keys;
use firesteel_spark::authentication::Proven;
use firesteel_spark::rest::{self, Asked, Call, Submission, answers};
use firesteel_spark::translate::clients::{self, NotAlive};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::ORIGIN;
use hyper::{Request, StatusCode};
use tokio::time::timeout;

use super::answer::Answer;
use super::inquiry::Inquiry;
use super::jackson;
use super::names::Names;
use super::password::Sender;
use super::question::{SEC_FETCH_SITE, called};
use super::server::{HttpMeter, Responder};
use super::snapshot::{PATIENCE, Unanswered};
use crate::master::audit_log;
use crate::spark::authentication::proven;

/// The longest body of a request, in bytes. A Master accepts cluster drivers of half this length.
const LONGEST_BODY: usize = 256 << 10;

/// The REST site of a Master. The same site serves while the Master is the leader and while it is a standby.
#[derive(Debug)]
pub(crate) struct RestSite {
    names: Names,
    /// The keys of the cluster. Its cluster drivers get a secret for Spark's applications.
    keyring: Option<Keyring>,
    /// What may be submitted.
    resources: AppResources,
    role: Mutex<Role>,
}

#[derive(Clone, Debug)]
enum Role {
    Other(NotAlive),
    Leads(VirtualPeers<Event>),
}

impl RestSite {
    /// The site of a Master for which requests may use these names, and submit these resources.
    pub(crate) fn new(names: Names, keyring: Option<Keyring>, resources: AppResources) -> Self {
        Self { names, keyring, resources, role: Mutex::new(Role::Other(NotAlive::Recovering)) }
    }

    pub(crate) fn stands(&self, state: NotAlive) {
        *self.role() = Role::Other(state);
    }

    pub(crate) fn leads(&self, virtual_peers: VirtualPeers<Event>) {
        *self.role() = Role::Leads(virtual_peers);
    }

    fn role(&self) -> MutexGuard<'_, Role> {
        self.role.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The secret of Spark's applications that a submitter has, too.
    fn proven(&self, sender: &Sender) -> Option<Proven> {
        let granted = self.keyring.as_ref()?.granted(Purpose::Spark);
        granted.into_iter().find(|granted| granted.user == sender.user).map(proven)
    }

    /// Refuses a submission of what may not be submitted.
    fn admit(&self, call: &Call, who: &str, from: IpAddr) -> Result<(), answers::Answer> {
        let Call::Create(submission) = call else { return Ok(()) };
        let Submission { driver, unknown_fields, wanted: _ } = &**submission;
        if self.resources.admit(&driver.jar) {
            return Ok(());
        }
        let why = format!("{} admits no {:?}", keys::REST_RESOURCES, driver.jar);
        audit_log::refuse_resource(who, from, &driver.jar, &why);
        Err(answers::refused(why, unknown_fields))
    }

    async fn perform(&self, call: &Call, sender: &Sender, from: IpAddr) -> answers::Answer {
        let role = self.role().clone();
        let virtual_peers = match role {
            Role::Leads(virtual_peers) if virtual_peers.lease().holds() => virtual_peers,
            Role::Leads(_) => return answers::not_leading(call, NotAlive::Standby),
            Role::Other(state) => return answers::not_leading(call, state),
        };
        let who = self.proven(sender);
        let name = match &sender.user {
            Some(user) => format!("{user}@{from}"),
            None => format!("REST client at {from}"),
        };
        if let Err(answer) = self.admit(call, &name, from) {
            return answer;
        }
        let question = match question(call, who.as_ref(), Requester::new(name, sender.rights)) {
            Ok(question) => question,
            Err(answer) => return answer,
        };
        match ask(&virtual_peers, question).await {
            Ok(answer) => worded(call, &answer),
            Err(why) => answers::unanswered(&why.to_string()),
        }
    }
}

fn question(call: &Call, who: Option<&Proven>, by: Requester) -> Result<ClientToMaster, answers::Answer> {
    Ok(match call {
        Call::Create(submission) => {
            let Submission { driver, wanted, unknown_fields } = &**submission;
            clients::driver(driver.clone(), wanted.clone(), who, by.name())
                .map_err(|unfit| answers::refused(unfit.to_string(), unknown_fields))?
        }
        Call::Kill(id) => ClientToMaster::RequestKillDriver { driver: DriverId::new(id.as_str()), by },
        Call::KillAll => ClientToMaster::RequestKillAllDrivers { by },
        Call::Clear => ClientToMaster::RequestClearCompletedDriversAndApps { by },
        Call::Status(id) => ClientToMaster::RequestDriverStatus { driver: DriverId::new(id.as_str()) },
        Call::Readyz => ClientToMaster::RequestReadyz,
    })
}

async fn ask(
    virtual_peers: &VirtualPeers<Event>,
    question: ClientToMaster,
) -> Result<MasterToClient, Unanswered> {
    let mut inquiry = Inquiry::open(virtual_peers)?;
    let message = Inbound::Client(question);
    let event = |Arrival { peer, at, .. }| Event::Received { peer, arrived: at, message };
    timeout(PATIENCE, inquiry.ask(event)).await.unwrap_or(Err(Unanswered::Late))
}

/// The Master's answer in Spark's format.
fn worded(call: &Call, answer: &MasterToClient) -> answers::Answer {
    match (call, answer) {
        (Call::Create(submission), MasterToClient::SubmitDriverResponse(answer)) => {
            answers::created(answer, &submission.unknown_fields)
        }
        (Call::Kill(id), MasterToClient::KillDriverResponse(answer)) => answers::kill(id, answer),
        (Call::KillAll, MasterToClient::KillAllDriversResponse { .. }) => answers::killed_all(),
        (Call::Clear, MasterToClient::ClearCompletedResponse) => answers::cleared(),
        (Call::Status(id), MasterToClient::DriverStatusResponse(view)) => {
            answers::status(id, view.as_deref())
        }
        (Call::Readyz, MasterToClient::ReadyzResponse) => answers::ready(),
        (_, MasterToClient::RequestForbidden { why }) => answers::forbidden(why),
        (call, answer) => unreachable!("{answer:?} is no answer to {call:?}"),
    }
}

impl Responder for RestSite {
    const SERVES: &'static str = "Spark's REST protocol for submissions";
    const PORT_SETTING: &'static str =
        "spark.master.rest.port (0: any free one), or serve none with spark.master.rest.enabled=false";

    async fn respond(&self, request: Request<Incoming>, from: IpAddr, _: &HttpMeter) -> Answer {
        let (head, body) = request.into_parts();
        if let Some(words) = self.names.refuse(&called(&head)) {
            return written(&answers::unreadable(&plain::clean(&words)));
        }
        // Only browsers tell the origin of a page. Submitters use a program.
        if [ORIGIN, SEC_FETCH_SITE].iter().any(|header| head.headers.contains_key(header)) {
            return written(&answers::of_a_page());
        }
        let body = match Limited::new(body, LONGEST_BODY).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => {
                let why = format!("the body cannot be read: {error}. It may have {LONGEST_BODY} bytes.");
                return written(&answers::unreadable(&why));
            }
        };
        let asked = Asked { method: head.method.as_str(), path: head.uri.path(), body: &body };
        let answer = match rest::read(asked, |name| std::env::var(name).ok()) {
            Ok(call) => match head.extensions.get::<Sender>() {
                Some(sender) => self.perform(&call, sender, from).await,
                None => unreachable!("nothing of REST is answered without a password"),
            },
            Err(answer) => answer,
        };
        written(&answer)
    }
}

pub(super) fn written(answer: &answers::Answer) -> Answer {
    let status = StatusCode::from_u16(answer.status).expect("statuses of Spark's are statuses");
    Answer::rest(status, jackson::json(&answer.body))
}
