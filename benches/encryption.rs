//! What encryption costs: a connection from its opening to its end, and the bytes that it carries. The baseline is the
//! same in the clear, in alternating rounds. All figures are processor time of both sides together.
//!
//! `-- --test` runs each once with few connections and bytes, and measures nothing.

use std::time::Duration;

use firesteel_host::clock::Clock;
use firesteel_host::net::{
    AcceptedRole, Conversation, Introduction, Keyring, Keys, Listener, Purpose, QueueLimits,
};
use firesteel_host::owner::Context;
use firesteel_protocol::address::Address;
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::{Message, Role};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use tokio::sync::mpsc;

const ROUNDS: usize = 5;

const CONNECTIONS: u32 = 2_000;

/// The connections whose memory is measured, all open at a time.
const OPEN: u32 = 400;

const PIECE: usize = 64 << 10;

const PIECES: u32 = 4_000;

#[derive(serde::Serialize, serde::Deserialize)]
struct Piece(bytes::Bytes);

impl Message for Piece {}

fn keyring() -> Keyring {
    Keyring::new(Keys::default().with(Purpose::Logs, &Secret::of_bytes([7; 32])))
}

/// A Worker's port, and the conversations of clients that connect to it.
async fn port(keyring: Option<Keyring>) -> (Address, Context<()>, mpsc::Receiver<Conversation>) {
    let listener = Listener::bind(&Address::new("127.0.0.1", 0)).await.expect("there is a free port");
    let address = Address::new("127.0.0.1", listener.local().port());
    let (sender, conversations) = mpsc::channel(1);
    let ours = Introduction::new(Role::Worker, "a Worker").with_keys(keyring);
    let context = Context::introduced(ours, QueueLimits::default(), Clock::start());
    let never = AcceptedRole { role: Role::Driver, decode: |_, _| Ok(()) };
    context.peers.serve(listener.also_serve(Role::Client, sender), vec![never]);
    (address, context, conversations)
}

async fn connect(address: &Address, keyring: Option<Keyring>) -> Conversation {
    let ours = Introduction::new(Role::Client, "a client").with_keys(keyring);
    Conversation::dial(address, &ours, Role::Worker).await.expect("it is admitted")
}

/// The processor time of this process.
fn used() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("the kernel counts it");
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(u64::try_from(micros).expect("it is not negative"))
}

/// The resident memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").expect("the kernel counts it");
    let pages: u64 = status.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number");
    pages * 4096
}

/// The time of opening and closing one connection.
async fn opening(keyring: Option<Keyring>, connections: u32) -> Duration {
    let (address, _context, mut conversations) = port(keyring.clone()).await;
    let before = used();
    for _ in 0..connections {
        let (here, there) = tokio::join!(connect(&address, keyring.clone()), conversations.recv());
        drop((here, there.expect("it is served")));
    }
    (used() - before) / connections
}

/// The memory of both ends of one open connection, in bytes: in the clear, and encrypted. All connections stay open
/// until the end, so that none gets memory that another one has given back.
async fn memory(connections: u32) -> [u64; 2] {
    let (mut figures, mut ports, mut open) = ([0; 3], Vec::new(), Vec::new());
    // The first ones also take what the process takes once.
    for (figure, keyring) in figures.iter_mut().zip([None, None, Some(keyring())]) {
        let (address, context, mut conversations) = port(keyring.clone()).await;
        let before = resident();
        for _ in 0..connections {
            open.push(tokio::join!(connect(&address, keyring.clone()), conversations.recv()));
        }
        *figure = resident().saturating_sub(before) / u64::from(connections);
        ports.push(context);
    }
    let [_, clear, encrypted] = figures;
    [clear, encrypted]
}

/// The time of sending and receiving one MiB.
async fn carrying(keyring: Option<Keyring>, pieces: u32) -> Duration {
    let (address, _context, mut conversations) = port(keyring.clone()).await;
    let (mut here, there) = tokio::join!(connect(&address, keyring), conversations.recv());
    let mut there = there.expect("it is served");
    let before = used();
    let sending = tokio::spawn(async move {
        let piece = Piece(vec![7; PIECE].into());
        for _ in 0..pieces {
            here.send(&piece).await.expect("it is read");
        }
        here
    });
    for _ in 0..pieces {
        let piece: Piece =
            there.receive(Duration::from_secs(30)).await.expect("it comes").expect("it is there");
        assert_eq!(piece.0.len(), PIECE);
    }
    sending.await.expect("it does not panic");
    let mib = pieces * u32::try_from(PIECE >> 10).expect("it is short") / 1024;
    (used() - before) / mib.max(1)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    firesteel_host::daemon::raise_open_files();
    let is_test = std::env::args().any(|argument| argument == "--test");
    let (rounds, connections, open, pieces) =
        if is_test { (1, 10, 10, 16) } else { (ROUNDS, CONNECTIONS, OPEN, PIECES) };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("there are threads");
    let [clear_memory, encrypted_memory] = runtime.block_on(memory(open));
    let mut figures = [(); 4].map(|()| Vec::new());
    for _ in 0..rounds {
        for (at, keyring) in [None, Some(keyring())].into_iter().enumerate() {
            let micros = |time: Duration| time.as_secs_f64() * 1e6;
            figures[at].push(micros(runtime.block_on(opening(keyring.clone(), connections))));
            figures[2 + at].push(micros(runtime.block_on(carrying(keyring, pieces))));
        }
    }
    if is_test {
        return;
    }
    let [clear, encrypted, clear_mib, encrypted_mib] = figures.map(median);
    println!("median of {rounds} rounds                  in the clear  encrypted");
    println!("a connection opened and closed, us  {clear:12.1}  {encrypted:9.1}  {:.2} x", encrypted / clear);
    println!(
        "a MiB sent and received, us         {clear_mib:12.1}  {encrypted_mib:9.1}  {:.2} x",
        encrypted_mib / clear_mib
    );
    println!("both ends of an open connection, B  {clear_memory:12}  {encrypted_memory:9}");
}
