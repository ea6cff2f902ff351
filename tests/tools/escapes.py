"""Runs as an executor, and starts a process for each way to leave an executor. Each process holds the lock of a file
that is named after its way, in the directory of the first argument, until it ends."""

import ctypes
import fcntl
import os
import signal
import sys

DIRECTORY = sys.argv[1]
BARE = {"PATH": os.environ["PATH"]}


def hold(way, environment=os.environ):
    """Becomes a program that holds the lock."""
    os.execvpe("flock", ["flock", os.path.join(DIRECTORY, way), "sleep", "1000"], environment)


def lock(way):
    """Holds the lock, also in all children."""
    fcntl.flock(os.open(os.path.join(DIRECTORY, way), os.O_CREAT | os.O_RDWR), fcntl.LOCK_EX)


def double_fork():
    if os.fork():
        os._exit(0)


def daemonize():
    os.setsid()
    double_fork()
    os.chdir("/")
    os.closerange(0, 256)
    for _ in range(3):
        os.open("/dev/null", os.O_RDWR)


def overwrite_environment():
    with open("/proc/self/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    start, end = int(fields[50 - 3]), int(fields[51 - 3])
    ctypes.memset(start, ord(" "), end - start)


def by_setsid():
    os.setsid()
    hold("setsid")


def by_setsid_without_environment():
    os.setsid()
    hold("setsid-without-environment", BARE)


def by_double_fork():
    double_fork()
    hold("double-fork")


def by_double_fork_without_environment():
    os.setsid()
    double_fork()
    hold("double-fork-without-environment", BARE)


def by_overwritten_environment():
    os.setsid()
    double_fork()
    overwrite_environment()
    lock("overwritten-environment")
    signal.pause()


def by_nohup():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    double_fork()
    hold("nohup")


def by_daemon():
    daemonize()
    hold("daemon", BARE)


def by_forking_on():
    os.setsid()
    double_fork()
    overwrite_environment()
    lock("forking-on")
    while True:
        double_fork()


WAYS = [
    by_setsid,
    by_setsid_without_environment,
    by_double_fork,
    by_double_fork_without_environment,
    by_overwritten_environment,
    by_nohup,
    by_daemon,
    by_forking_on,
]

try:
    os.mkdir(os.path.join(DIRECTORY, "once"))
except FileExistsError:
    # This executor replaces another one.
    signal.pause()
with open(os.path.join(DIRECTORY, "executor"), "w") as file:
    file.write(f"{os.getpid()}\n")
for way in WAYS:
    if os.fork() == 0:
        way()
signal.pause()
