//! Hostile connections: what they cost those who work, and what is left of them.
//!
//! They come from a process of its own with the lowest priority, as those of other machines would: what they take is
//! what the Master spends on them.

use std::io::{Read, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use firesteel_host::net::{Keys, UserName};
use firesteel_protocol::messages::DriverToMaster;
use firesteel_protocol::version::Version;
use firesteel_protocol::wire::{self, Role};
use firesteel_testkit::peers::link::{Link, append};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{sleep, timeout};

use crate::mocks::{self, Driver};
use crate::probe::{Delays, Probe};
use crate::scenarios::{Size, Testbed};
use crate::server::{Door, secret};
use crate::table::Sheet;

/// The user who was granted a secret, and floods the Master with applications.
pub(crate) const HOSTILE: &str = "mallory";

pub(crate) const LIMITS_OF_USERS: [&str; 2] =
    ["firesteel.user.maxApplications=20", "firesteel.user.maxSubmissions=5"];

/// How long the Master may take to close what hostile peers have left.
const UNTIL_CLOSED: Duration = Duration::from_secs(60);

pub(crate) async fn run(testbed: &Testbed, size: Size, sheet: &mut Sheet) {
    let server = &testbed.server;
    let workers = size.workers.min(1_000);
    let _workers = testbed.workers(workers, 16).await;
    let (_drivers, begin) = testbed.drivers(1, i64::try_from(workers * 8).expect("it is small")).await;
    begin.notify_waiters();
    testbed.running(workers * 8).await;

    let (memory, files) = (server.memory(), server.open_files());
    let before = measured(testbed, size.span).await;
    let attack = Attack::start(&server.door, size.hostile);
    sleep(size.span / 6).await;
    let during = measured(testbed, size.span).await;
    let (most, open) = (server.memory(), server.open_files());
    let attempts = attack.end();

    let ended = Instant::now();
    while server.open_files() > files && ended.elapsed() < UNTIL_CLOSED {
        sleep(Duration::from_millis(50)).await;
    }
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let ratio = |figure: fn(&Measured) -> Duration| micros(figure(&during)) / micros(figure(&before));
    sheet.put("hostile: an application of 16 until it runs, alone, us", micros(before.applications.median));
    sheet.put("hostile: it beside them, of alone", ratio(|it| it.applications.median));
    sheet.put("hostile: 99 of 100 of these, of alone", ratio(|it| it.applications.most));
    sheet.put("hostile: a small question, alone, us", micros(before.questions.median));
    sheet.put("hostile: it beside them, us", micros(during.questions.median));
    sheet.put("hostile: 99 of 100 of these, us", micros(during.questions.most));
    sheet.put("hostile: CPU of the Master, of one core, alone", before.cores);
    sheet.put("hostile: the same beside them", during.cores);
    sheet.put(
        "hostile: connections that they open a second",
        attempts as f64 / (size.span * 7 / 6).as_secs_f64(),
    );
    sheet.put("hostile: files of the Master open for them", open.saturating_sub(files) as f64);
    sheet.put("hostile: the same after their end", server.open_files().saturating_sub(files) as f64);
    sheet.put("hostile: memory, MB", most.saturating_sub(memory) as f64 / 1e6);
    sheet.put("hostile: memory after their end, MB", server.memory().saturating_sub(memory) as f64 / 1e6);
    sheet.put("hostile: Workers lost", testbed.seen.lost.get() as f64);
}

struct Measured {
    /// From the registration of an application of 16 until all of its executors run.
    applications: Delays,
    questions: Delays,
    /// The processor time of the Master, as a part of one core.
    cores: f64,
}

/// Measures applications that come one after the other for this time, and small questions.
async fn measured(testbed: &Testbed, span: Duration) -> Measured {
    let (before, begun) = (testbed.server.used(), Instant::now());
    let probe = Probe::start(&testbed.server.door);
    let mut delays = Vec::new();
    while begun.elapsed() < span {
        let (drivers, start) = testbed.drivers(1, 16).await;
        let (running, gone) = (testbed.seen.running.get(), testbed.seen.gone.get());
        let registered = Instant::now();
        start.notify_waiters();
        testbed.running(running + 16).await;
        delays.push(registered.elapsed());
        drivers.iter().for_each(Driver::end);
        testbed.gone(gone + 1).await;
        sleep(Duration::from_millis(10)).await;
    }
    let questions =
        tokio::task::spawn_blocking(|| probe.finish()).await.expect("the server answers the probe");
    let used = testbed.server.used().cpu - before.cpu;
    let cores = used.as_secs_f64() / begun.elapsed().as_secs_f64();
    Measured { applications: Delays::of(delays), questions, cores }
}

/// A process with hostile connections.
struct Attack {
    process: Child,
    until: Option<ChildStdin>,
}

impl Attack {
    fn start(door: &Door, connections: usize) -> Self {
        let own = std::env::current_exe().expect("this program has a path");
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).arg(own).args(["attack", &door.address, &connections.to_string()]);
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("there is nice");
        let until = process.stdin.take();
        Self { process, until }
    }

    /// Ends the attack. Returns how many connections were opened.
    fn end(mut self) -> u64 {
        drop(self.until.take());
        let mut count = String::new();
        let mut stdout = self.process.stdout.take().expect("it is a pipe");
        stdout.read_to_string(&mut count).expect("it tells the number");
        self.process.wait().expect("it is ours");
        count.trim().parse().expect("it is a number")
    }
}

