#!/usr/bin/env bash
# firesteel sbin: starts Workers on the hosts of conf/workers, for the Master of this machine.
sbin=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$sbin/spark-config.sh"
host=${SPARK_MASTER_HOST:-${SPARK_LOCAL_HOSTNAME:-${SPARK_LOCAL_IP:-$(own_host)}}}
exec "$sbin/workers.sh" "$sbin/start-worker.sh" "spark://$host:${SPARK_MASTER_PORT:-7077}" "$@"
