//! The messages between executors and their drivers, over all connections of each executor: none is lost, none is
//! handled twice, and a broken connection is not the end of an executor.

use std::collections::BTreeMap;

use firesteel_engine::driver::{ExecutorLoss, Note};
use firesteel_engine::executor::Exit;
use firesteel_protocol::exchange::ACKNOWLEDGED_MESSAGES;
use firesteel_protocol::ids::{ExecutorId, ExecutorKey, PeerId};
use firesteel_protocol::messages::{DriverToExecutor, ExecutorToDriver};

use crate::cluster::processes::node::Body;
use crate::cluster::world::{DriverPhase, NodeIndex, World};

/// An independent record of what each executor and its driver said to each other.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    executors: BTreeMap<NodeIndex, Exchange>,
}

#[derive(Debug, Default)]
struct Exchange {
    to_driver: Account<ExecutorToDriver>,
    to_executor: Account<DriverToExecutor>,
    /// Whether the driver has accepted an executor that returns.
    is_retained: bool,
    /// Whether the executor has heard that it may not return.
    ends_with_connection: bool,
    /// When the driver and the executor noticed the end of their latest connection.
    driver_noticed: Option<u64>,
    executor_noticed: Option<u64>,
    /// Whether nothing answered at the driver's address since then.
    was_refused: bool,
    /// Whether the driver has heard that the executor ends.
    has_said_goodbye: bool,
}

/// The messages in one direction, without those that belong to one connection.
#[derive(Debug)]
struct Account<M> {
    said: Vec<M>,
    /// How many messages have arrived.
    heard: usize,
    /// The next message on the present connection.
    next: usize,
    /// How many messages the receiver has acknowledged.
    acknowledged: usize,
}

impl<M> Default for Account<M> {
    fn default() -> Self {
        Self { said: Vec::new(), heard: 0, next: 0, acknowledged: 0 }
    }
}

impl<M: Clone + PartialEq + std::fmt::Debug> Account<M> {
    /// A connection begins, on which the receiver says how much it has received.
    fn begin(&mut self, received: u64) -> Result<(), String> {
        if received != self.heard as u64 {
            return Err(format!(
                "a peer says that it has received {received} messages, and {} arrived",
                self.heard
            ));
        }
        (self.next, self.acknowledged) = (self.heard, self.heard);
        Ok(())
    }

    /// A message is sent. Returns whether it is sent for the first time.
    fn say(&mut self, message: &M) -> Result<bool, String> {
        let due = self.said.get(self.next);
        if due.is_some_and(|due| due != message) {
            return Err(format!("{message:?} is sent where {due:?} is due again"));
        }
        let is_first = due.is_none();
        self.next += 1;
        if is_first {
            self.said.push(message.clone());
        }
        Ok(is_first)
    }

    fn hear(&mut self) -> Result<(), String> {
        let open = self.heard.saturating_sub(self.acknowledged);
        self.heard += 1;
        match open as u64 > ACKNOWLEDGED_MESSAGES {
            true => Err(format!("{open} messages have arrived, and are not acknowledged")),
            false => Ok(()),
        }
    }
}

impl World {
    /// A driver sends a message to an executor. Returns whether it is the first time.
    pub(crate) fn hold_driver_message(
        &mut self,
        driver: NodeIndex,
        peer: PeerId,
        message: &DriverToExecutor,
    ) -> bool {
        let Some(executor) = self.other_end(driver, peer) else { return true };
        if !matches!(self.node(executor).body, Body::Executor(_)) {
            return true;
        }
        let exchange = self.exchanges.executors.entry(executor).or_default();
        let result = match message {
            DriverToExecutor::RegisteredExecutor { received, rules } => {
                exchange.driver_noticed = None;
                exchange.is_retained = rules.away_millis > 0;
                exchange.to_executor.next = exchange.to_executor.heard;
                exchange.to_driver.begin(*received).map(|()| true)
            }
            DriverToExecutor::Heartbeat { received } => {
                exchange.to_driver.acknowledged = usize::try_from(*received).unwrap_or(0);
                Ok(true)
            }
            message if message.counted().is_some() => exchange.to_executor.say(message),
            _ => Ok(true),
        };
        let is_first = result.clone().unwrap_or(true);
        self.hold(result.map(|_| ()));
        is_first
    }

    /// An executor sends a message to its driver. Returns whether it is the first time.
    pub(crate) fn hold_executor_message(&mut self, executor: NodeIndex, message: &ExecutorToDriver) -> bool {
        let exchange = self.exchanges.executors.entry(executor).or_default();
        let result = match message {
            ExecutorToDriver::RegisterExecutor { received, .. } => {
                exchange.to_driver.next = exchange.to_driver.heard;
                exchange.was_refused = false;
                match exchange.ends_with_connection {
                    true => Err("an executor returns to a driver that waits for none".to_owned()),
                    false => exchange.to_executor.begin(received.unwrap_or(0)).map(|()| true),
                }
            }
            ExecutorToDriver::Heartbeat { .. } => Ok(true),
            message => exchange.to_driver.say(message),
        };
        let is_first = result.clone().unwrap_or(true);
        self.hold(result.map(|_| ()));
        is_first
    }

