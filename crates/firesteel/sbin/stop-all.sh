#!/usr/bin/env bash
# firesteel sbin: stops the Workers on the hosts of conf/workers, and the Master of this machine.
sbin=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
code=0
"$sbin/stop-workers.sh" || code=1
"$sbin/stop-master.sh" || code=1
exit "$code"
