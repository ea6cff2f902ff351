//! Tests of offer, server and fetch together, over loopback.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use firesteel_protocol::address::Address;
use firesteel_protocol::messages::{DriverToWorker, FileDescription, FileKind, Sha256, WorkerToDriver};
use firesteel_protocol::wire::Role;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::OfferedFiles;
use super::fetch::{FetchError, Fetcher};
use firesteel_host::clock::Clock;
use firesteel_host::net::conversation::Conversation;
use firesteel_host::net::{Introduction, Listener, QueueLimits};
use firesteel_host::owner::Context;

/// A driver's machine that offers a file of three million bytes, and a Worker's directory.
struct Rig {
    scratch: TempDir,
    /// Keeps the listener open.
    _context: Context<()>,
    address: Address,
    file: FileDescription,
    stop: CancellationToken,
}

const LENGTH: usize = 3_000_000;

fn content() -> Vec<u8> {
    (0..LENGTH).map(|at| u8::try_from(at % 251).expect("it is below 251")).collect()
}

impl Rig {
    async fn start() -> Self {
        Self::serving(256).await
    }

    /// A driver that serves at most this number of Workers at the same time.
    async fn serving(at_once: usize) -> Self {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let path = scratch.path().join("data");
        fs::write(&path, content()).expect("a file");
        let text = path.to_str().expect("UTF-8").to_owned();
        let offered = OfferedFiles::open(&[text], &[]).await.expect("it can be read");
        let listener = Listener::bind(&Address::new("127.0.0.1", 0)).await.expect("there is a free port");
        let address = Address::new("127.0.0.1", listener.local().port());
        let context = Context::<()>::new(Role::Driver, "a driver", QueueLimits::default(), Clock::start());
        context.peers.serve(offered.serve_some_on(listener, at_once), Vec::new());
        let file = offered.description(&address, None).expect("there is one").files[0].clone();
        Self { scratch, _context: context, address, file, stop: CancellationToken::new() }
    }

    fn target(&self) -> PathBuf {
        self.scratch.path().join("fetched")
    }

    async fn fetch_from(&self, address: &Address, file: &FileDescription) -> Result<(), FetchError> {
        let mut fetcher =
            Fetcher::new(address.clone(), Introduction::new(Role::Worker, "a worker"), self.stop.clone());
        let target = self.target();
        let fetching = fetcher.fetch(file, &target);
        timeout(Duration::from_secs(60), fetching).await.expect("it comes to an end")
    }
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o7777
}

