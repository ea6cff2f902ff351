//! A peer's reference to itself, which is the model of a reference to us.

use super::{Composer, Generation, Vocabulary};
use crate::envelope::Address;
use crate::java::{Graph, Value};
use crate::messages::{Fields, Unreadable};

/// A peer's reference to one of its endpoints. Its classes differ from release to release, so a reference to us has the
/// peer's own ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The address where the peer can be reached.
    pub address: Address,
    pub(super) graph: Graph,
    pub(super) root: Value,
}

impl Reference {
    /// The most values that a reference may have. Spark's have some twenty.
    pub(super) const MOST: u32 = 256;

    /// Reads the reference in a field of a message.
    ///
    /// # Errors
    ///
    /// If it is none, if it has no address, or if it is larger than any reference of Spark's.
    pub(crate) fn read(message: &Fields<'_>, field: &'static str) -> Result<Self, Unreadable> {
        let reference = message.object(field, "org.apache.spark.rpc.netty.NettyRpcEndpointRef")?;
        let endpoint = reference.object("endpointAddress", "org.apache.spark.rpc.RpcEndpointAddress")?;
        endpoint.text("name")?;
        endpoint.text("toString")?;
        let rpc = endpoint.object("rpcAddress", "org.apache.spark.rpc.RpcAddress")?;
        let port = u16::try_from(rpc.int("port")?).map_err(|_| rpc.wrong("port", "a TCP port"))?;
        let address = Address { host: rpc.text("host")?, port };
        let node = message.value(field)?;
        // All classes are copied as they are, so it does not matter which ones the vocabulary has.
        let vocabulary = Vocabulary::of(Generation::Scala2_13);
        let mut composer = Composer::new(&vocabulary);
        let root = composer.copy(node.graph, node.value, &mut Self::MOST.clone());
        let root = root.ok_or_else(|| message.wrong(field, "a reference of at most 256 values"))?;
        Ok(Self { address, graph: composer.into_graph(), root })
    }
}
