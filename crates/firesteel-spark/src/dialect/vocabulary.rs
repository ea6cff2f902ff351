//! The classes of one peer's release: its generation, and the serial version ids that the peer has told.

use std::collections::BTreeMap;

use thiserror::Error;

use super::classes::{Described, OF_SPARK};
use super::{Composer, Generation};
use crate::java::Graph;

/// The classes of one peer's release.
///
/// The serial version ids of all releases of a generation so far are the same. Those of a release that is not known can
/// be asked of the peer: it refuses a class with a wrong one, and says what it has itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    /// The generation of the classes.
    pub generation: Generation,
    /// Whether the release is one of those whose ids are known here.
    pub is_known: bool,
    /// What the peer has told, by class.
    learned: BTreeMap<&'static str, i64>,
}

/// A peer's answer does not say which serial version id a class has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("this release of Spark does not tell the serial version id of {class}: {answer}")]
pub struct NotTold {
    /// The class.
    pub class: &'static str,
    /// The first line of the answer.
    pub answer: String,
}

impl Vocabulary {
    /// The classes of a release that is known.
    pub(crate) fn of(generation: Generation) -> Self {
        Self { generation, is_known: true, learned: BTreeMap::new() }
    }

    /// The classes of the release that an application's registration shows.
    ///
    /// The registration's own id says it for the releases that are known. Otherwise the shapes of its values tell the
    /// generation: every registration has a list, and only Scala 2.13 puts a proxy in place of lists.
    pub fn of_registration(registration: &Graph) -> Self {
        let serial = |name| registration.find_class(name).map(|class| class.serial);
        let known = match serial("org.apache.spark.deploy.DeployMessages$RegisterApplication") {
            Some(-5_495_080_032_843_259_921) => Some(Generation::Scala2_12),
            Some(1_314_361_325_537_467_148) => Some(Generation::Scala2_13),
            _ => None,
        };
        let has_proxies = serial("scala.collection.generic.DefaultSerializationProxy").is_some();
        let by_shape = if has_proxies { Generation::Scala2_13 } else { Generation::Scala2_12 };
        Self { is_known: known.is_some(), ..Self::of(known.unwrap_or(by_shape)) }
    }

    /// The classes whose ids are to be asked of the peer, none if all are known.
    pub fn to_ask(&self) -> Vec<&'static str> {
        let names = OF_SPARK.iter().map(|class| class.name);
        names.filter(|name| !self.is_known && !self.learned.contains_key(name)).collect()
    }

    /// The object that asks a peer for the id of a class: the class with an id that is wrong. The answer is a failure.
    pub fn question(class: &'static str) -> Vec<u8> {
        let vocabulary = Self::of(Generation::Scala2_13);
        let mut composer = Composer::new(&vocabulary);
        let root = composer.bare_class(class, 0);
        composer.write(root)
    }

    /// Learns the id of a class from the failure that answers the question.
    ///
    /// # Errors
    ///
    /// If the failure says something else: that the class is not there, for instance.
    pub fn learn(&mut self, class: &'static str, failure: &str) -> Result<(), NotTold> {
        let line = failure.lines().next().unwrap_or_default();
        let told = || {
            let (_, about) = line.split_once(class)?;
            let (_, id) = about.split_once("local class serialVersionUID = ")?;
            id.trim().parse().ok()
        };
        let id = told().ok_or_else(|| NotTold { class, answer: line.to_owned() })?;
        self.learned.insert(class, id);
        Ok(())
    }

    pub(super) fn serial(&self, class: &Described) -> i64 {
        self.learned.get(class.name).copied().unwrap_or_else(|| class.serial(self.generation))
    }
}
