//! Amounts of resources, and requests for them, as Java's records make them.

use super::master::{ExecutionTypeRequest, ResourceRequest};
use super::records::{ExecutionType, Priority, Resource, ResourceInformation, ResourceTypes};

/// The location of requests that any node will do for.
pub const ANYWHERE: &str = "*";

/// YARN's own name of memory.
pub const MEMORY: &str = "memory-mb";

/// YARN's own name of cores.
pub const VCORES: &str = "vcores";

impl Resource {
    /// So much memory (MiB) and so many cores. Both are written twice, as Java does: in fields of their own and in the
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

    /// This, and so much of another resource, in units (`G`, or none).
    #[must_use]
    pub fn with(mut self, name: &str, amount: i64, units: &str) -> Self {
        self.resource_value_map.push(information(name, amount, units));
        self
    }
}

impl Priority {
    /// That priority; the lower the more urgent.
    #[must_use]
    pub fn new(priority: i32) -> Self {
        Self { priority: Some(priority) }
    }
}

impl ResourceRequest {
    /// So many containers wanted at a location, with every field that Java writes.
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
