//! The classes of one peer's release: the generation, and serial version ids that the peer has revealed.

use std::collections::BTreeMap;

use thiserror::Error;

use super::classes::{Described, OF_SPARK_3_3, TO_CLIENTS, TO_DRIVERS};
use super::{Composer, Generation, Release};
use crate::java::Graph;

/// The classes of one peer's release.
///
/// So far all releases of a generation have the same serial version ids. The ids of an unknown release can be learned
/// from the peer: the peer refuses a class with a wrong id, and the refusal contains the right id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassNames {
    /// The generation of the classes.
    pub generation: Generation,
    /// Whether the ids of the peer's release are known without asking the peer.
    pub is_known: bool,
    /// Ids that differ from the generation's ids, by class: some ids of Spark 3.3, and ids that the peer has revealed.
    exceptions: BTreeMap<&'static str, i64>,
}

/// The error that a peer's answer does not contain the serial version id of a class.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("this release of Spark does not tell the serial version id of {class}: {answer}")]
pub struct UnknownSerialId {
    /// The full name of the class in question.
    pub class: &'static str,
    /// The first line of the answer.
    pub answer: String,
}

impl ClassNames {
    /// The classes of a known release of this generation.
    pub(crate) fn of(generation: Generation) -> Self {
        Self { generation, is_known: true, exceptions: BTreeMap::new() }
    }

    /// The classes of the release that an application's or a Worker's registration shows.
    ///
    /// For known releases, the serial version id of the registration shows the generation. Otherwise its collections
    /// show it: every registration has one, and only Scala 2.13 replaces collections by a proxy.
    pub fn of_registration(registration: &Graph) -> Self {
        let serial = |name| registration.find_class(name).map(|class| class.serial);
        let application = serial("org.apache.spark.deploy.DeployMessages$RegisterApplication");
        let worker = serial("org.apache.spark.deploy.DeployMessages$RegisterWorker");
        let known = match application.or(worker) {
            Some(-5_495_080_032_843_259_921 | 2_340_739_175_558_496_895) => Some(Generation::Scala2_12),
            Some(1_314_361_325_537_467_148 | 3_085_801_672_543_586_679) => Some(Generation::Scala2_13),
            _ => None,
        };
        let by_shape = by_shape(registration);
        let exceptions = match Release::of(registration) {
            Some(Release::V3_3) => BTreeMap::from(OF_SPARK_3_3),
            _ => BTreeMap::new(),
        };
        Self { generation: known.unwrap_or(by_shape), is_known: known.is_some(), exceptions }
    }

    /// The classes of a client, from its request about a cluster driver.
    pub(crate) fn of_client(request: &Graph) -> Self {
        let serial = |name: &str| {
            let name = format!("org.apache.spark.deploy.DeployMessages$Request{name}");
            request.find_class(&name).map(|class| class.serial)
        };
        let serial = ["SubmitDriver", "KillDriver", "DriverStatus"].into_iter().find_map(serial);
        let known = match serial {
            Some(2_086_705_296_795_265_444 | 7_763_132_472_584_695_338 | -5_846_948_205_890_614_879) => {
                Some(Generation::Scala2_12)
            }
            Some(-4_723_813_690_162_202_536 | -6_009_959_939_375_207_245 | -1_863_272_440_264_723_007) => {
                Some(Generation::Scala2_13)
            }
            _ => None,
        };
        let generation = known.unwrap_or_else(|| by_shape(request));
        Self { generation, is_known: known.is_some(), exceptions: BTreeMap::new() }
    }

    /// The class for which to ask a client next; `None` if all ids are known. The client logs each question as an
    /// error.
    pub(crate) fn to_ask_client(&self) -> Option<&'static str> {
        let mut names = TO_CLIENTS.iter().map(|class| class.name);
        names.find(|name| !self.is_known && !self.exceptions.contains_key(name))
    }

    /// The classes for which to ask the peer; empty if all ids are known.
    pub fn to_ask(&self) -> Vec<&'static str> {
        let names = TO_DRIVERS.iter().map(|class| class.name);
        names.filter(|name| !self.is_known && !self.exceptions.contains_key(name)).collect()
    }

    /// An object with which to ask a peer for the id of a class. It has that class with a wrong id, so the peer answers
    /// with a failure that contains the right id.
    pub fn question(class: &'static str) -> Vec<u8> {
        let vocabulary = Self::of(Generation::Scala2_13);
        let mut composer = Composer::new(&vocabulary);
        let root = composer.bare_class(class, 0);
        composer.write(root)
    }

    /// Stores the id of a class from the failure that answers the question.
    ///
    /// # Errors
    ///
    /// If the failure has another reason, such as an unknown class.
    pub fn learn(&mut self, class: &'static str, failure: &str) -> Result<(), UnknownSerialId> {
        self.exceptions.insert(class, told(class, failure)?);
        Ok(())
    }

    pub(super) fn serial(&self, class: &Described) -> i64 {
        self.exceptions.get(class.name).copied().unwrap_or_else(|| class.serial(self.generation))
    }
}

/// The generation, determined from the way in which a message's collections are written.
fn by_shape(message: &Graph) -> Generation {
    let has = |name| message.find_class(name).is_some();
    let names =
        ["scala.collection.generic.DefaultSerializationProxy", "scala.runtime.ModuleSerializationProxy"];
    if names.into_iter().any(has) { Generation::Scala2_13 } else { Generation::Scala2_12 }
}

/// The serial version id of a class, from a failure.
///
/// # Errors
///
/// If the failure has another reason.
pub(crate) fn told(class: &'static str, failure: &str) -> Result<i64, UnknownSerialId> {
    let line = failure.lines().next().unwrap_or_default();
    let id = || {
        let (_, about) = line.split_once(class)?;
        let (_, id) = about.split_once("local class serialVersionUID = ")?;
        id.trim().parse().ok()
    };
    id().ok_or_else(|| UnknownSerialId { class, answer: line.to_owned() })
}
