#!/usr/bin/env bash
# firesteel sbin: starts, stops or shows one daemon on this machine: a Master or Worker of Firesteel's, or another program
# of Spark's, such as its history server. Arguments, variables and files are those of Spark's script of this name.
sbin=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
firesteel=FIRESTEEL_PROGRAM

usage() {
    echo "Usage: spark-daemon.sh [--config DIR] start|submit|stop|status CLASS NUMBER [ARGUMENT...]" >&2
    exit 1
}

fail() {
    echo "spark-daemon.sh: $*" >&2
    exit 1
}

if [[ ${1-} == --config ]]; then
    [[ -d ${2-} ]] || fail "--config ${2-}: there is no such directory"
    export SPARK_CONF_DIR=$2
    shift 2
fi
[[ $# -ge 3 ]] || usage
action=$1 class=$2 number=$3
shift 3
. "$sbin/spark-config.sh"

name=spark-${SPARK_IDENT_STRING:-${USER:-$(id -un 2>/dev/null || id -u)}}-$class-$number
pid_file=${SPARK_PID_DIR:-/tmp}/$name.pid
log=${SPARK_LOG_DIR:-$SPARK_HOME/logs}/$name-${HOSTNAME:-$(uname -n)}.out
[[ -x $firesteel ]] || firesteel=$(type -P firesteel)

case $class in
org.apache.spark.deploy.master.Master) runs=firesteel command=("$firesteel" master) ;;
org.apache.spark.deploy.worker.Worker) runs=firesteel command=("$firesteel" worker) ;;
*) runs=java command=("$SPARK_HOME/bin/spark-class" "$class") ;;
esac
[[ $action != submit ]] || command=("$SPARK_HOME/bin/spark-submit" --class "$class")

# Prints the daemon's process, if it runs. The file may name a process that has ended, or another program's since.
running() {
    local pid program
    [[ -f $pid_file && -O $pid_file ]] && pid=$(<"$pid_file") && [[ $pid =~ ^[0-9]+$ ]] || return 1
    program=$(readlink "/proc/$pid/exe") && program=${program% (deleted)} || return 1
    [[ $runs == java && ${program##*/} == java || $runs == firesteel && ${program##*/} == "${firesteel##*/}" ]] && echo "$pid"
}

# Whether the daemon does its work. Firesteel's say so by a line of JSON.
is_ready() {
    if [[ $runs == firesteel ]]; then grep -q '^{"url"' "$log"; else running >/dev/null; fi
}

# Ends this script, with the exit code of the daemon, if that has ended.
check() {
    kill -0 "$pid" 2>/dev/null && return
    wait "$pid"
    code=$?
    rm -f "$pid_file"
    echo "failed to launch: ${command[*]}"
    tail -n 10 "$log" | sed 's/^/  /'
    echo "full log in $log"
    exit $((code == 0 ? 1 : code))
}

start() {
    [[ -n ${command[0]} ]] || fail "there is no program firesteel: install it, or add it to PATH"
    [[ -x ${command[0]} ]] || fail "$class is Spark's, and there is no ${command[0]}: set SPARK_HOME"
    command=(nice -n "${SPARK_NICENESS:-0}" "${command[@]}" "$@")
    [[ -z ${SPARK_NO_DAEMONIZE+set} ]] || exec "${command[@]}"

    # There are the Master's journal and the Worker's work, wherever the script is called.
    if [[ $runs == firesteel && -w $SPARK_HOME ]]; then cd "$SPARK_HOME" || exit 1; fi
    mkdir -p "${pid_file%/*}" "${log%/*}" || exit 1
    [[ ! -L $pid_file && ( ! -e $pid_file || -O $pid_file ) ]] || fail "$pid_file belongs to somebody else"
    # Another start of the same daemon waits here until this one is done.
    exec 9>>"$pid_file" && flock 9 || exit 1
    if pid=$(running); then
        echo "$class running as process $pid.  Stop it first."
        exit 1
    fi
    for ((old = ${SPARK_LOG_MAX_FILES:-5} - 1; old >= 1; old--)); do
        [[ ! -f $log.$old ]] || mv -f "$log.$old" "$log.$((old + 1))"
    done
    [[ ! -f $log ]] || mv -f "$log" "$log.1"
    : >"$log" || exit 1
    echo "starting $class, logging to $log"
    [[ $runs == java ]] || command+=(--announce)
    nohup "${command[@]}" >>"$log" 2>&1 </dev/null 9>&- &
    pid=$!
    echo "$pid" >"$pid_file" || exit 1
    for ((tries = 600; tries > 0; tries--)); do
        check
        is_ready && break
        sleep 0.1
    done
    [[ $tries -gt 0 ]] || echo "process $pid is not ready after 60 s; its log is $log"
    # What is wrong with a program of Java's shows a little later.
    [[ $runs == firesteel ]] || { sleep 2 && check; }
}

stop() {
    if ! pid=$(running); then
        echo "no $class to stop"
        exit
    fi
    echo "stopping $class"
    kill "$pid"
    for ((tries = 600; tries > 0; tries--)); do
        running >/dev/null || break
        sleep 0.1
    done
    [[ $tries -gt 0 ]] || fail "process $pid has not ended after 60 s; its log is $log"
    rm -f "$pid_file"
}

case $action in
start | submit) start "$@" ;;
stop) stop ;;
status)
    if running >/dev/null; then
        echo "$class is running."
    elif [[ -f $pid_file ]]; then
        echo "$pid_file file is present but $class not running"
        exit 1
    else
        echo "$class not running."
        exit 2
    fi
    ;;
*) usage ;;
esac
