//! `firesteel map` when a part of it is ended, or dies.

use super::*;

#[test]
fn a_closed_standard_output_ends_everything_quietly() {
    for arguments in
        [&["--", "seq", "{}", "100000"][..], &["--", "sh", "-c", "echo $0; [ $0 = 1 ] || sleep 1000"]]
    {
        let items: Vec<String> = (1..=1000).map(|number| number.to_string()).collect();
        let items: Vec<&str> = [":::"].into_iter().chain(items.iter().map(String::as_str)).collect();
        let mut child =
            Guarded::spawn(map(&[arguments, &items].concat()).stdout(Stdio::piped()).stderr(Stdio::piped()));
        let mut first = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        stdout.read_line(&mut first).expect("a line");
        assert_eq!(first, "1\n");
        let below = processes::descendants_of(child.id());
        drop(stdout);
        let done = child.release().wait_with_output().expect("it is our child");
        assert_eq!((done.status.code(), String::from_utf8_lossy(&done.stderr).as_ref()), (Some(141), ""));
        no_process_is_left(&below);
    }
}

#[test]
fn ctrl_c_sigterm_and_a_closed_terminal_leave_no_process() {
    for (signal, code) in [(Signal::SIGHUP, 129), (Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let gate = directory();
        let script = gated(gate.path(), "echo $0");
        let mut running =
            Daemon::spawn(&mut map(&["--", "sh", "-c", &script, ":::", "1", "2", "3", "4", "5"]));
        wait_for("items to begin", || (began(gate.path()) == 4).then_some(()));
        let below = processes::descendants_of(running.pid());
        assert!(below.len() >= 3 + 2 + 4, "{below:?}");
        running.signal(signal);
        assert_eq!(running.wait(), code, "{}", running.log());
        no_process_is_left(&below);
        assert!(
            running.log().contains("5 items") && running.log().contains("cancelled"),
            "{}",
            running.log()
        );
    }
}

#[test]
fn the_items_of_an_interrupted_run_are_left_for_another_one() {
    let gate = directory();
    let (input, left) = (gate.path().join("input"), gate.path().join("left"));
    // More items than are read ahead and wait at the driver.
    let items: Vec<String> = (1000..2000).map(|number| number.to_string()).collect();
    std::fs::write(&input, items.join("\n")).expect("written");
    let mut command = map(&["--failed"]);
    command.arg(&left).arg("--input").arg(&input);
    let mut running = Daemon::spawn(command.args(["--", "sh", "-c", &gated(gate.path(), "echo $0")]));
    wait_for("items to begin", || (began(gate.path()) == 4).then_some(()));
    running.signal(Signal::SIGINT);
    assert_eq!(running.wait(), 130, "{}", running.log());
    assert!(running.log().contains("; ctrl-c again leaves at once"), "{}", running.log());
    assert!(running.log().contains("1,000 items not done: "), "{}", running.log());
    let text = std::fs::read_to_string(&left).expect("it is there");
    let mut found: Vec<&str> = text.lines().collect();
    found.sort_unstable();
    assert_eq!(found, items);
}

#[test]
fn ctrl_c_ends_a_run_whose_input_is_a_pipe_that_nobody_writes_to() {
    let place = directory();
    let pipe = place.path().join("pipe");
    mkfifo(&pipe, Mode::S_IRWXU).expect("a named pipe");
    let mut running = Daemon::spawn(map(&["--input"]).arg(&pipe).args(["--", "cat"]));
    let pid = running.pid();
    wait_for("ctrl-c to be caught", || processes::catches(pid, Signal::SIGINT).then_some(()));
    running.signal(Signal::SIGINT);
    assert_eq!(running.wait(), 130, "{}", running.log());
}

#[test]
fn commands_are_given_time_to_end_in_order_when_their_cluster_ends() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGKILL, 137)] {
        let gate = directory();
        let place = gate.path().display();
        let script = gated(gate.path(), "true");
        let script = format!("trap 'sleep 0.5; touch {place}/tidy-$0; exit 1' TERM; {script}");
        let mut running = Daemon::spawn(&mut map(&["--", "sh", "-c", &script, ":::", "1", "2"]));
        wait_for("items to begin", || (began(gate.path()) == 2).then_some(()));
        let below = processes::descendants_of(running.pid());
        running.signal(signal);
        assert_eq!(running.wait(), code, "{}", running.log());
        no_process_is_left(&below);
        assert!(["1", "2"].iter().all(|item| gate.path().join(format!("tidy-{item}")).exists()));
    }
}

