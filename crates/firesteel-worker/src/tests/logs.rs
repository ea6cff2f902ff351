use bytes::Bytes;
use firesteel_protocol::messages::{
    ClientToWorker, LogPiece, LogRequest, LogStart, RefusedLog, Stream, WorkerToClient,
};
use firesteel_protocol::process::ExitStatus;

use super::*;
use crate::LogRead;

fn request(app: &str, executor: u32) -> LogRequest {
    let executor = ExecutorKey { app: AppId::new(app), executor: ExecutorId(executor) };
    LogRequest { executor, stream: Stream::Stderr, from: LogStart::LastLines(10) }
}

fn ask(bench: &mut Bench, peer: u64, request: LogRequest) -> Vec<Effect> {
    let message = Inbound::Client(ClientToWorker::RequestLog(request));
    bench.apply(Event::Received { peer: PeerId(peer), message })
}

fn read(peer: u64, executor: u32) -> Effect {
    Effect::ReadLog { peer: PeerId(peer), range: request("app-1", executor).into() }
}

fn answer(peer: u64, message: WorkerToClient) -> Effect {
    Effect::Send { peer: PeerId(peer), message: Outbound::Client(message) }
}

fn refusal(peer: u64, refusal: RefusedLog) -> Effect {
    answer(peer, WorkerToClient::RequestLogFailed(refusal))
}

fn done(peer: u64, outcome: LogRead) -> Event {
    Event::LogRead { peer: PeerId(peer), outcome }
}

fn piece() -> LogRead {
    LogRead::Piece { start: 5, bytes: Bytes::from_static(b"lines\n"), length: 11 }
}

fn answered(peer: u64, is_over: bool) -> Effect {
    let bytes = Bytes::from_static(b"lines\n");
    answer(peer, WorkerToClient::LogResponse(LogPiece { start: 5, bytes, length: 11, is_over }))
}

fn missing() -> LogRead {
    LogRead::Missing { directory: "/srv/app-1/0".to_owned() }
}

#[test]
fn a_log_is_over_once_its_executor_had_ended_before_it_was_read() {
    let mut bench = Bench::running();
    assert_eq!(ask(&mut bench, 7, request("app-1", 0)), [read(7, 0)]);
    bench.apply(Event::RunnerExited { executor: key(0), status: ExitStatus::SUCCESS });
    assert_eq!(bench.apply(done(7, piece())), [answered(7, false)], "it may have written after the reading");
    assert_eq!(ask(&mut bench, 7, request("app-1", 0)), [read(7, 0)]);
    assert_eq!(bench.apply(done(7, piece())), [answered(7, true)]);
}

#[test]
fn logs_of_executors_that_are_not_known_here_are_looked_for_and_are_over() {
    let mut bench = Bench::new(&["m"]);
    assert_eq!(ask(&mut bench, 7, request("app-1", 3)), [read(7, 3)]);
    assert_eq!(bench.apply(done(7, piece())), [answered(7, true)]);
}

#[test]
fn a_log_without_a_file_is_empty_while_its_executor_starts_and_missing_otherwise() {
    let mut bench = Bench::registered();
    bench.master(1, launch(0));
    ask(&mut bench, 7, request("app-1", 0));
    let empty = LogPiece { start: 0, bytes: Bytes::new(), length: 0, is_over: false };
    assert_eq!(bench.apply(done(7, missing())), [answer(7, WorkerToClient::LogResponse(empty))]);
    ask(&mut bench, 7, request("app-1", 1));
    let directory = "/srv/app-1/0".to_owned();
    assert_eq!(bench.apply(done(7, missing())), [refusal(7, RefusedLog::NoLog { directory })]);
    ask(&mut bench, 7, request("app-1", 0));
    let error = "stderr: permission denied".to_owned();
    let failed = LogRead::Failed { error: error.clone() };
    assert_eq!(bench.apply(done(7, failed)), [refusal(7, RefusedLog::Unreadable { error })]);
}

#[test]
fn ids_that_could_leave_the_work_directory_are_refused() {
    for bad in ["..", "../../etc", "a/b", "", "/"] {
        let effects = ask(&mut Bench::running(), 7, request(bad, 0));
        assert_eq!(effects, [refusal(7, RefusedLog::UnsoundId)], "{bad:?}");
    }
}

#[test]
fn a_client_has_one_question_at_a_time() {
    let mut bench = Bench::running();
    ask(&mut bench, 7, request("app-1", 0));
    assert_eq!(ask(&mut bench, 7, request("app-1", 0)), [refusal(7, RefusedLog::OneAtATime)]);
    assert_eq!(ask(&mut bench, 8, request("app-1", 0)), [read(8, 0)]);
    bench.disconnect(7);
    assert_eq!(bench.apply(done(7, piece())), [], "nobody waits for it any more");
    assert_eq!(bench.apply(done(8, piece())), [answered(8, false)]);
    assert_eq!(bench.apply(done(8, piece())), []);
}
