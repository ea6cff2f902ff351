//! Plays a page: one connection of Spark's peers. Incoming frames and the Master's messages are commands; the effects
//! are printed.

use std::net::Ipv4Addr;

use bytes::{Bytes, BytesMut};
use firesteel_master::{Inbound, Outbound};
use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::Machine;
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::{AppId, DriverId, ExecutorId, ExecutorKey, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, ApplicationEnd, ExecutorLaunch, ExecutorWork, MasterToClient, MasterToDriver,
    MasterToWorker, Resumption, Shared, SubmitDriverAnswer, WorkerDescription, WorkerToMaster,
};
use firesteel_spark::OrderForms;
use firesteel_spark::connection::{Called, Channel, Connection, Effect, Event, PeerEnd, PeerNumber};
use firesteel_spark::envelope::Envelope;
use firesteel_spark::frame::Frame;
use firesteel_spark::java::{self, Bounds, Node};

use super::words::words;
use crate::fixtures;
use crate::scripts::command::{Words, millis, number};
use crate::scripts::{BEGINNING, Timed as _, timed};

/// A connection under test, with the data of its peers.
pub struct Stage {
    connection: Connection,
    now: Timestamp,
    forms: OrderForms,
    /// The last question to a peer: its id and its object.
    question: Option<(i64, Bytes)>,
    /// The last application and the last Worker that registered.
    application: Option<Box<ApplicationDescription>>,
    worker: Option<Box<WorkerDescription>>,
}

impl Default for Stage {
    fn default() -> Self {
        Self {
            connection: Connection::default(),
            now: BEGINNING,
            forms: OrderForms::default(),
            question: None,
            application: None,
            worker: None,
        }
    }
}

timed!(Stage, connection: Connection, Event::Deadline);

impl Stage {
    /// Plays one command. Returns the connection's effects, one per line.
    pub fn play(&mut self, line: &str) -> Vec<String> {
        let (verb, arguments) = Words::of(line);
        match verb {
            "accepted" => self.open(Connection::default()),
            "called" => self.call(&arguments),
            "hear" => {
                let frame = recorded(arguments.name(0), arguments.name(1), index(arguments.name(2)));
                self.apply(Event::Received(frame))
            }
            "answers" => {
                let (id, _) = self.question.take().expect("somebody was asked");
                let body = bytes(&format!("failures/{}", arguments.name(0))).into();
                self.apply(Event::Received(Frame::Response { id, body }))
            }
            "tells" => {
                let (id, object) = self.question.take().expect("somebody was asked");
                let reason = told(&object, arguments.name(0));
                self.apply(Event::Received(Frame::Failure { id, reason }))
            }
            "nobody" => self.apply(Event::FoundNobody { peer: PeerNumber(index(arguments.name(0))) }),
            "dismissed" => {
                let dismissal = match arguments.name(1) {
                    "in-order" => PeerEnd::InOrder,
                    "at-once" => PeerEnd::AtOnce,
                    other => panic!("nobody is dismissed {other}"),
                };
                self.apply(Event::Dismissed { channel: channel(&arguments), dismissal })
            }
            "master-ends" => self.apply(Event::MasterEnds),
            "master-gone" => self.apply(Event::MasterGone),
            "ended" => self.apply(Event::Closed { error: None }),
            "broken" => self.apply(Event::Closed { error: Some(arguments.names_from(0).join(" ")) }),
            "advance" => self.advance(millis(arguments.name(0))),
            _ => self.told(verb, &arguments),
        }
    }

    fn open(&mut self, connection: Connection) -> Vec<String> {
        self.connection = connection;
        self.apply(Event::Opened { remote: Ipv4Addr::LOCALHOST.into() })
    }

    /// `called driver app=app-1`, `called worker`: a restarted Master calls the peer that registered last.
    fn call(&mut self, arguments: &Words<'_>) -> Vec<String> {
        let called = match arguments.name(0) {
            "driver" => Called::Driver(Resumption {
                app: AppId::new(arguments.setting("app").expect("an application")),
                executors: Vec::new(),
                description: self.application.clone().expect("one has registered"),
            }),
            "worker" => Called::Worker(self.worker.clone().expect("one has registered")),
            other => panic!("no {other} is called"),
        };
        let (connection, address) = Connection::calling(called, None).expect("it can be called");
        let mut lines = vec![format!("the shell dials {address}")];
        lines.extend(self.open(connection));
        lines
    }

    /// The Master sends a message to the peer on a channel.
    fn told(&mut self, verb: &str, arguments: &Words<'_>) -> Vec<String> {
        let message = match verb {
            "registered" | "added" | "updated" | "requested" | "killed" | "removed" => {
                Outbound::Driver(driver_told(verb, arguments))
            }
            "employed" | "kill" | "finished" => Outbound::Worker(worker_told(verb, arguments)),
            "launch" => Outbound::Worker(MasterToWorker::LaunchExecutor(self.launch(arguments))),
            "submitted" => {
                let driver = DriverId::new(arguments.name(1));
                Outbound::Client(MasterToClient::SubmitDriverResponse(SubmitDriverAnswer::Submitted {
                    driver,
                }))
            }
            "unknown" => Outbound::Client(MasterToClient::DriverStatusResponse(None)),
            other => panic!("no command is called {other:?}"),
        };
        self.apply(Event::Outgoing { channel: channel(arguments), message })
    }

