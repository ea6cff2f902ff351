//! Hadoop's messages: the records of YARN 3.5.0, and the headers of its remote procedure calls.
//!
//! - `rpc`, `security`: the headers of calls, and tokens.
//! - `records`, `ids`, `resource`: records that many messages contain, the text forms of ids, and amounts
//!   of resources.
//! - `application`, `cluster`: messages between clients and the ResourceManager.
//! - `master`: messages between an ApplicationMaster and the ResourceManager.
//! - `container`, `launch`: messages between an ApplicationMaster and a NodeManager.
//!
//! They are protocol buffers of version 2, in which an absent field differs from zero. Most fields are
//! options. An empty field that a server requires is sent. Fields have Hadoop's names, in Rust's spelling,
//! and Hadoop's numbers. Fields that are not needed here are left out, and skipped when they are received.
//! Versions 3.3.4 and 3.4.1 differ only by additions.
//!
//! Source: the descriptors in the jars of Hadoop 3.3.4, 3.4.1 and 3.5.0.

#![allow(missing_docs, reason = "fields and variants are Hadoop's; their records say what they are about")]

/// Declares a module for each file of `proto/`, which the build script has made Rust of.
macro_rules! generated {
    ($($name:ident)*) => {
        $(pub mod $name {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".rs"));
        })*
    };
}

generated! { application cluster container launch master records rpc security }

pub mod ids;
pub mod resource;
