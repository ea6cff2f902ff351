#!/usr/bin/env bash
# firesteel sbin: starts a Master on this machine, unless one runs, and Workers on the hosts of conf/workers.
sbin=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
"$sbin/start-master.sh" || "$sbin/spark-daemon.sh" status org.apache.spark.deploy.master.Master 1 >/dev/null || exit 1
exec "$sbin/start-workers.sh"
