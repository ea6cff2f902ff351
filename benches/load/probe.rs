//! A probe that continuously asks small questions.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use firesteel_host::net::frame::HEADER;
use firesteel_protocol::ids::ExecutorId;
use firesteel_protocol::messages::ClientToMaster;
use firesteel_protocol::wire::{PREAMBLE, Role};
use firesteel_testkit::peers::link::{append, opening};

const PERIOD: Duration = Duration::from_millis(5);

/// The time limit of an answer.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Probe {
    stop: Sender<()>,
    asking: JoinHandle<io::Result<()>>,
    hearing: JoinHandle<Vec<Duration>>,
}

/// The times of answers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delays {
    /// The 99th percentile.
    pub(crate) most: Duration,
    pub(crate) longest: Duration,
}

impl Probe {
    pub(crate) fn start(address: &str) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(&opening(Role::Client, "probe"))?;
        stream.read_exact(&mut [0; PREAMBLE.len()])?;
        skip_frame(&mut stream)?;
        let (stop, stopped) = channel();
        let (due, dues) = channel();
        let writer = stream.try_clone()?;
        let asking = thread::spawn(move || ask(writer, &stopped, &due));
        let hearing = thread::spawn(move || hear(stream, &dues));
        Ok(Self { stop, asking, hearing })
    }

    /// Stops asking, and waits for the missing answers.
    pub(crate) fn finish(self) -> Delays {
        let Self { stop, asking, hearing } = self;
        drop(stop);
        asking.join().expect("the probe does not panic").expect("the server goes on reading");
        let mut delays = hearing.join().expect("the probe does not panic");
        delays.sort_unstable();
        let at = |hundredth: usize| {
            delays.get((delays.len() * hundredth).div_ceil(100).saturating_sub(1)).copied()
        };
        Delays { most: at(99).unwrap_or_default(), longest: at(100).unwrap_or_default() }
    }
}

fn ask(mut stream: TcpStream, stopped: &Receiver<()>, due: &Sender<Instant>) -> io::Result<()> {
    let mut question = BytesMut::new();
    let asked = ClientToMaster::RequestApplication { app: "none".to_owned(), executors_from: ExecutorId(0) };
    append(&mut question, &asked);
    let mut next = Instant::now();
    while stopped.recv_timeout(next.saturating_duration_since(Instant::now()))
        == Err(RecvTimeoutError::Timeout)
    {
        let _ = due.send(next);
        stream.write_all(&question)?;
        next += PERIOD;
    }
    Ok(())
}

fn hear(mut stream: TcpStream, dues: &Receiver<Instant>) -> Vec<Duration> {
    let mut delays = Vec::new();
    for due in dues {
        if skip_frame(&mut stream).is_err() {
            break;
        }
        delays.push(due.elapsed());
    }
    let _ = stream.shutdown(Shutdown::Both);
    delays
}

fn skip_frame(stream: &mut TcpStream) -> io::Result<()> {
    let mut header = [0; HEADER];
    stream.read_exact(&mut header)?;
    let [a, b, c, d, ..] = header;
    let mut body = vec![0; usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX)];
    stream.read_exact(&mut body)
}