#[test]
fn a_driver_that_is_killed_leaves_no_process() {
    let gate = directory();
    let script = gated(gate.path(), "echo $0");
    let mut running = Daemon::spawn(&mut map(&["--", "sh", "-c", &script, ":::", "1", "2", "3"]));
    wait_for("items to begin", || (began(gate.path()) == 3).then_some(()));
    let below = processes::descendants_of(running.pid());
    kill_nine(running.pid());
    assert_eq!(running.wait(), 137);
    no_process_is_left(&below);
}

/// A run of four items that have all begun and wait at the gate.
fn four_begun(cluster: &Cluster, gate: &Path) -> Daemon {
    let script = gated(gate, "echo $0");
    let running =
        Daemon::spawn(&mut map_on(&cluster.master, &["--", "sh", "-c", &script, ":::", "1", "2", "3", "4"]));
    wait_for("items to begin", || (began(gate) == 4).then_some(()));
    running
}

/// Opens the gate, and checks the output of the run.
fn nothing_is_lost(mut running: Daemon, gate: &Path) {
    open_gate(gate);
    assert_eq!(running.wait(), 0, "{}", running.log());
    assert_eq!(running.output(), "1\n2\n3\n4\n", "{}", running.log());
}

#[test]
fn an_executor_that_is_killed_loses_nothing() {
    let cluster = cluster(2);
    let gate = directory();
    let running = four_begun(&cluster, gate.path());
    kill_nine(cluster.executors(0)[0]);
    running.wait_for_line(&["is lost", "SIGKILL"]);
    nothing_is_lost(running, gate.path());
}

#[test]
fn a_worker_that_is_killed_loses_nothing() {
    let cluster = cluster(2);
    let gate = directory();
    let running = four_begun(&cluster, gate.path());
    let below = processes::descendants_of(cluster.workers[0].pid());
    kill_nine(cluster.workers[0].pid());
    running.wait_for_line(&["is lost"]);
    nothing_is_lost(running, gate.path());
    no_process_is_left(&below);
}

/// The next Master has empty tables: the application registers anew, the Workers end their executors, and the items run
/// again.
#[test]
fn a_master_that_is_killed_and_started_again_loses_nothing() {
    let mut cluster = cluster(2);
    let gate = directory();
    let running = four_begun(&cluster, gate.path());
    let port = cluster.master.address().port().to_string();
    kill_nine(cluster.master.pid());
    running.wait_for_line(&["reconnecting"]);
    cluster.master = Daemon::start(&mut forgetful_master(&port));
    running.wait_for_line(&["did not know this application"]);
    nothing_is_lost(running, gate.path());
}

#[test]
fn more_cores_per_executor_than_any_worker_has_is_said_at_once_and_waited_for() {
    let mut cluster = Cluster::plan().worker(&["--memory", "2g"]).start(0);
    cluster.add_worker(&["--cores", "2"]);
    let mut running =
        Daemon::spawn(&mut map_on(&cluster.master, &["--executor-cores", "4", "--", "echo", ":::", "a"]));
    running.wait_for_line(&["no Worker has", "waits for a larger Worker"]);
    assert!(running.is_alive());
    cluster.add_worker(&["--cores", "4"]);
    assert_eq!(running.wait(), 0, "{}", running.log());
    assert_eq!(running.output(), "a\n");
}

#[test]
fn executors_that_cannot_reach_their_driver_end_the_run_soon_and_everything_says_why_and_what_to_set() {
    let cluster = cluster(1);
    // Executors get a host name that does not exist, and an address without a listener.
    for (host, why) in
        [("no-such-host.invalid", "whose host is unknown there"), ("127.0.0.2", "connection refused")]
    {
        let mut map =
            map_on(&cluster.master, &["--name", host, "--conf", "spark.driver.bindAddress=127.0.0.1"]);
        map.arg("--conf").arg(format!("spark.driver.host={host}"));
        let done = run(map.args(["--", "echo", ":::", "a"]));
        assert_eq!((done.code(), done.stdout.as_str()), (1, ""), "{done}");
        let reason = |text: &str| {
            text.contains(why) && text.contains(host) && text.contains("set spark.driver.host to a name")
        };
        let lines: Vec<&str> = done.stderr.lines().filter(|line| reason(line)).collect();
        assert_eq!(lines.len(), 2, "the first failure and the end of the run: {done}");
        assert!(lines[1].contains("the Master ended the application: 3 executors failed in a row"), "{done}");
        for command in ["explain", "logs"] {
            let shown = run(firesteel().args([command, "--master", cluster.master.url(), host]));
            assert!(reason(&shown.stdout) || reason(&shown.stderr), "{shown}");
        }
    }
}
