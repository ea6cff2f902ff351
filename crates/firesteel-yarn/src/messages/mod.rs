//! Hadoop's messages: the records of YARN 3.5.0, and the headers of its remote procedure calls.
//!
//! They are protocol buffers of the second kind, where what is absent is not what is zero: most fields are
//! options, and an empty field that a server asks for is on the wire. Fields have Hadoop's names, in this
//! language's spelling, and its numbers; what is not needed here is left out, and skipped where it comes. 3.3.4 and
//! 3.4.1 differ by additions only.
//!
//! Source: the descriptors in the jars of Hadoop 3.3.4, 3.4.1 and 3.5.0.

#![allow(missing_docs, reason = "fields and variants are Hadoop's; their records say what they are about")]

pub mod application;
pub mod cluster;
pub mod container;
pub mod ids;
pub mod launch;
pub mod master;
pub mod records;
pub mod resource;
pub mod rpc;
pub mod security;
