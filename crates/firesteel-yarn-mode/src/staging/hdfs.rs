//! Files on HDFS, through the crate `hdfs-native`.
//!
//! Each call has its own connection, because staged files are deleted minutes or days later, when an old
//! connection would be broken. Each call runs on its own thread and runtime, so the caller may be a task or
//! a destructor.

use std::io::{self, Read};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use firesteel_host::runtime;
use hdfs_native::client::FileStatus;
use hdfs_native::{Client, ClientBuilder, HdfsError, WriteOptions};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::shared_path::{Described, NameService};
use crate::blueprint::Visibility;

pub(super) const IS_SPOKEN: bool = true;

/// How long a NameNode may be silent. The time is short, because a user waits.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long a call that transfers data may take. DataNodes may be slow, or others may replace them.
const DATA_TIMEOUT: Duration = Duration::from_secs(120);

/// The number of bytes that are sent at once.
const PIECE: usize = 1 << 20;

/// The default port of a NameNode. Source: Hadoop 3.4.1.
const PORT: u16 = 8020;

/// The defaults for properties that the configuration does not set. A NameNode that cannot be reached is retried for
/// some seconds, like a ResourceManager; Hadoop's own clients retry for minutes. The list includes
/// `hadoop.security.authentication`, because clusters with another method were already rejected.
const DEFAULTS: [(&str, &str); 4] = [
    ("dfs.client.failover.max.attempts", "6"),
    ("dfs.client.failover.sleep.base.millis", "100"),
    ("dfs.client.failover.sleep.max.millis", "1000"),
    ("hadoop.security.authentication", "simple"),
];

/// Why an operation on HDFS failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The NameNode or a DataNode did not answer in time.
    #[error("HDFS did not answer within {} s; check that it runs there", .0.as_secs())]
    Silent(Duration),
    #[error("{0}; check that HDFS runs there")]
    Unreachable(io::Error),
    #[error("HDFS objects: {0}")]
    Objection(String),
    #[error("{0}")]
    Client(String),
    /// The file to stage cannot be read.
    #[error("cannot read it: {0}")]
    Source(io::Error),
    /// The path is a directory instead of a file.
    #[error("it is not a regular file")]
    Irregular,
}

impl From<HdfsError> for Failure {
    fn from(error: HdfsError) -> Self {
        match error {
            HdfsError::IOError(error) => Self::Unreachable(error),
            // The message has a stack trace after it, and the name of the exception's class before it.
            HdfsError::RPCError(exception, words) | HdfsError::FatalRPCError(exception, words) => {
                let words = words.lines().next().unwrap_or_default();
                let words = words.strip_prefix(&format!("{exception}: ")).unwrap_or(words);
                let exception = exception.rsplit(['.', '$']).next().unwrap_or_default();
                Self::Objection(format!("{exception}: {words}"))
            }
            other => Self::Client(other.to_string().lines().next().unwrap_or_default().to_owned()),
        }
    }
}

pub(super) fn make_directory(service: &NameService, path: &str) -> Result<(), Failure> {
    on(service, async |client| answered(TIMEOUT, client.mkdirs(path, 0o700, true)).await)
}

pub(super) fn write(
    service: &NameService,
    path: &str,
    source: &mut (dyn Read + Send),
) -> Result<(), Failure> {
    on(service, async |client| {
        let options = WriteOptions {
            replication: service.properties.get("dfs.replication").and_then(|count| count.parse().ok()),
            permission: 0o644,
            overwrite: true,
            ..WriteOptions::default()
        };
        let mut file = answered(TIMEOUT, client.create(path, options)).await?;
        loop {
            let mut piece = Vec::with_capacity(PIECE);
            let read = (&mut *source).take(PIECE as u64).read_to_end(&mut piece).map_err(Failure::Source)?;
            if read == 0 {
                return answered(DATA_TIMEOUT, file.close()).await;
            }
            answered(DATA_TIMEOUT, file.write_bytes(Bytes::from(piece))).await?;
        }
    })
}

