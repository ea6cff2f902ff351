#!/usr/bin/env bash
# firesteel sbin: starts SPARK_WORKER_INSTANCES Workers on this machine. Arguments: a Master's URL, and others of firesteel
# worker. Ports that are set count up from one Worker to the next.
sbin=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$sbin/spark-config.sh"
start=("$sbin/spark-daemon.sh" start org.apache.spark.deploy.worker.Worker)
case ${*: -1} in
-h | --help) SPARK_NO_DAEMONIZE=1 exec "${start[@]}" 1 "${*: -1}" ;;
esac
if [[ -z ${SPARK_WORKER_HOST-}${SPARK_LOCAL_HOSTNAME-}${SPARK_LOCAL_IP-} ]]; then
    export SPARK_WORKER_HOST=$(own_host)
    master=${1-}
    master=${master#spark://}
    # A Master on another machine needs an address of this one that it reaches.
    if is_loopback "$SPARK_WORKER_HOST" && ! is_loopback "${master%%:*}"; then
        address=$(hostname -I 2>/dev/null | cut -d ' ' -f 1)
        export SPARK_WORKER_HOST=${address:-$SPARK_WORKER_HOST}
    fi
fi
# In the foreground the Worker is this process, which a service manager or a container signals.
[[ ${SPARK_WORKER_INSTANCES:-1} != 1 ]] || exec "${start[@]}" 1 "$@"
port=${SPARK_WORKER_PORT:-0} page_port=${SPARK_WORKER_WEBUI_PORT-}
code=0
for ((number = 1; number <= ${SPARK_WORKER_INSTANCES:-1}; number++)); do
    [[ $port == 0 ]] || export SPARK_WORKER_PORT=$((port + number - 1))
    [[ ! $page_port =~ ^[1-9][0-9]*$ ]] || export SPARK_WORKER_WEBUI_PORT=$((page_port + number - 1))
    "${start[@]}" "$number" "$@" || code=$?
done
exit "$code"
