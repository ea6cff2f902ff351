//! The laws for everything that an attempt does.

use firesteel_application_master::allocator::AllocatorView;
use firesteel_application_master::{
    Effect, Event, Exit, FinalStatus, Inbound, Launch, Mode, Note, Outbound, Staging,
};
use firesteel_protocol::ids::{ExecutorId, PeerId};
use firesteel_protocol::messages::{
    DriverToMaster, ExecutorState, LossReason, MasterToClient, MasterToDriver, StateRow,
};
use firesteel_protocol::process::ExitStatus;

use super::books::{Books, Fate, Manager, Program, Row, are_sound};
use super::driver::Driver;
use super::plan::node_address;

pub(super) type Verdict = Result<(), String>;

impl Books {
    pub(super) fn judge(
        &mut self,
        now: u64,
        event: &Event,
        effects: &[Effect],
        driver: &Driver,
        view: &AllocatorView,
    ) -> Verdict {
        let attempt = self.config.attempt;
        if self.exit.is_some() && !effects.is_empty() {
            return Err(format!("attempt {attempt} has ended, and does {:?}", effects[0]));
        }
        for (index, effect) in effects.iter().enumerate() {
            match effect {
                Effect::Register => self.judge_register()?,
                Effect::Allocate(_) if self.call_is_open => {
                    return Err("the manager is called while a call is open".to_owned());
                }
                Effect::Allocate(_) if self.manager != Manager::Known || self.finishing.is_some() => {
                    return Err(format!("the manager is called by an attempt that is {:?}", self.manager));
                }
                Effect::Allocate(_) => self.call_is_open = true,
                Effect::Launch(launch) => self.judge_launch(launch, effects, driver)?,
                Effect::StartProgram => self.judge_program_start()?,
                Effect::EndProgram => match self.program {
                    Program::Running => self.program = Program::Ending,
                    program => return Err(format!("a program is ended that is {program:?}")),
                },
                Effect::Send { peer, message: Outbound::Driver(message) } => {
                    self.judge_message(event, *peer, message)?;
                }
                Effect::Send { message: Outbound::Client(message), .. } => self.judge_answer(message)?,
                Effect::Unregister { status, .. } => self.judge_unregister(*status)?,
                Effect::Exit(_) if index + 1 < effects.len() => {
                    return Err(format!("attempt {attempt} has ended, and does {:?}", effects[index + 1]));
                }
                Effect::Exit(exit) => self.judge_exit(exit)?,
                Effect::Note(Note::Finishing { status, code, message }) => {
                    self.judge_end(now, *status, *code, message, effects)?;
                }
                Effect::Note(Note::ExecutorEnded { executor, state, .. }) => {
                    self.judge_loss(*executor, state, effects)?;
                }
                Effect::Close { .. } | Effect::Note(_) => {}
            }
        }
        let calls = effects.iter().any(|effect| matches!(effect, Effect::Allocate(_)));
        match calls && now >= self.heard_by && self.facts.driver && self.finishing.is_none() {
            true => self.judge_targets(view),
            false => Ok(()),
        }
    }

    fn judge_register(&mut self) -> Verdict {
        match self.manager {
            Manager::Stranger => self.manager = Manager::Asked,
            Manager::Asked | Manager::Known => {
                let attempt = self.config.attempt;
                return Err(format!("attempt {attempt} registers, and is {:?} already", self.manager));
            }
        }
        Ok(())
    }

    fn judge_program_start(&mut self) -> Verdict {
        match (self.program, self.config.mode) {
            (Program::None, Mode::Cluster) => self.program = Program::Running,
            (program, mode) => {
                return Err(format!("a program is started in {mode:?} mode while it is {program:?}"));
            }
        }
        Ok(())
    }

    /// Checks that the attempt requests the executors of the driver's targets, minus those that ended for good.
    fn judge_targets(&self, view: &AllocatorView) -> Verdict {
        for (id, wanted) in &self.wanted {
            let target = view.profiles.get(id).map_or(0, |profile| profile.target);
            if target != *wanted {
                return Err(format!(
                    "{target} executors of profile {id} are asked for, the driver wants {wanted}"
                ));
            }
        }
        Ok(())
    }

