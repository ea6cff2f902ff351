//! The settings of Masters and Workers.
//!
//! - [`master`], [`worker`]: all settings of a Master, and all settings of a Worker.
//! - [`http`], [`tls`], [`token_key`], [`pages`]: the settings of their HTTP servers and of their pages.
//! - [`rolling`], [`resources`], [`shuffle_service`]: parts of a Worker's settings.
//! - [`access_lists`]: the users who may end what belongs to others.
//! - [`app_resources`]: the jars and programs that may be submitted by REST.
//! - [`allowed_peers`]: whom a Master connects to although they connect from elsewhere.
//! - `zookeeper_url`: the servers of ZooKeeper, a part of a Master's settings.
//! - [`scheduling`]: the settings of a running Master's scheduler, written as properties again.

pub mod access_lists;
pub mod allowed_peers;
pub mod app_resources;
pub mod http;
pub mod master;
pub mod pages;
pub mod resources;
pub mod rolling;
pub mod scheduling;
pub mod shuffle_service;
pub mod tls;
pub mod token_key;
pub mod worker;
mod zookeeper_url;

pub use worker::{ConfinementSettings, WorkerSettings};