    /// A message of an executor arrives at its driver.
    pub(crate) fn hear_executor_message(&mut self, executor: NodeIndex, message: &ExecutorToDriver) {
        let Some(exchange) = self.exchanges.executors.get_mut(&executor) else { return };
        let result = match message {
            ExecutorToDriver::Heartbeat { ends: true, .. } => {
                exchange.has_said_goodbye = true;
                Ok(())
            }
            message if message.counted().is_some() && exchange.is_retained => exchange.to_driver.hear(),
            _ => Ok(()),
        };
        self.hold(result);
    }

    /// A message of a driver arrives at an executor.
    pub(crate) fn hear_driver_message(&mut self, executor: NodeIndex, message: &DriverToExecutor) {
        let Some(exchange) = self.exchanges.executors.get_mut(&executor) else { return };
        if let DriverToExecutor::RegisteredExecutor { rules, .. } = message {
            exchange.executor_noticed = None;
            exchange.ends_with_connection = rules.away_millis == 0;
        }
        if message.counted().is_some() {
            exchange.to_executor.heard += 1;
        }
    }

    /// A node learns that one of its connections has ended.
    pub(crate) fn see_hang_up(&mut self, node: NodeIndex, other: NodeIndex) {
        let now = self.now;
        match &self.node(node).body {
            Body::Executor(_) => {
                let exchange = self.exchanges.executors.entry(node).or_default();
                exchange.executor_noticed.get_or_insert(now);
            }
            Body::Driver(_) => {
                // An executor that is connected again has another connection.
                let is_back = !self.open_links(node, other).is_empty();
                if let (false, Some(exchange)) = (is_back, self.exchanges.executors.get_mut(&other)) {
                    exchange.driver_noticed = Some(now);
                }
            }
            _ => {}
        }
    }

    /// Nothing listens where an executor dials its driver.
    pub(crate) fn see_refusal(&mut self, executor: NodeIndex) {
        self.exchanges.executors.entry(executor).or_default().was_refused = true;
    }

    /// Checks that a driver waits for a living executor before it gives it up.
    pub(crate) fn check_driver_note(&mut self, driver: NodeIndex, note: &Note) {
        let Note::ExecutorLost { executor, loss: ExecutorLoss::Disconnected, .. } = note else { return };
        let Some(node) = self.executor_of(driver, *executor) else { return };
        let Some(exchange) = self.exchanges.executors.get(&node) else { return };
        let Body::Driver(body) = &self.node(driver).body else { return };
        let patience = self.scenario.apps[body.app].away_timeout;
        let waited = exchange.driver_noticed.map_or(0, |noticed| self.now - noticed);
        if !exchange.has_said_goodbye && u128::from(waited) < patience.as_millis() {
            self.violate(format!(
                "executor {executor} lives, and is lost {waited} ms after its connection broke"
            ));
        }
    }

    /// Checks that an executor gives its driver up only after it waited, or if the driver is gone.
    pub(crate) fn check_executor_exit(&mut self, node: NodeIndex, app: usize, exit: &Exit) {
        match exit {
            Exit::DriverLost => {}
            Exit::DriverSilent { .. } => return self.check_executor_hangs_up(node),
            _ => return,
        }
        let Some(exchange) = self.exchanges.executors.get(&node) else { return };
        let waited = exchange.executor_noticed.map_or(0, |noticed| self.now - noticed);
        let lives = matches!(self.drivers[app], DriverPhase::Lives(_));
        let patience = self.scenario.apps[app].away_timeout;
        if lives && !exchange.was_refused && u128::from(waited) < patience.as_millis() {
            let name = self.node(node).body.name();
            self.violate(format!("{name} gives a living driver up {waited} ms after their connection broke"));
        }
    }

    /// An executor hangs up, or ends, because its driver is silent.
    pub(crate) fn check_executor_hangs_up(&mut self, node: NodeIndex) {
        let now = self.now;
        self.exchanges.executors.entry(node).or_default().executor_noticed.get_or_insert(now);
        if self.is_settled() {
            let name = self.node(node).body.name();
            self.violate(format!("{name} gives its driver up though nothing goes wrong any more"));
        }
    }

    fn other_end(&self, node: NodeIndex, peer: PeerId) -> Option<NodeIndex> {
        let link = &self.links[self.link_of(node, peer)?.0];
        Some(link.end(link.side_of(node).other()).node)
    }

    /// The living process of an executor of this driver's application.
    fn executor_of(&self, driver: NodeIndex, executor: ExecutorId) -> Option<NodeIndex> {
        let Body::Driver(body) = &self.node(driver).body else { return None };
        let key = ExecutorKey { app: body.machine.app()?.clone(), executor };
        self.processes.get(&key).copied()
    }
}