    /// An executor of the application that registered last.
    fn launch(&self, arguments: &Words<'_>) -> ExecutorLaunch {
        let application = self.application.clone().expect("one has registered");
        ExecutorLaunch {
            executor: executor(arguments.name(1)),
            profile: ProfileId::DEFAULT,
            cores: Cores(1),
            memory: MiB(512),
            resources: Resources::default(),
            work: Shared::new(ExecutorWork {
                app_name: application.name.clone(),
                command: application.command.clone(),
                directory: application.directory.clone(),
                files: None,
            }),
            mark: None,
        }
    }

    fn apply(&mut self, event: Event) -> Vec<String> {
        let effects = self.connection.apply(self.now, event);
        if let Err(violation) = self.connection.check() {
            panic!("{violation}");
        }
        let mut lines = Vec::new();
        for effect in effects {
            self.see(&effect);
            lines.push(words(&effect));
            if let Effect::WriteOrder(request) = effect {
                let written = request.write(&mut self.forms);
                lines.extend(self.apply(written));
            }
        }
        lines
    }

    /// Stores the last question, and the last registrations.
    fn see(&mut self, effect: &Effect) {
        match effect {
            Effect::Send(Frame::Request { id, body }) => {
                let mut object = body.clone();
                Envelope::decode(&mut object).expect("a question has an envelope");
                self.question = Some((*id, object));
            }
            Effect::Register { description, .. } => self.application = Some(description.clone()),
            Effect::Say {
                message: Inbound::Worker(WorkerToMaster::RegisterWorker { worker, .. }), ..
            } => self.worker = Some(worker.clone()),
            _ => {}
        }
    }
}

fn driver_told(verb: &str, arguments: &Words<'_>) -> MasterToDriver {
    match verb {
        "registered" => MasterToDriver::RegisteredApplication {
            app: AppId::new(arguments.setting("app").expect("an application")),
            master_url: "spark://master:7077".to_owned(),
            max_cores: Cores::UNLIMITED,
            first_executor: ExecutorId(0),
            mark: None,
        },
        "added" => MasterToDriver::ExecutorAdded {
            executor: ExecutorId(small(arguments.name(1))),
            profile: ProfileId::DEFAULT,
            worker: WorkerId::new("worker-1"),
            host: "node-1".to_owned(),
            port: 17_079,
            cores: Cores(1),
            memory: MiB(512),
        },
        "updated" => MasterToDriver::ExecutorUpdated {
            executor: ExecutorId(small(arguments.name(1))),
            state: arguments.state(2),
            lost_host: None,
        },
        "requested" => MasterToDriver::ExecutorsRequested { accepted: arguments.name(1) == "yes" },
        "killed" => MasterToDriver::ExecutorsKilled { accepted: arguments.name(1) == "yes" },
        _ => MasterToDriver::ApplicationRemoved(ApplicationEnd::Killed { by: "ann@host".to_owned() }),
    }
}

fn worker_told(verb: &str, arguments: &Words<'_>) -> MasterToWorker {
    match verb {
        "employed" => MasterToWorker::RegisteredWorker {
            master_url: "spark://master:7077".to_owned(),
            heartbeat_millis: 15_000,
            duplicate: false,
            web_address: None,
            mark: None,
        },
        "kill" => MasterToWorker::KillExecutor { executor: executor(arguments.name(1)) },
        _ => MasterToWorker::ApplicationFinished { app: AppId::new(arguments.name(1)) },
    }
}

#[expect(clippy::disallowed_methods, reason = "tests read fixtures")]
fn bytes(name: &str) -> Vec<u8> {
    let path = fixtures::path(&format!("spark/{name}.bin"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A frame of a recorded connection.
fn recorded(release: &str, name: &str, number: usize) -> Frame {
    let mut left = BytesMut::from(&bytes(&format!("spark-{release}/{name}"))[..]);
    let mut frames = std::iter::from_fn(|| Frame::decode(&mut left, 1 << 20).expect("a recording"));
    frames.nth(number).unwrap_or_else(|| panic!("{name} of {release} has no frame {number}"))
}

/// A JVM's failure, which reveals the serial version id of the class in question.
fn told(question: &Bytes, serial: &str) -> String {
    let (graph, value) = java::read(question, Bounds::default()).expect("a question is an object");
    let class = Node { graph: &graph, value }.class_name().expect("it has a class").to_owned();
    format!(
        "java.io.InvalidClassException: {class}; local class incompatible: stream classdesc \
         serialVersionUID = 0, local class serialVersionUID = {serial}\n\tat java.base"
    )
}

fn channel(arguments: &Words<'_>) -> Channel {
    Channel(u64::from(small(arguments.name(0))))
}

fn small(text: &str) -> u32 {
    u32::try_from(number(text)).expect("it is small")
}

fn index(text: &str) -> usize {
    usize::try_from(number(text)).expect("it is small")
}

/// Parses `app-1/0`.
fn executor(text: &str) -> ExecutorKey {
    let (app, executor) = text.split_once('/').expect("an application and a number");
    ExecutorKey { app: AppId::new(app), executor: ExecutorId(small(executor)) }
}
