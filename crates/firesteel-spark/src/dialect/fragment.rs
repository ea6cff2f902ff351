//! A part of a peer's message, which is kept and passed on unchanged.

use std::fmt;

use bytes::Bytes;

use super::copy::Copy;
use super::{ClassNames, Composer, Generation};
use crate::java::{self, Bounds, Graph, Node, ReadError, Value};

/// A value of a peer's message, with everything that the value refers to.
#[derive(Clone, PartialEq)]
pub struct Fragment {
    pub(super) graph: Graph,
    pub(super) root: Value,
}

/// Hides the contents, because an application's description contains secrets.
impl fmt::Debug for Fragment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fragment").finish_non_exhaustive()
    }
}

impl Fragment {
    /// Copies a value. `None` if the copy would have more than `most` values, or is nested too deeply.
    pub(crate) fn of(node: Node<'_>, most: u32) -> Option<Self> {
        // All classes are copied unchanged, so the vocabulary does not matter.
        let vocabulary = ClassNames::of(Generation::Scala2_13);
        let mut composer = Composer::new(&vocabulary);
        let root = Copy::new(&mut composer, node.graph, most).value(node.value, 0)?;
        Some(Self { graph: composer.into_graph(), root })
    }

    /// Writes the value as a stream of its own.
    pub fn write(&self) -> Bytes {
        java::write(&self.graph, self.root).into()
    }

    /// Reads a stream that [`write`](Self::write) made.
    ///
    /// # Errors
    ///
    /// If it is not a stream of Java objects.
    pub fn read(stream: &[u8]) -> Result<Self, ReadError> {
        let (graph, root) = java::read(stream, Bounds::default())?;
        Ok(Self { graph, root })
    }
}
