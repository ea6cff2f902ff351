//! The executors of this Worker: their launches, ends and reports to the Master.

use firesteel_protocol::ids::{AppId, ExecutorKey, PeerId, is_sound};
use firesteel_protocol::messages::{
    ApplicationFiles, ExecutorLaunch, ExecutorReport, ExecutorState, ExecutorWork, WorkerDescription,
    WorkerToMaster,
};
use firesteel_protocol::process::{ExitStatus, Fault, Filling, NotStarted, Signal, StartFailure, StartStep};
use firesteel_protocol::time::Timestamp;

use super::effect::send;
use super::tables::{Process, ShutdownPhase, Signalled};
use super::{Effect, ExecutorPlan, Note, Worker};

impl Worker {
    pub(super) fn on_launch_executor(&mut self, peer: PeerId, launch: ExecutorLaunch) {
        let executor = launch.executor.clone();
        self.registration.answer_order(peer, executor.clone());
        self.registration.see(launch.mark);
        if self.executors.knows(&executor) {
            self.effects.note(Note::LaunchRepeated { executor });
            return;
        }
        if !is_sound(executor.app.as_str()) {
            let error = format!("{:?} cannot be the name of a directory", executor.app.as_str());
            let failure = StartFailure { step: StartStep::Directory, error };
            self.report_end(executor, ExecutorState::Failed(failure));
            return;
        }
        if self.shutdown != ShutdownPhase::Serving {
            self.report_end(executor, ExecutorState::Killed(None));
            return;
        }
        let files = launch.work.files.clone();
        if let Some(Err(error)) = files.as_ref().map(ApplicationFiles::check) {
            let failure = StartFailure { step: StartStep::Files, error: error.to_string() };
            self.report_end(executor, ExecutorState::Failed(failure));
            return;
        }
        let ExecutorLaunch { cores, memory, .. } = launch;
        let plan = plan(launch, &self.config.description);
        let ready = match files {
            None => Some(plan),
            Some(files) => self.want_files(files, plan),
        };
        self.use_directory(&executor);
        match ready {
            Some(plan) => {
                self.executors.start(executor, cores, memory);
                self.effects.push(Effect::StartExecutor(plan));
            }
            None => self.executors.await_files(executor, cores, memory),
        }
    }

    pub(super) fn on_kill_executor(&mut self, now: Timestamp, executor: &ExecutorKey) {
        if self.executors.lives(executor) {
            self.effects.note(Note::KillAsked { executor: executor.clone() });
            self.signal(now, executor, Signal::Terminate);
        } else {
            self.effects.note(Note::KillUnknown { executor: executor.clone() });
        }
    }

    pub(super) fn on_application_finished(&mut self, app: AppId) {
        if self.executors.has_live(&app) {
            self.executors.finish(app);
        } else if is_sound(app.as_str()) {
            self.remove_files(&app);
            self.effects.push(Effect::CleanApplication { app });
        }
    }

    pub(super) fn on_runner_started(&mut self, now: Timestamp, executor: ExecutorKey, pid: u32) {
        let Some(signal) = self.executors.started(now, &executor, pid) else {
            return self.effects.note(Note::UnknownRunner { executor });
        };
        self.effects.note(Note::ExecutorStarted { executor: executor.clone(), pid });
        self.usage.measure_soon(now);
        self.obstacles.forget_shortages();
        self.tell_master(ExecutorReport::new(executor.clone(), ExecutorState::Running));
        if let Some(signal) = signal {
            self.signal(now, &executor, signal);
        }
    }

    pub(super) fn on_runner_failed(&mut self, now: Timestamp, executor: ExecutorKey, why: NotStarted) {
        if !self.executors.was_to_start(&executor) {
            return self.effects.note(Note::UnknownRunner { executor });
        }
        if why.fault == Fault::LostFiles {
            self.files.forget(&executor.app);
        }
        self.on_not_started(now, Process::Executor(executor), why);
    }

    /// Reports the final failure to start a live executor.
    pub(super) fn on_start_failed(&mut self, executor: ExecutorKey, failure: StartFailure) {
        let is_unwanted = self.executors.remove_unstarted(&executor);
        let state = if is_unwanted { ExecutorState::Killed(None) } else { ExecutorState::Failed(failure) };
        self.report_end(executor, state);
    }

    pub(super) fn on_runner_exited(&mut self, executor: ExecutorKey, status: ExitStatus) {
        match self.executors.exited(&executor, status) {
            Some(state) => self.report_end(executor, state),
            None => self.effects.note(Note::UnknownRunner { executor }),
        }
    }

    /// Ends all live executors. An executor that is being started ends right after its start.
    pub(super) fn signal_all(&mut self, now: Timestamp, signal: Signal) {
        let all: Vec<ExecutorKey> = self.executors.ids().cloned().collect();
        for executor in &all {
            self.signal(now, executor, signal);
        }
    }

    /// Kills executors whose grace period is over.
    pub(super) fn kill_overdue(&mut self, now: Timestamp) {
        for executor in self.executors.overdue(now) {
            self.effects.note(Note::GraceOver { executor: executor.clone() });
            self.signal(now, &executor, Signal::Kill);
        }
    }

    /// Moves an executor towards its end. A signal has no effect if an earlier one was at least as strong.
    fn signal(&mut self, now: Timestamp, executor: &ExecutorKey, signal: Signal) {
        match self.executors.signal(executor, signal, now + self.config.kill_grace) {
            Signalled::Process => {
                self.effects.push(Effect::SignalExecutor { executor: executor.clone(), signal });
            }
            Signalled::Noted => {}
            Signalled::Ended => {
                self.files.forgo(executor);
                self.report_end(executor.clone(), ExecutorState::Killed(None));
            }
        }
    }

    fn report_end(&mut self, executor: ExecutorKey, state: ExecutorState) {
        self.effects.note(Note::ExecutorEnded { executor: executor.clone(), state: state.clone() });
        let used = self.usage.take_used_by_executor(&executor);
        self.tell_master(ExecutorReport { executor: executor.clone(), state: state.clone(), used });
        if let Some(executor) = self.executors.keep_end(&executor, state, used) {
            self.effects.note(Note::EndForgotten { executor });
        }
        let app = executor.app;
        if self.executors.has_live(&app) {
            return;
        }
        if self.executors.take_finished(&app) {
            self.remove_files(&app);
            self.effects.push(Effect::CleanApplication { app });
        } else {
            self.remove_doubtful_files(&app);
        }
    }

    fn tell_master(&mut self, report: ExecutorReport) {
        if let Some(peer) = self.registration.master() {
            self.effects.push(send(peer, WorkerToMaster::ExecutorStateChanged(report)));
        }
    }
}

/// Plans the executor's process. In a program, all placeholders are filled in, except the path of the Worker's own
/// binary.
fn plan(launch: ExecutorLaunch, worker: &WorkerDescription) -> ExecutorPlan {
    let ExecutorLaunch { executor, profile, cores, memory, resources, work, mark: _ } = launch;
    let ExecutorWork { app_name, mut command, directory, files: _ } = ExecutorWork::clone(&work);
    if let Some(program) = command.program_mut() {
        program.fill(&Filling {
            executor: &executor,
            profile,
            cores,
            memory,
            resources: &resources,
            worker: &worker.id,
            address: &worker.address(),
        });
    }
    ExecutorPlan {
        executor,
        profile,
        app_name,
        command,
        directory,
        cores,
        memory,
        on_worker: worker.resources.named_as_here(&resources),
        resources,
        files: Vec::new(),
    }
}