    fn judge_launch(&mut self, launch: &Launch, effects: &[Effect], driver: &Driver) -> Verdict {
        let Launch { container, node, executor, command, cores, memory, directory: _ } = launch;
        let number = executor.executor;
        let Some(host) = self.granted.get(container) else {
            return Err(format!("{container} is used, and was never granted"));
        };
        if self.executors.contains_key(&number)
            || driver.met.get(&number).is_some_and(|other| other != container)
        {
            return Err(format!("executor number {number} is used again"));
        }
        if node.as_ref().is_none_or(|node| node.address != node_address(host)) {
            return Err(format!("executor {number} is launched at {node:?}, its container is on {host}"));
        }
        let added = effects.iter().find_map(|effect| match effect {
            Effect::Send { message: Outbound::Driver(message), .. } => match message {
                MasterToDriver::ExecutorAdded { executor, profile, host, cores, memory, .. }
                    if *executor == number =>
                {
                    Some((*profile, host, *cores, *memory))
                }
                _ => None,
            },
            _ => None,
        });
        // A disconnected driver is told when it returns.
        let profile = memory.0 / 1024 - 1;
        let profile = firesteel_protocol::ids::ProfileId(u32::try_from(profile).unwrap_or(u32::MAX));
        match (self.peer, added) {
            (Some(_), None) => {
                return Err(format!("executor {number} is launched, and its driver is not told"));
            }
            (_, Some(told)) if told != (profile, host, *cores, *memory) => {
                return Err(format!("executor {number} is launched on {host}, its driver is told {told:?}"));
            }
            (Some(_) | None, Some(_)) | (None, None) => {}
        }
        let words = [&command.program].into_iter().chain(&command.arguments);
        let unfilled = words.skip(1).find(|word| word.contains("{{"));
        if let Some(word) = unfilled {
            return Err(format!("executor {number} is launched with {word} in its command"));
        }
        let row = Row {
            container: container.clone(),
            profile,
            fate: self.gone.get(container).map_or(Fate::Lives, |status| Fate::Ended(*status)),
            killed: false,
            started: false,
            told: None,
        };
        self.executors.insert(number, row);
        Ok(())
    }

    fn judge_message(&mut self, event: &Event, peer: PeerId, message: &MasterToDriver) -> Verdict {
        let own = self.peer == Some(peer);
        let asked = match event {
            Event::Received { message: Inbound::Driver(message), .. } => Some(message),
            _ => None,
        };
        match message {
            MasterToDriver::RegisteredApplication { .. } if self.manager != Manager::Known => {
                Err("a driver is welcomed, and the manager does not know the attempt".to_owned())
            }
            MasterToDriver::ExecutorsRequested { accepted } => {
                let sound = matches!(asked, Some(DriverToMaster::RequestExecutors { app, targets })
                    if own && *app == self.config.app && self.serves() && are_sound(targets));
                match sound == *accepted {
                    true => Ok(()),
                    false => Err(format!("{asked:?} of connection {peer} is answered with {accepted}")),
                }
            }
            MasterToDriver::ExecutorsKilled { accepted } => {
                let sound = matches!(asked, Some(DriverToMaster::KillExecutors { app, .. })
                    if own && *app == self.config.app);
                match sound == *accepted {
                    true => Ok(()),
                    false => Err(format!("{asked:?} of connection {peer} is answered with {accepted}")),
                }
            }
            MasterToDriver::ExecutorsGone { .. } => match self.live().next() {
                Some((executor, _)) => {
                    Err(format!("the driver is told that nothing is left, and executor {executor} is"))
                }
                None if !self.facts.done => {
                    Err("a driver that is not done is told that nothing is left".to_owned())
                }
                None => Ok(()),
            },
            MasterToDriver::ExecutorUpdated { executor, state, .. } => {
                let Some(row) = self.executors.get(executor) else {
                    return Err(format!("the driver is told of executor {executor}, which there never was"));
                };
                match state {
                    ExecutorState::Running if !row.started => {
                        Err(format!("executor {executor} is said to run, and was not started"))
                    }
                    state if state.is_finished() && row.fate == Fate::Lives => {
                        Err(format!("executor {executor} is said to have ended, and lives"))
                    }
                    _ => Ok(()),
                }
            }
            MasterToDriver::ApplicationRemoved(end) if end.is_refusal() => Ok(()),
            _ if !own => Err(format!("connection {peer}, which is not the driver's, is told {message:?}")),
            _ => Ok(()),
        }
    }

    fn judge_answer(&self, message: &MasterToClient) -> Verdict {
        let MasterToClient::MasterStateResponse(page) = message else { return Ok(()) };
        let application = page.rows.iter().find_map(|row| match row {
            StateRow::Application { view, .. } => Some(view),
            StateRow::Worker(_) | StateRow::Driver { .. } | StateRow::Executor { .. } => None,
        });
        let Some(application) = application else {
            return Err("a status client is shown no application".to_owned());
        };
        let (shown, live) = (application.executors_live, self.live().count() as u64);
        if shown != live {
            return Err(format!("a status client is shown {shown} executors, there are {live}"));
        }
        let listed = page.rows.iter().filter(|row| matches!(row, StateRow::Executor { .. })).count() as u64;
        if listed != live {
            return Err(format!("a status client is given {listed} executors, there are {live}"));
        }
        match application.outcome.as_ref() {
            shown if shown == self.outcome() => Ok(()),
            shown => Err(format!("a status client is shown {shown:?}, the driver said {:?}", self.outcome())),
        }
    }

