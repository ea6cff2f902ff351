#!/usr/bin/env bash
# firesteel sbin: stops the Workers on the hosts of conf/workers, and waits for their end.
sbin=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
exec "$sbin/workers.sh" "$sbin/stop-worker.sh"
