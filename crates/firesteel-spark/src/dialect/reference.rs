//! A peer's reference to itself, the model for references to the Master.

use super::Fragment;
use crate::envelope::Address;
use crate::messages::{Fields, Unreadable};

/// A peer's reference to one of its endpoints. The classes of a reference differ between releases, so a reference to
/// the Master copies them.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The address at which the peer listens.
    pub address: Address,
    /// The name of the endpoint at this address.
    pub name: String,
    pub(super) model: Fragment,
}

impl Reference {
    /// The maximum number of values in a reference. Spark's references have about twenty.
    const MOST: u32 = 256;

    /// Reads the reference in a field of a message.
    ///
    /// # Errors
    ///
    /// If the field is not a reference, has no address, or is larger than any reference of Spark.
    pub(crate) fn read(message: &Fields<'_>, field: &'static str) -> Result<Self, Unreadable> {
        let reference = message.object(field, "org.apache.spark.rpc.netty.NettyRpcEndpointRef")?;
        let endpoint = reference.object("endpointAddress", "org.apache.spark.rpc.RpcEndpointAddress")?;
        let name = endpoint.text("name")?;
        endpoint.text("toString")?;
        let address = endpoint.address("rpcAddress")?;
        let model = Fragment::of(message.value(field)?, Self::MOST);
        let model = model.ok_or_else(|| message.wrong(field, "a reference of at most 256 values"))?;
        Ok(Self { address, name, model })
    }
}
