#!/usr/bin/env bash
# firesteel sbin: runs a command on each host of conf/workers, or of the file SPARK_WORKERS, by ssh; on this machine
# without. Without such a file this machine is the only host.
sbin=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
if [[ ${1-} == --config ]]; then
    export SPARK_CONF_DIR=${2-}
    shift 2
fi
if [[ $# -eq 0 ]]; then
    echo "Usage: workers.sh [--config DIR] COMMAND [ARGUMENT...]" >&2
    exit 1
fi
. "$sbin/spark-config.sh"
file=${SPARK_WORKERS:-$SPARK_CONF_DIR/workers}
hosts=localhost
[[ ! -f $file ]] || hosts=$(sed 's/#.*//' "$file")
own=" localhost 127.0.0.1 $(uname -n) $(own_host) "
options=${SPARK_SSH_OPTS:--o StrictHostKeyChecking=accept-new -o ConnectTimeout=10}
[[ -n ${SPARK_SSH_FOREGROUND-} ]] || options+=" -n -o BatchMode=yes"

# The command on one host. Its lines begin with the host's name.
on() {
    if [[ $own == *" $1 "* ]]; then
        (cd "$SPARK_HOME" && "${@:2}")
    else
        # shellcheck disable=SC2086
        ssh $options -- "$1" "cd $(printf %q "$SPARK_HOME") && $(printf '%q ' "${@:2}")"
    fi 2>&1 | sed "s|^|$1: |"
    return "${PIPESTATUS[0]}"
}

code=0 started=()
for host in $hosts; do
    if [[ -n ${SPARK_SSH_FOREGROUND-} ]]; then
        on "$host" "$@" || code=1
    else
        on "$host" "$@" &
        started+=($!)
    fi
    [[ -z ${SPARK_WORKER_SLEEP-} ]] || sleep "$SPARK_WORKER_SLEEP"
done
for process in "${started[@]}"; do
    wait "$process" || code=1
done
exit "$code"
