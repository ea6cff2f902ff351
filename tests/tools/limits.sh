#!/bin/sh
# The first process of a User Mode Linux: a Master, and a Worker whose control groups have controllers. It writes what it sees to
# $OUT/seen, one fact a line, and switches the machine off. FIRESTEEL, OUT and PATH are arguments of the kernel's.
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs "$OUT/ram"
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ip link set lo up
echo '+memory +pids +cpu' >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/first /sys/fs/cgroup/second
export HOME="$OUT/ram" MASTER=spark://127.0.0.1:7077
cd "$OUT/ram" || exit 1
exec 2>"$OUT/errors"
set -x

say() { echo "$*" >>"$OUT/seen"; }
until_true() { for _ in $(seq 100); do if "$@" >>"$OUT/waited" 2>&1; then return; fi; sleep 0.1; done; say "gave up: $*"; }
worker() {
    groups=/sys/fs/cgroup/$1
    sh -c "echo 0 >$groups/cgroup.procs; exec $FIRESTEEL worker $MASTER --port 0 --webui-port none -c 4 -m 1g -d $OUT/ram/work \
        --conf firesteel.worker.memoryOverheadFactor=0.1 --conf firesteel.worker.maxThreads=30 --conf firesteel.worker.cpuQuota=true" >>"$OUT/worker.log" 2>&1 &
    worker=$!
    until_true sh -c "[ \$($FIRESTEEL status | grep -c ALIVE) = 1 ]"
}
launch() { "$FIRESTEEL" launch --num-executors 1 --total-executor-cores "$1" --executor-memory 64m -- sh -c "$2" >"$OUT/launch.log" 2>&1; }

"$FIRESTEEL" master --port 7077 --webui-port none --conf spark.worker.timeout=5 >"$OUT/master.log" 2>&1 &
until_true "$FIRESTEEL" status
worker first
say "processes in the Worker's own group: $(wc -l <$groups/cgroup.procs)"
launch 2 'sleep 1000' &
neighbour=$!
until_true sh -c "grep -q . $groups/*/app-*/cgroup.procs"
group=$(find $groups -name 'app-*')
for file in memory.max memory.oom.group pids.max cpu.max cpu.weight; do say "$file: $(cat "$group/$file")"; done

launch 1 "dd if=/dev/zero of=$OUT/ram/much bs=4M count=150; sleep 1000"
say "exit code of what takes memory: $?"
say "$(grep -o 'the kernel ended it.*MiB' "$OUT/launch.log")"
rm "$OUT/ram/much"
launch 1 'for i in $(seq 50); do sleep 1000 & done'
say "exit code of what forks: $?"
kill -0 $neighbour && say 'the neighbour runs'

kill -9 $worker
pkill -9 -f __reaper
worker second
until_true sh -c "[ \$(find /sys/fs/cgroup/first -mindepth 1 -type d | wc -l) = 0 ]"
say "groups of the killed Worker: $(find /sys/fs/cgroup/first -mindepth 1 -type d | wc -l)"
kill $worker
wait $worker
say "exit code of the Worker: $?"
say "groups after the last Worker: $(find $groups -mindepth 1 -type d | wc -l)"
say "controllers after the last Worker: $(cat $groups/cgroup.subtree_control)"
sync
echo o >/proc/sysrq-trigger
sleep 60
