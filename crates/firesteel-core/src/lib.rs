//! firesteel-core
