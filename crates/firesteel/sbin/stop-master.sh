#!/usr/bin/env bash
# firesteel sbin: stops the Master of this machine, and waits for its end.
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/spark-daemon.sh" stop org.apache.spark.deploy.master.Master 1
