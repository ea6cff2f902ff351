#!/usr/bin/env bash
# A cluster of this machine by sparkctl, in a network of its own where the machine is called localhost: configured, started,
# used and stopped.
#
# Arguments: the folder of sparkctl and Python, SPARK_HOME, JAVA_HOME, the program to run with the Master's URL.
set -euo pipefail
ip link set lo up
hostname localhost
sparkctl() {
    "$programs/sparkctl" "$@" 2>&1
}
programs=$1 home=$2 java=$3 program=$4
sparkctl default-config "$home" "$java" -d . -e native
SPARKCTL_SETTINGS=$PWD/sparkctl.toml
export SPARKCTL_SETTINGS
sparkctl configure --executor-cores 1 --executor-memory-gb 1 --driver-memory-gb 1
sparkctl start
trap 'sparkctl stop' EXIT
SPARK_CONF_DIR=$PWD/conf "$programs/python" "$program" spark://localhost:7077
