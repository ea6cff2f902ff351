#!/usr/bin/env bash
# firesteel sbin: starts a Master on this machine. Arguments: those of firesteel master.
sbin=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$sbin/spark-config.sh"
case ${*: -1} in
-h | --help) SPARK_NO_DAEMONIZE=1 exec "$sbin/spark-daemon.sh" start org.apache.spark.deploy.master.Master 1 "${*: -1}" ;;
esac
[[ -n ${SPARK_MASTER_HOST-}${SPARK_LOCAL_HOSTNAME-}${SPARK_LOCAL_IP-} ]] || export SPARK_MASTER_HOST=$(own_host)
exec "$sbin/spark-daemon.sh" start org.apache.spark.deploy.master.Master 1 "$@"
