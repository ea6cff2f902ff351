//! A Master that may become the leader.

use firesteel_host::lease::Moment;
use firesteel_protocol::address::{Address, parse_masters};
use zookeeper_client::{CreateMode, Error, MultiWriteResult, OneshotWatcher};

use crate::ensemble::{Ensemble, Session, ZooKeeperError};
use crate::term::Term;

/// A Master that may become the leader. It stays a candidate until this value is dropped or its session ends.
#[derive(Debug)]
pub struct Candidate {
    session: Session,
    address: Address,
    /// The path of the candidate's own node.
    own: String,
    /// The watcher that the last look at the nodes has set.
    watched: Option<OneshotWatcher>,
    /// The first candidate, as the last look at the nodes found it.
    first: Option<String>,
}

/// The position of a candidate: follower or leader.
#[derive(Debug)]
pub enum CandidateState {
    /// Another candidate comes before this one.
    Follows {
        /// The address of the first candidate, if its node contains an address.
        leader: Option<Address>,
    },
    Leads(Box<Term>),
}

impl Candidate {
    /// Becomes a candidate with this address.
    ///
    /// # Errors
    /// The servers cannot be reached, or refuse the request.
    pub async fn stand(ensemble: &Ensemble, address: &Address) -> Result<Self, ZooKeeperError> {
        let session = ensemble.connect().await?;
        session.prepare().await?;
        let prefix = format!("{}/candidate-", session.candidates());
        let options = CreateMode::EphemeralSequential.with_acls(session.acls());
        let created = session.client.create(&prefix, address.url().as_bytes(), &options).await;
        let (_, number) = created.map_err(session.failed("become a candidate"))?;
        let own = format!("{prefix}{number}");
        Ok(Self { session, address: address.clone(), own, watched: None, first: None })
    }

    /// Returns the candidate's position as soon as it has changed since the last call.
    ///
    /// # Errors
    /// The session has ended, so this is no longer a candidate.
    pub async fn next(&mut self) -> Result<CandidateState, ZooKeeperError> {
        loop {
            if let Some(watched) = self.watched.take() {
                watched.changed().await;
            }
            let directory = self.session.candidates();
            let listed = self.session.client.list_and_watch_children(&directory).await;
            let (names, watched) = listed.map_err(self.session.failed("list the candidates"))?;
            self.watched = Some(watched);
            let first = names.iter().min().map(|name| format!("{directory}/{name}"));
            if first == self.first {
                continue;
            }
            self.first.clone_from(&first);
            match first {
                Some(first) if first == self.own => {
                    return Ok(CandidateState::Leads(Box::new(self.lead().await?)));
                }
                Some(first) => return Ok(CandidateState::Follows { leader: self.address_of(&first).await }),
                // Its own node is gone, too, so the session has ended.
                None => return Err(self.session.failed("stay a candidate")(Error::SessionExpired)),
            }
        }
    }

    /// Ends the candidacy, so that another candidate can lead at once.
    pub async fn resign(self) {
        // If this fails, the end of the session removes the node.
        let _ = self.session.client.delete(&self.own, None).await;
    }

    async fn lead(&self) -> Result<Term, ZooKeeperError> {
        let failed = self.session.failed("become the leader");
        let asked = Moment::now();
        let mut writer = self.session.client.new_check_writer(&self.own, None).map_err(&failed)?;
        let url = self.address.url();
        writer.add_set_data(&self.session.leader(), url.as_bytes(), None).map_err(&failed)?;
        let written = writer.commit().await.map_err(|error| failed(error.into()))?;
        // The version of exactly this write: a later read could see the epoch of the next leader.
        let version = written.into_iter().find_map(|result| match result {
            MultiWriteResult::SetData { stat } => Some(stat.version),
            _ => None,
        });
        let epoch =
            version.ok_or_else(|| failed(Error::UnexpectedError("no version was given".to_owned())))?;
        Ok(Term::begin(self.session.clone(), epoch, asked))
    }

    async fn address_of(&self, candidate: &str) -> Option<Address> {
        let (url, _) = self.session.client.get_data(candidate).await.ok()?;
        let url = String::from_utf8(url).ok()?;
        parse_masters(&url).ok()?.into_iter().next()
    }
}