pub(super) fn described(service: &NameService, path: &str) -> Result<Described, Failure> {
    on(service, async |client| {
        let status = answered(TIMEOUT, client.get_file_info(path)).await?;
        if status.isdir {
            return Err(Failure::Irregular);
        }
        let visibility = visibility(&client, path, &status).await?;
        Ok(Described { size: status.length as u64, timestamp: status.modification_time, visibility })
    })
}

pub(super) fn delete(service: &NameService, path: &str) -> Result<(), Failure> {
    on(service, async |client| answered(TIMEOUT, client.delete(path, true)).await.map(drop))
}

/// The visibility of a file, by the same rule as on a local file system.
async fn visibility(client: &Client, path: &str, status: &FileStatus) -> Result<Visibility, Failure> {
    if status.permission & 0o004 == 0 {
        return Ok(Visibility::Private);
    }
    let mut directory = path;
    while let Some((parent, _)) = directory.rsplit_once('/') {
        let name = if parent.is_empty() { "/" } else { parent };
        if answered(TIMEOUT, client.get_file_info(name)).await?.permission & 0o001 == 0 {
            return Ok(Visibility::Private);
        }
        directory = parent;
    }
    Ok(Visibility::Public)
}

async fn answered<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, HdfsError>>,
) -> Result<T, Failure> {
    match timeout(limit, call).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Failure::Silent(limit)),
    }
}

fn no_threads(error: io::Error) -> Failure {
    Failure::Client(format!("the machine gives no threads: {error}"))
}

/// Runs an operation with a new connection.
fn on<T: Send>(
    service: &NameService,
    what: impl AsyncFnOnce(Client) -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let work = || {
        // The connection stays alive while the source is read, which may take long.
        let runtime = runtime::start("hdfs", 1).map_err(no_threads)?;
        let done = runtime.block_on(async { what(client(service, &runtime)?).await });
        // Do not wait for a name lookup that hangs.
        runtime.shutdown_background();
        done
    };
    thread::scope(|scope| {
        let working = thread::Builder::new().spawn_scoped(scope, work).map_err(no_threads)?;
        working.join().expect("it does not panic")
    })
}

fn client(service: &NameService, runtime: &Runtime) -> Result<Client, Failure> {
    let NameService { authority, user, properties } = service;
    let is_one = !properties.contains_key(&format!("dfs.ha.namenodes.{authority}"));
    let port = match is_one && !authority.contains(':') {
        true => format!(":{PORT}"),
        false => String::new(),
    };
    let defaults = DEFAULTS.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let own = properties.iter().map(|(name, value)| (name.clone(), value.clone()));
    let client = ClientBuilder::new()
        .with_url(format!("hdfs://{authority}{port}"))
        .with_user(user)
        .with_config(defaults.into_iter().chain(own))
        .with_io_runtime(runtime.handle().clone());
    Ok(client.build()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_node_has_a_port_and_several_have_a_name() {
        let runtime = runtime::start("hdfs", 1).expect("a runtime");
        let spoken_with = |authority: &str, properties: &[(&str, &str)]| {
            let properties = properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let (authority, user) = (authority.to_owned(), "ann".to_owned());
            let service = NameService { authority, user, properties: properties.collect() };
            client(&service, &runtime).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(spoken_with("nn", &[]), Ok(()));
        assert_eq!(spoken_with("nn:9000", &[]), Ok(()));
        let [ids, first] =
            [("dfs.ha.namenodes.both", "a,b"), ("dfs.namenode.rpc-address.both.a", "nn1:8020")];
        assert_eq!(spoken_with("both", &[ids, first]), Ok(()));
        let nowhere = spoken_with("both", &[ids]).expect_err("they are nowhere");
        assert!(nowhere.contains("No NameNode hosts found"), "{nowhere}");
    }

    #[test]
    fn an_objection_is_one_line_without_where_it_was_thrown() {
        let exception = "org.apache.hadoop.security.AccessControlException".to_owned();
        let words = format!("{exception}: Permission denied: user=bob\n\tat org.apache.hadoop.X");
        let failure = Failure::from(HdfsError::RPCError(exception, words));
        let expected = "HDFS objects: AccessControlException: Permission denied: user=bob";
        assert_eq!(failure.to_string(), expected);
    }
}
