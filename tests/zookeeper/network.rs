//! A network of hosts that a test can cut.
//!
//! ```text
//!                  switch (bridge, 10.0.0.254): the test's own process
//!     +------------+------------+------------+------------+--- ...
//!  zookeeper-0  ...          master-0     master-1     worker-0        each a network namespace, joined by a veth pair
//! ```
//!
//! All of it is in namespaces of its own: users, networks, mounts and processes. Nothing of it listens on this
//! machine's network or can be seen there. A trial that needs a network runs in a process inside, at the switch, which
//! no cut touches. When that process ends, or the test suite, all processes inside are killed, and the namespaces and
//! temporary files go with them.

use std::env;
use std::ffi::OsStr;
use std::net::Ipv4Addr;
use std::process::Command;

use firesteel_testkit::component::{Component, Readiness};
use firesteel_testkit::run;
use firesteel_testkit::zookeeper::{self, Host};

/// The tests' component: namespaces of users, networks, mounts and processes, and the programs that make them.
pub(crate) const NETNS: Component = Component { name: "netns", look, prepare: || Readiness::Ready };

pub(crate) const ZOOKEEPERS: [Host; 3] =
    [host("zookeeper-0", 1), host("zookeeper-1", 2), host("zookeeper-2", 3)];
pub(crate) const MASTERS: [Host; 2] = [host("master-0", 4), host("master-1", 5)];
pub(crate) const WORKERS: [Host; 2] = [host("worker-0", 6), host("worker-1", 7)];
/// The host of the drivers. Packets can be blocked on their way from it only, since it has no namespace of its own.
pub(crate) const SWITCH: Host = host("switch", 254);

/// The variable with the trial for a process inside the network.
const TRIAL: &str = "FIRESTEEL_TRIAL";

/// Makes the network, and runs its arguments at the switch. The shell stays, to reap orphaned processes.
const SETUP: &str = "
set -e
mount -t tmpfs tmpfs /run
export TMPDIR=/run
ip link set lo up
ip link add switch type bridge
ip address add 10.0.0.254/24 dev switch
ip link set switch up
for host in $HOSTS; do
    name=${host%=*}
    ip netns add $name
    ip link add $name type veth peer name eth0 netns $name
    ip link set $name master switch up
    ip -n $name address add ${host#*=}/24 dev eth0
    ip -n $name link set eth0 up
    ip -n $name link set lo up
    # The rule that finds the host's own addresses comes first otherwise, and nothing that arrives could be dropped.
    ip -n $name rule add pref 100 lookup local
    ip -n $name rule del pref 0
done
\"$@\"
exit 0";

const fn host(name: &'static str, number: u8) -> Host {
    Host::namespace(name, Ipv4Addr::new(10, 0, 0, number))
}

fn hosts() -> impl Iterator<Item = Host> {
    ZOOKEEPERS.into_iter().chain(MASTERS).chain(WORKERS)
}

/// Makes the network once, and drops packets in it.
///
/// # Errors
/// A program is missing, or something is not permitted.
pub(crate) fn look() -> Result<(), String> {
    let [from, to] = MASTERS;
    let done =
        inside("ip").args(rule("add", from, to)).output().map_err(|error| format!("setpriv: {error}"))?;
    match done.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&done.stderr).trim().replace('\n', "; ")),
    }
}

/// Runs a trial in a process inside a new network.
///
/// # Panics
/// The trial fails.
pub(crate) fn run_trial(name: &str) {
    let program = env::current_exe().expect("this program has a path");
    let mut command = inside(program.to_str().expect("its path is UTF-8"));
    command.env(TRIAL, name).env(zookeeper::JARS, zookeeper::class_path().expect("it was looked for"));
    let done = run(&mut command);
    assert!(done.code() == 0, "{done}");
    eprint!("{}", done.stderr);
}

/// The trial for this process, if it is inside a network.
pub(crate) fn trial() -> Option<String> {
    env::var(TRIAL).ok()
}

/// The command that makes the network and runs this program at the switch. Everything inside is killed when the thread
/// that starts the command ends.
fn inside(program: &str) -> Command {
    let hosts: Vec<String> = hosts().map(|host| format!("{}={}", host.name(), host.address)).collect();
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]);
    command.args(["unshare", "--map-root-user", "--net", "--mount", "--pid", "--mount-proc"]);
    command.args(["--fork", "--kill-child", "sh", "-c", SETUP, "network", program]);
    command.env("HOSTS", hosts.join(" "));
    command
}

/// Disconnects a host: no packet leaves it or arrives.
pub(crate) fn unplug(host: Host) {
    ip(["link", "set", host.name(), "down"]);
}

/// Connects a host again.
pub(crate) fn plug(host: Host) {
    ip(["link", "set", host.name(), "up"]);
}

/// Drops all packets from one host to another on arrival. Neither host is notified.
pub(crate) fn block(from: Host, to: Host) {
    ip(rule("add", from, to));
}

/// Lets packets from one host to another pass again.
pub(crate) fn unblock(from: Host, to: Host) {
    ip(rule("del", from, to));
}

/// Splits the network: no packet passes between these hosts and the others.
pub(crate) fn split(side: &[Host]) {
    between(side).for_each(|(from, to)| block(from, to));
}

/// Joins the two sides again.
pub(crate) fn join(side: &[Host]) {
    between(side).for_each(|(from, to)| unblock(from, to));
}

/// All pairs of hosts across the two sides.
fn between(side: &[Host]) -> impl Iterator<Item = (Host, Host)> {
    let others = move || hosts().filter(|host| !side.contains(host));
    side.iter().flat_map(move |host| others().flat_map(|other| [(*host, other), (other, *host)]))
}

/// Arguments of `ip` for the rule at a host that drops packets from another one.
fn rule(action: &str, from: Host, to: Host) -> [String; 9] {
    let from = from.address.to_string();
    ["-n", to.name(), "rule", action, "pref", "1", "from", &from, "blackhole"].map(str::to_owned)
}

fn ip(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) {
    let done = run(Command::new("ip").args(arguments));
    assert!(done.code() == 0, "{done}");
}
