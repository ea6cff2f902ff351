//! Amounts of resources, and requests for them, with the same fields that Java's records write.

use super::master::{ExecutionTypeRequest, ResourceRequest};
use super::records::{ExecutionType, Priority, Resource, ResourceInformation, ResourceTypes};

/// The location of requests that any node can serve.
pub const ANYWHERE: &str = "*";

/// The name of memory in YARN.
pub const MEMORY: &str = "memory-mb";

/// The name of cores in YARN.
pub const VCORES: &str = "vcores";

impl Resource {
    /// An amount of memory (MiB) and cores. Both amounts are written twice, as in Java: in their own fields, and in the
    /// list of all resources.
    #[must_use]
    pub fn new(memory_mib: i64, virtual_cores: i32) -> Self {
        Self {
            memory: Some(memory_mib),
            virtual_cores: Some(virtual_cores),
            resource_value_map: vec![
                information(MEMORY, memory_mib, "Mi"),
                information(VCORES, i64::from(virtual_cores), ""),
            ],
        }
    }

    /// Adds an amount of another resource. `units` is a unit such as `G`, or empty.
    #[must_use]
    pub fn with(mut self, name: &str, amount: i64, units: &str) -> Self {
        self.resource_value_map.push(information(name, amount, units));
        self
    }
}

impl Priority {
    /// A priority; lower numbers are more urgent.
    #[must_use]
    pub fn new(priority: i32) -> Self {
        Self { priority: Some(priority) }
    }
}

impl ResourceRequest {
    /// A request for a number of containers at a location, with every field that Java writes.
    #[must_use]
    pub fn new(priority: i32, location: &str, capability: Resource, containers: i32) -> Self {
        Self {
            priority: Some(Priority::new(priority)),
            resource_name: Some(location.to_owned()),
            capability: Some(capability),
            num_containers: Some(containers),
            relax_locality: Some(true),
            node_label_expression: None,
            execution_type_request: Some(ExecutionTypeRequest {
                execution_type: Some(ExecutionType::Guaranteed.into()),
                enforce_execution_type: Some(false),
            }),
            allocation_request_id: Some(0),
        }
    }
}

fn information(name: &str, value: i64, units: &str) -> ResourceInformation {
    ResourceInformation {
        key: name.to_owned(),
        value: Some(value),
        units: Some(units.to_owned()),
        r#type: Some(ResourceTypes::Countable.into()),
        tags: Vec::new(),
        attributes: Vec::new(),
    }
}
