#!/usr/bin/env bash
# firesteel sbin: stops SPARK_WORKER_INSTANCES Workers of this machine, and waits for their end.
sbin=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$sbin/spark-config.sh"
code=0
for ((number = 1; number <= ${SPARK_WORKER_INSTANCES:-1}; number++)); do
    "$sbin/spark-daemon.sh" stop org.apache.spark.deploy.worker.Worker "$number" || code=$?
done
exit "$code"
