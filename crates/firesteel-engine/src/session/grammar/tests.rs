use super::*;

fn parse(line: &str) -> Result<Request, String> {
    super::parse(line).pop().expect("there is a command").request
}

fn said(line: &str) -> String {
    parse(line).expect_err("it is wrong")
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn run_of(command: &str) -> Run {
    Run {
        target: Target::Profile(ProfileId::DEFAULT),
        cores: None,
        retries: 0,
        command: words(command),
        words: command.to_owned(),
        place: RunMode::Foreground,
    }
}

fn map_of(command: &str, items: Items) -> Map {
    Map {
        profile: ProfileId::DEFAULT,
        cores: None,
        command: words(command),
        items,
        order: OutputOrder::Input,
    }
}

#[test]
fn a_command_to_run_begins_where_options_end() {
    for (line, expected) in [
        ("run echo a", run_of("echo a")),
        ("run echo --cores 2", run_of("echo --cores 2")),
        ("run -- -x", run_of("-x")),
        ("run --cores 2 make -j2", Run { cores: Some(Cores(2)), ..run_of("make -j2") }),
        ("run --profile 2 id", Run { target: Target::Profile(ProfileId(2)), ..run_of("id") }),
        ("run --on 3 id", Run { target: Target::Executor(ExecutorId(3)), ..run_of("id") }),
        ("run --retries 3 flaky", Run { retries: 3, ..run_of("flaky") }),
        ("run sleep 9 &", Run { place: RunMode::Background, ..run_of("sleep 9") }),
    ] {
        assert_eq!(parse(line), Ok(Request::Run(expected)), "{line}");
    }
}

#[test]
fn a_map_has_its_items_after_three_colons_or_in_a_file() {
    let list = |text| Items::Words(words(text));
    for (line, expected) in [
        ("map echo ::: a b", map_of("echo", list("a b"))),
        ("map echo :::", map_of("echo", Items::Words(Vec::new()))),
        ("map -i f cat", map_of("cat", Items::File("f".into(), Separator::Newline))),
        ("map -0 -i f cat", map_of("cat", Items::File("f".into(), Separator::Nul))),
        (
            "map --cores 2 --unordered e ::: a",
            Map { cores: Some(Cores(2)), order: OutputOrder::Completion, ..map_of("e", list("a")) },
        ),
    ] {
        assert_eq!(parse(line), Ok(Request::Map(expected)), "{line}");
    }
}

#[test]
fn the_other_commands_are_understood() {
    let gpus = ResourceProfile {
        cores: Some(Cores(4)),
        memory: Some(MiB(2048)),
        resources: [("gpu".to_owned(), 1.into()), ("fpga".to_owned(), 2.into())].into(),
    };
    let request = |total, profile, surplus| Request::SetTotal(total, ProfileId(profile), surplus);
    let kill = |executors: &[u32], replacement| {
        Request::Kill(executors.iter().copied().map(ExecutorId).collect(), replacement)
    };
    let wait = |count, seconds| Request::WaitForExecutors(count, Duration::from_secs(seconds));
    for (line, expected) in [
        ("executors", Request::Executors),
        ("tasks", Request::Tasks(Which::Recent)),
        ("jobs --all", Request::Tasks(Which::All)),
        ("watch", Request::Watch(None)),
        ("watch 3", Request::Watch(Some(TaskId(3)))),
        ("wait", Request::Wait(Vec::new())),
        ("wait 1 2", Request::Wait(vec![TaskId(1), TaskId(2)])),
        ("wait --executors 4", wait(4, 60)),
        ("wait --for 5 --executors 4", wait(4, 5)),
        ("cancel 1", Request::Cancel(vec![TaskId(1)])),
        ("cancel --all", Request::Cancel(Vec::new())),
        ("request 8", request(8, 0, Surplus::Stays)),
        ("request 2 --kill --profile 1", request(2, 1, Surplus::Ends)),
        ("kill 0 2", kill(&[0, 2], Replacement::Unwanted)),
        ("kill --replace 1", kill(&[1], Replacement::Wanted)),
        ("why", Request::Why),
        ("explain", Request::Why),
        ("profile", Request::ListProfiles),
        ("profile list", Request::ListProfiles),
        (
            "profile add 2 --cores 4 --memory 2g --resource gpu=1 --resource fpga=2",
            Request::AddProfile(gpus.clone(), TaskShare::default(), 2),
        ),
        ("status", Request::Status),
        ("set", Request::ShowDefaults),
        ("set cores 2", Request::Set(Assignment::Cores(Cores(2)))),
        ("set directory /tmp", Request::Set(Assignment::Directory("/tmp".into()))),
        ("set env A=b=c", Request::Set(Assignment::Variable("A".into(), Some("b=c".into())))),
        ("set env A", Request::Set(Assignment::Variable("A".into(), None))),
        ("settings", Request::Settings),
        ("history 5", Request::History(Some(5))),
        ("source x", Request::Source("x".into())),
        ("help", Request::Help(None)),
        ("quit 3", Request::Quit(Some(3))),
        ("exit", Request::Quit(None)),
    ] {
        assert_eq!(parse(line), Ok(expected), "{line}");
    }
    assert_eq!(parse("help map"), Ok(Request::Help(Command::find("map"))));
}

#[test]
fn what_is_wrong_is_said_with_how_it_is_written() {
    for (line, expected) in [
        ("exectuors", "unknown command exectuors (did you mean executors?); the command help lists all"),
        ("ls -l", "unknown command ls; the command help lists all"),
        ("help mpa", "unknown command mpa (did you mean map?); the command help lists all"),
        (
            "run",
            "no command given: write run [--on EXECUTOR | --profile P] [--cores N] [--retries N] COMMAND...",
        ),
        (
            "run --cores x y",
            "x is not a number of cores: write run [--on EXECUTOR | --profile P] [--cores N] [--retries N] COMMAND...",
        ),
        (
            "run --cores 0 y",
            "a task has at least 1 core: write run [--on EXECUTOR | --profile P] [--cores N] [--retries N] COMMAND...",
        ),
        (
            "run --core 1 y",
            "run has no option --core (did you mean --cores?): write run [--on EXECUTOR | --profile P] [--cores N] [--retries N] COMMAND...",
        ),
        ("executors 1", "1 has no meaning here: write executors"),
        ("why &", "only run works in the background with &: write why"),
        ("watch x", "x is not a task's number: write watch [TASK]"),
        ("kill", "give the number of an executor: write kill EXECUTOR... [--replace]"),
        ("request -1", "-1 is not a number of executors: write request N [--profile P] [--kill]"),
        ("request 1 --profile", "--profile needs a value: write request N [--profile P] [--kill]"),
        ("quit 256", "256 is not an exit code from 0 to 255: write quit [CODE]"),
        ("cancel", "give the number of a task: write cancel TASK... | cancel --all"),
    ] {
        assert_eq!(said(line), expected, "{line}");
    }
    for line in [
        "map echo",
        "map ::: a",
        "map -i f echo ::: a",
        "map -x echo ::: a",
        "wait --for 3",
        "wait --executors x",
        "cancel 1 --all",
        "profile add",
        "profile add 1 --cores 0",
        "profile add 1 --memory lots",
        "profile add 1 --resource gpu",
        "profile remove",
        "set colour red",
        "set env =x",
        "source",
        "tasks --all --all",
        "history x",
    ] {
        assert!(parse(line).is_err(), "{line}");
    }
}