    /// Checks the report of an executor's end: once, after the executor has ended, and with the right state.
    fn judge_loss(&mut self, executor: ExecutorId, state: &ExecutorState, effects: &[Effect]) -> Verdict {
        let Some(row) = self.executors.get_mut(&executor) else {
            return Err(format!("executor {executor} ended, and was never launched"));
        };
        if row.told.is_some() {
            return Err(format!("the end of executor {executor} is told twice"));
        }
        let fits = match (row.fate, state) {
            (Fate::Lives, _) => return Err(format!("executor {executor} is said to have ended, and lives")),
            (_, ExecutorState::Killed(None)) => row.killed,
            (_, _) if row.killed => false,
            (Fate::NotStarted, ExecutorState::Failed(_)) => true,
            (Fate::Ended(-1000), ExecutorState::Failed(_)) => true,
            (Fate::Ended(-104 | -103), ExecutorState::Lost(LossReason::OverLimit { .. })) => true,
            (Fate::Ended(status), ExecutorState::Exited(ExitStatus::Code(code))) => *code == status,
            (Fate::Ended(status), ExecutorState::Exited(ExitStatus::Signal(signal))) => {
                *signal + 128 == status
            }
            (Fate::Ended(status), ExecutorState::Lost(LossReason::Container { .. })) => status < 0,
            _ => false,
        };
        if !fits {
            let fate = row.fate;
            return Err(format!("executor {executor} is said to have ended as {state}, and is {fate:?}"));
        }
        row.told = Some(state.clone());
        let is_told = |effect: &&Effect| match effect {
            Effect::Send { message: Outbound::Driver(message), .. } => matches!(message,
                MasterToDriver::ExecutorUpdated { executor: told, state, .. } if *told == executor && state.is_finished()),
            _ => false,
        };
        let (times, profile) = (effects.iter().filter(is_told).count(), row.profile);
        if times != usize::from(self.peer.is_some()) {
            return Err(format!("executor {executor} has ended, and its driver is told {times} times"));
        }
        let relaunch = self.relaunch;
        if let Some(wanted) = self.wanted.get_mut(&profile).filter(|_| relaunch.is_final(state)) {
            *wanted = wanted.saturating_sub(1);
        }
        Ok(())
    }

    fn judge_end(
        &mut self,
        now: u64,
        status: FinalStatus,
        code: i32,
        message: &str,
        effects: &[Effect],
    ) -> Verdict {
        if let Some(first) = self.finishing.replace((status, code)) {
            return Err(format!("the attempt ends as {status} with {code}, and had ended as {first:?}"));
        }
        if !self.has_reason(now, status, code) {
            return Err(format!("the attempt ends as {status} with code {code} without reason: {message}"));
        }
        if message.len() > self.config.longest_message.max(3) {
            return Err(format!("the manager is told {} bytes at the end", message.len()));
        }
        let for_good = self.is_for_good(status, code);
        let told = effects.iter().any(is_removal);
        let owed = for_good && self.peer.is_some() && !self.facts.done && !self.is_given_up();
        match owed == told {
            true => Ok(()),
            false if owed => Err("the driver is not told that its application is over".to_owned()),
            false => {
                Err("the driver is told that its application is over, and another attempt comes".to_owned())
            }
        }
    }

    /// Checks that the manager is told of the end once, by the last attempt.
    fn judge_unregister(&mut self, status: FinalStatus) -> Verdict {
        let (attempt, most) = (self.config.attempt, self.config.most_attempts);
        if self.manager != Manager::Known {
            return Err(format!("the manager is told of the end by an attempt that is {:?}", self.manager));
        }
        if std::mem::replace(&mut self.unregistering, true) {
            return Err("the manager is told of the end twice".to_owned());
        }
        let Some((own, code)) = self.finishing.filter(|(own, _)| *own == status) else {
            return Err(format!("the manager is told {status}, the attempt ends as {:?}", self.finishing));
        };
        match self.is_for_good(own, code) {
            true => Ok(()),
            false => Err(format!(
                "attempt {attempt} of {most} tells the manager {own}, which begins no other then"
            )),
        }
    }

    fn judge_exit(&mut self, exit: &Exit) -> Verdict {
        let Exit { status, code, message: _, staging } = exit;
        if self.finishing != Some((*status, *code)) {
            let finishing = self.finishing;
            return Err(format!("the process ends as {status} with {code}, the attempt as {finishing:?}"));
        }
        if self.program == Program::Running {
            return Err("the attempt ends, and leaves its program behind".to_owned());
        }
        let expected = match self.facts.unregistered {
            true => Staging::Unneeded,
            false => Staging::Needed,
        };
        if *staging != expected {
            return Err(match expected {
                Staging::Needed => "staged files are taken away that another attempt may need".to_owned(),
                Staging::Unneeded => "staged files are left behind though the application is over".to_owned(),
            });
        }
        let owed = self.is_for_good(*status, *code);
        let excused = self.facts.not_unregistered || self.is_given_up() || self.was_hurried();
        if owed && !self.facts.unregistered && !excused {
            return Err(format!("the attempt ends as {status}, and the manager was not told"));
        }
        self.exit = Some(exit.clone());
        Ok(())
    }
}

fn is_removal(effect: &Effect) -> bool {
    match effect {
        Effect::Send { message: Outbound::Driver(MasterToDriver::ApplicationRemoved(end)), .. } => {
            !end.is_refusal()
        }
        _ => false,
    }
}