/// What one hostile connection does. It connects again as soon as it is closed.
#[derive(Clone, Copy)]
enum Way {
    /// Says nothing.
    Silent,
    /// Sends a byte from time to time.
    Slow,
    Garbage,
    /// Names a secret, and then says nothing.
    HalfHandshake,
    /// Shows a secret that is wrong.
    WrongSecret,
    /// Has a user's secret, and registers applications without pause.
    Registrations,
    /// The same, on a new connection for each.
    Returning,
}

impl Way {
    /// A hundredth of the connections register applications.
    fn of(number: usize) -> Self {
        match number % 200 {
            0 => Self::Registrations,
            1 => Self::Returning,
            other => {
                [Self::Silent, Self::Slow, Self::Garbage, Self::HalfHandshake, Self::WrongSecret][other % 5]
            }
        }
    }

    async fn follow(self, door: &Door, noise: &[u8]) {
        let encrypted = wire::encrypted_preamble(Version::CURRENT);
        if let Self::Registrations = self {
            let Ok(mut link) = door.try_dial(Role::Driver, HOSTILE).await else { return };
            return register(&mut link).await;
        }
        if let Self::Returning = self {
            let Ok(mut link) = door.try_dial(Role::Driver, HOSTILE).await else { return };
            link.outgoing
                .push(&DriverToMaster::RegisterApplication(Box::new(mocks::description(HOSTILE, 16))));
            link.outgoing.flush().await;
            link.incoming.next().await;
            return;
        }
        let Ok(mut stream) = TcpStream::connect(&door.address).await else { return };
        let sent = match self {
            Self::Silent | Self::Registrations | Self::Returning => Ok(()),
            Self::Slow => slowly(&mut stream, &encrypted).await,
            Self::Garbage => stream.write_all(noise).await,
            Self::HalfHandshake => stream.write_all(&[&encrypted, &noise[..8]].concat()).await,
            Self::WrongSecret => stream.write_all(&[&encrypted, &noise[..56]].concat()).await,
        };
        if sent.is_ok() {
            // The end of the connection.
            let _ = tokio::io::copy(&mut (&mut stream).take(1 << 20), &mut tokio::io::sink()).await;
        }
    }
}

async fn slowly(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    for byte in bytes {
        stream.write_u8(*byte).await?;
        sleep(Duration::from_millis(300)).await;
    }
    Ok(())
}

async fn register(link: &mut Link) {
    let mut many = BytesMut::new();
    for _ in 0..100 {
        append(&mut many, &DriverToMaster::RegisterApplication(Box::new(mocks::description(HOSTILE, 16))));
    }
    while link.outgoing.write(many.clone()).await {
        while link.incoming.next_now().is_some() {}
    }
}

/// Attacks the server at the first of these words with as many connections as the second one says, until the end of the
/// standard input. Prints how many connections were opened.
pub(crate) fn attack(mut words: impl Iterator<Item = String>) {
    let address = words.next().expect("an address");
    let connections: usize = words.next().and_then(|word| word.parse().ok()).expect("a number");
    let mallory = UserName::new(HOSTILE).expect("it is a name");
    let door = Rc::new(Door::of(address, Keys::default().with_user(&secret(), &mallory)));
    let opened = Rc::new(std::cell::Cell::new(0_u64));
    let runtime = runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    LocalSet::new().block_on(&runtime, async {
        for number in 0..connections {
            let (door, opened) = (Rc::clone(&door), Rc::clone(&opened));
            spawn_local(async move {
                // Bytes without a meaning, which differ from connection to connection.
                let noise: Vec<u8> =
                    (0..4096).map(|at| ((number * 31 + at * 7919) % 251) as u8 | 0x80).collect();
                loop {
                    opened.set(opened.get() + 1);
                    Way::of(number).follow(&door, &noise).await;
                }
            });
        }
        let end = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
        let _ = timeout(mocks::PATIENCE, end).await;
    });
    println!("{}", opened.get());
    std::io::stdout().flush().expect("the parent reads");
    std::process::exit(0);
}
