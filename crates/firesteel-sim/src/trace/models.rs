//! The models of GPU of a cluster, and sets of models.

use super::WorkerKind;
use super::table::{Wrong, within};

/// The maximum number of models. Each model has one bit.
const MOST: usize = 64;

/// A set of GPU models. Each model has one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Models(u64);

impl Models {
    /// The set of all models. It also allows GPUs without a model.
    pub const ANY: Self = Self(u64::MAX);

    fn one(number: usize) -> Self {
        Self(1 << number)
    }

    /// Whether this set contains all models of the set `model`.
    #[must_use]
    pub fn allows(self, model: Self) -> bool {
        self.0 & model.0 == model.0
    }

    /// Parses the models of a request, joined by `|`. An empty text allows any model. `one` returns the set of a named
    /// model.
    ///
    /// # Errors
    /// `one` does not know a model.
    pub fn read(
        spec: &str,
        column: &str,
        mut one: impl FnMut(&str) -> Result<Option<Models>, Wrong>,
    ) -> Result<Models, Wrong> {
        if spec.is_empty() {
            return Ok(Models::ANY);
        }
        let mut models = Models(0);
        for name in spec.split('|') {
            let found = one(name)?.ok_or_else(|| Wrong::Field {
                column: column.to_owned(),
                found: name.chars().take(40).collect(),
                wanted: "a model of the cluster",
            })?;
            models.0 |= found.0;
        }
        Ok(models)
    }

    /// The numbers of the models, in order.
    pub(crate) fn numbers(self) -> impl Iterator<Item = usize> {
        (0..MOST).filter(move |number| self.allows(Self::one(*number)))
    }
}

impl Default for Models {
    fn default() -> Self {
        Self::ANY
    }
}

/// The names of models. The index of a name is the model's number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelNames(Vec<String>);

impl ModelNames {
    /// Adds a model and returns the set that contains only this model. A new name gets the next number.
    ///
    /// # Errors
    /// There are too many models.
    pub fn add(&mut self, name: &str) -> Result<Models, Wrong> {
        if let Some(models) = self.get(name) {
            return Ok(models);
        }
        within("models", self.0.len() as u64 + 1, 1, MOST as u64)?;
        self.0.push(name.to_owned());
        Ok(Models::one(self.0.len() - 1))
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<Models> {
        self.0.iter().position(|known| known == name).map(Models::one)
    }

    pub fn of(&self, models: Models) -> impl Iterator<Item = &str> {
        let named = self.0.iter().enumerate();
        named.filter(move |(number, _)| models.allows(Models::one(*number))).map(|(_, name)| name.as_str())
    }
}

/// Collects the models of GPU that applications request and Workers have.
pub(super) struct AskedModels<'a> {
    workers: &'a [WorkerKind],
    names: ModelNames,
}

impl<'a> AskedModels<'a> {
    /// Starts without any model.
    pub(super) fn of(workers: &'a [WorkerKind]) -> Self {
        Self { workers, names: ModelNames::default() }
    }

    /// Parses the models in this column of an application.
    pub(super) fn read(&mut self, spec: &str, column: &str) -> Result<Models, Wrong> {
        Models::read(spec, column, |name| {
            let is_there = self.workers.iter().any(|kind| kind.model == name);
            is_there.then(|| self.names.add(name)).transpose()
        })
    }

    pub(super) fn names(self) -> ModelNames {
        self.names
    }
}
