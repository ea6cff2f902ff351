# Starts, stops or shows one daemon of Firesteel on this machine. `sh` reads it, over ssh or here. Lines before it set:
#   action         start, stop or status
#   daemon         master or worker
#   program        where the program is; if it is not there, the one in PATH
#   conf_dir       the directory of spark-defaults.conf and spark-env.sh; empty: that of this machine's variables
#   pid_dir, log_dir   where the pid file and the log are; empty: as this machine's variables say
#   default_host   the name under which other machines reach this one, if no variable says it
#   master_url     a Worker's Master
#   patience       seconds to wait for the daemon to be ready, or to end
# The last line of the output is the result: a word, and what belongs to it.
[ -n "$conf_dir" ] && export SPARK_CONF_DIR="$conf_dir"
: "${SPARK_CONF_DIR:=${SPARK_HOME:+$SPARK_HOME/conf}}"
[ -n "$SPARK_CONF_DIR" ] || [ ! -d /etc/firesteel ] || SPARK_CONF_DIR=/etc/firesteel
if [ -n "$SPARK_CONF_DIR" ] && [ -f "$SPARK_CONF_DIR/spark-env.sh" ]; then
    set -a
    . "$SPARK_CONF_DIR/spark-env.sh" </dev/null >/dev/null
    set +a
    export SPARK_ENV_LOADED=1
fi
[ -n "$log_dir" ] || log_dir=${SPARK_LOG_DIR:-${SPARK_HOME:+$SPARK_HOME/logs}}
[ -n "$log_dir" ] || log_dir=${XDG_STATE_HOME:-$HOME/.local/state}/firesteel
[ -n "$pid_dir" ] || pid_dir=${SPARK_PID_DIR:-$log_dir}
name=firesteel-${SPARK_IDENT_STRING:-$(id -un)}-$daemon
pid_file=$pid_dir/$name.pid
log=$log_dir/$name-$(uname -n).log

# Prints the daemon's process, if it runs. The file may name a process that has ended, or another one since.
running() {
    found=$(cat "$pid_file" 2>/dev/null) || return 1
    case $found in '' | *[!0-9]*) return 1 ;; esac
    words=$(tr '\0' '\n' <"/proc/$found/cmdline" 2>/dev/null | sed -n -e '1s/.*\///' -e '1,2p' | tr '\n' ' ')
    [ "$words" = "${program##*/} $daemon " ] && echo "$found"
}

fail() {
    echo "${word:-failed} $*"
    exit
}

if [ -z "$program" ] || [ ! -x "$program" ]; then
    program=$(command -v firesteel) || fail "there is no program firesteel: install it, or add it to PATH"
fi

case $action in
status)
    if pid=$(running); then echo "running $pid"; else echo "stopped"; fi
    ;;
stop)
    pid=$(running) || { rm -f "$pid_file"; echo "stopped"; exit; }
    kill "$pid" 2>/dev/null
    tries=$((patience * 10))
    while running >/dev/null; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || fail "process $pid has not ended after $patience s; its log is $log"
        sleep 0.1
    done
    rm -f "$pid_file"
    echo "ended $pid"
    ;;
start)
    mkdir -p "$pid_dir" "$log_dir" || fail "cannot make the directory $pid_dir or $log_dir"
    # Another name of this machine may have the daemon started at the same time. Who was killed meanwhile leaves the lock.
    lock=$pid_file.lock
    tries=$((patience * 20))
    until mkdir "$lock" 2>/dev/null; do
        owner=$(cat "$lock/owner" 2>/dev/null)
        [ -n "$owner" ] && ! kill -0 "$owner" 2>/dev/null && rm -rf "$lock" && continue
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || fail "another start has not ended after $((patience * 2)) s: remove $lock if there is none"
        sleep 0.1
    done
    trap 'rm -rf "$lock"' EXIT
    echo "$$" >"$lock/owner"
    if pid=$(running); then
        echo "running $pid $(sed -n 's/.*"url":"\([^"]*\)".*/\1/p' "$pid_file.ready" 2>/dev/null)"
        exit
    fi
    for number in 4 3 2 1; do
        [ -f "$log.$number" ] && mv -f "$log.$number" "$log.$((number + 1))"
    done
    [ -f "$log" ] && mv -f "$log" "$log.1"
    set -- "$daemon" --announce
    if [ "$daemon" = master ]; then
        [ -n "${SPARK_MASTER_HOST:-${SPARK_LOCAL_HOSTNAME:-${SPARK_LOCAL_IP:-}}}" ] || set -- "$@" --host "$default_host"
    else
        [ -n "${SPARK_WORKER_HOST:-${SPARK_LOCAL_HOSTNAME:-${SPARK_LOCAL_IP:-}}}" ] || set -- "$@" --host "$default_host"
        set -- "$@" "$master_url"
    fi
    # A session of its own outlives the terminal, and the connection of ssh.
    own=$(command -v setsid || command -v nohup) || fail "there is no program setsid"
    cd "${SPARK_HOME:-$HOME}" || fail "cannot work in ${SPARK_HOME:-$HOME}"
    : >"$pid_file.ready" || fail "cannot write $pid_file.ready"
    ${SPARK_NICENESS:+nice -n "$SPARK_NICENESS"} "$own" "$program" "$@" </dev/null >"$pid_file.ready" 2>"$log" &
    pid=$!
    echo "$pid" >"$pid_file" || fail "cannot write $pid_file"
    tries=$((patience * 10))
    until [ -s "$pid_file.ready" ]; do
        tries=$((tries - 1))
        kill -0 "$pid" 2>/dev/null || {
            rm -f "$pid_file"
            wait "$pid"
            # The exit code of a daemon that the machine gives too few processes or open files.
            [ $? -eq 71 ] && word=short
            fail "it ended at once: $(tail -n 1 "$log" 2>/dev/null)"
        }
        [ "$tries" -gt 0 ] || fail "process $pid is not ready after $patience s; its log is $log"
        sleep 0.1
    done
    echo "started $pid $(sed -n 's/.*"url":"\([^"]*\)".*/\1/p' "$pid_file.ready")"
    ;;
esac
