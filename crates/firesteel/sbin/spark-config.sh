#!/usr/bin/env bash
# firesteel sbin: sets SPARK_HOME, SPARK_CONF_DIR, the variables of spark-env.sh and the path of Python's modules. The
# scripts beside it source it, and so do Spark's own, such as start-history-server.sh.
export SPARK_HOME="${SPARK_HOME:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}"
export SPARK_CONF_DIR="${SPARK_CONF_DIR:-$SPARK_HOME/conf}"
if [[ -z ${SPARK_ENV_LOADED-} ]]; then
    export SPARK_ENV_LOADED=1
    if [[ -f $SPARK_CONF_DIR/spark-env.sh ]]; then
        set -a
        . "$SPARK_CONF_DIR/spark-env.sh"
        set +a
    fi
fi
# Kubernetes gives these variables addresses where a service is called spark-master or spark-worker.
for port in SPARK_MASTER_PORT SPARK_WORKER_PORT; do
    [[ ${!port-} != tcp://* ]] || unset "$port"
done
if [[ -z ${PYSPARK_PYTHONPATH_SET-} && -d $SPARK_HOME/python ]]; then
    for modules in "$SPARK_HOME"/python/lib/py4j-*-src.zip "$SPARK_HOME/python"; do
        export PYTHONPATH="$modules${PYTHONPATH:+:$PYTHONPATH}"
    done
    export PYSPARK_PYTHONPATH_SET=1
fi

# The name by which other machines reach this one.
own_host() {
    hostname -f 2>/dev/null || uname -n
}

# Whether a name belongs to this machine alone: many systems give their own name the address 127.0.1.1.
is_loopback() {
    [[ $1 == localhost ]] || getent ahosts "$1" 2>/dev/null | grep -qE '^(127\.|::1 )'
}