/// A proxy to an address. The proxy cuts each connection after it has sent this number of bytes to the dialling side.
async fn cutting(address: &Address, after: u64) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
    let own = Address::new("127.0.0.1", listener.local_addr().expect("it is bound").port());
    let to = address.to_string();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let mut far = TcpStream::connect(&to).await.expect("the driver listens");
            tokio::spawn(async move {
                let (mut read_far, mut write_far) = far.split();
                let (mut read_near, mut write_near) = near.split();
                let mut part = (&mut read_far).take(after);
                tokio::select! {
                    _ = tokio::io::copy(&mut part, &mut write_near) => {}
                    _ = tokio::io::copy(&mut read_near, &mut write_far) => {}
                }
                let _ = write_near.shutdown().await;
            });
        }
    });
    own
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_comes_as_it_was_submitted_and_read_only() {
    let rig = Rig::start().await;
    rig.fetch_from(&rig.address, &rig.file).await.expect("it can be had");
    assert!(fs::read(rig.target()).expect("it is there") == content());
    assert_eq!(mode_of(&rig.target()), 0o400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_never_open_to_others_not_even_while_it_comes() {
    let rig = Rig::start().await;
    let cut = cutting(&rig.address, 100_000).await;
    rig.fetch_from(&cut, &rig.file).await.expect_err("it never gets far");
    assert_eq!(mode_of(&rig.target()), 0o600, "it is incomplete");
    fs::remove_file(rig.target()).expect("it is ours");
    let executable = FileDescription { kind: FileKind::Executable, ..rig.file.clone() };
    rig.fetch_from(&rig.address, &executable).await.expect("it can be had");
    assert_eq!(mode_of(&rig.target()), 0o500);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fetch_goes_on_where_its_connection_broke() {
    let rig = Rig::start().await;
    let cut = cutting(&rig.address, 1_000_000).await;
    rig.fetch_from(&cut, &rig.file).await.expect("four connections are enough");
    assert!(fs::read(rig.target()).expect("it is there") == content());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_breaks_again_and_again_is_given_up() {
    let rig = Rig::start().await;
    let cut = cutting(&rig.address, 100_000).await;
    let error = rig.fetch_from(&cut, &rig.file).await.expect_err("it never gets far");
    assert!(error.to_string().contains("closed the connection"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_changed_or_is_not_brought_is_told_apart() {
    let rig = Rig::start().await;
    let other = FileDescription { sha256: Sha256([7; 32]), ..rig.file.clone() };
    let error = rig.fetch_from(&rig.address, &other).await.expect_err("nobody brings it");
    assert_eq!(error.to_string(), "the driver has no such file");

    let path = rig.scratch.path().join("data");
    let mut changed = content();
    changed[LENGTH / 2] ^= 1;
    fs::write(&path, &changed).expect("it is ours");
    fs::remove_file(rig.target()).expect("the first attempt left it");
    let error = rig.fetch_from(&rig.address, &rig.file).await.expect_err("it is another file");
    assert_eq!(error.to_string(), "its content differs from what was submitted: it may have changed since");

    fs::write(&path, &changed[..1000]).expect("it is ours");
    fs::remove_file(rig.target()).expect("the second attempt left it");
    let error = rig.fetch_from(&rig.address, &rig.file).await.expect_err("it is shorter");
    assert_eq!(error.to_string(), "the file is shorter than when it was submitted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_replaced_by_another_of_its_name_does_not_matter() {
    let rig = Rig::start().await;
    let path = rig.scratch.path().join("data");
    fs::write(path.with_extension("new"), "something else").expect("a file");
    fs::rename(path.with_extension("new"), &path).expect("it is ours");
    rig.fetch_from(&rig.address, &rig.file).await.expect("the driver holds the old one");
    assert!(fs::read(rig.target()).expect("it is there") == content());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fetch_that_nobody_needs_any_more_stops() {
    let rig = Rig::start().await;
    // This address accepts no handshake.
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
    let address = Address::new("127.0.0.1", silent.local_addr().expect("it is bound").port());
    let (fetched, ()) = tokio::join!(rig.fetch_from(&address, &rig.file), async {
        let (_held, _) = silent.accept().await.expect("somebody dials");
        rig.stop.cancel();
    });
    assert!(matches!(fetched, Err(FetchError::Stopped)), "{fetched:?}");
}

/// Takes the only free place: requests one byte after the other, for a quarter of an hour.
async fn hold_the_only_place(rig: &Rig) {
    let hello = Introduction::new(Role::Worker, "slow");
    let dialled = Conversation::dial(&rig.address, &hello, Role::Driver).await;
    let mut slow = dialled.expect("the driver listens");
    for _ in 0..20 {
        let last = WorkerToDriver::RequestFile { sha256: rig.file.sha256, offset: rig.file.length - 1 };
        slow.send(&last).await.expect("the driver takes it");
        let answer = slow.receive::<DriverToWorker>(Duration::from_secs(10)).await.expect("it answers");
        assert!(matches!(answer, Some(DriverToWorker::FileChunk(bytes)) if bytes.len() == 1));
        sleep(Duration::from_secs(50)).await;
    }
}

#[tokio::test]
async fn whoever_waits_for_his_turn_is_told_and_keeps_his_patience() {
    let rig = Rig::serving(1).await;
    tokio::time::pause();
    let begun = Instant::now();
    let slow = hold_the_only_place(&rig);
    let mut fetcher =
        Fetcher::new(rig.address.clone(), Introduction::new(Role::Worker, "a worker"), rig.stop.clone());
    let target = rig.target();
    let patient = async {
        sleep(Duration::from_secs(1)).await;
        fetcher.fetch(&rig.file, &target).await.expect("its turn comes");
        begun.elapsed()
    };
    let ((), waited) = tokio::join!(slow, patient);
    assert!(waited > Duration::from_secs(1000), "{waited:?}");
    assert!(fs::read(rig.target()).expect("it is there") == content());
}
