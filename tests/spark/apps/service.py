"""Two jobs on the files of one shuffle. Between them the executors that wrote these files end: after a second without work,
or, if there is a third argument, somebody ends them and then makes that file. The second argument is the port of the external
shuffle service."""

import os
import sys
import time

from common import session

idle_timeout = "600s" if len(sys.argv) > 3 else "1s"
spark = session(
    "service",
    dynamicAllocation__enabled="true",
    dynamicAllocation__initialExecutors=2,
    dynamicAllocation__maxExecutors=2,
    dynamicAllocation__executorIdleTimeout=idle_timeout,
    dynamicAllocation__cachedExecutorIdleTimeout=idle_timeout,
    shuffle__service__enabled="true",
    shuffle__service__port=sys.argv[2],
    executor__cores=1,
)
context = spark.sparkContext
tracker = context.statusTracker()


def executors():
    return context._jsc.sc().getExecutorMemoryStatus().size() - 1


def stages(job):
    """The stages of a job that ran, each with the number of its last attempt. The others were skipped."""
    infos = [tracker.getStageInfo(stage) for stage in tracker.getJobInfo(job).stageIds]
    return [info.currentAttemptId for info in infos if info is not None and info.numCompletedTasks > 0]


def total(job):
    context.setJobGroup(job, job)
    found = sum(value for _, value in sums.collect())
    (number,) = tracker.getJobIdsForGroup(job)
    print(job, found, "attempts", stages(number), flush=True)


sums = context.parallelize(range(200), 8).map(lambda number: (number % 10, number)).reduceByKey(lambda a, b: a + b, 4)
total("first")
if len(sys.argv) > 3:
    print("ready", flush=True)
    while not os.path.exists(sys.argv[3]):
        time.sleep(0.1)
else:
    deadline = time.time() + 60
    while executors() > 0 and time.time() < deadline:
        time.sleep(0.1)
    print("executors", executors(), flush=True)
total("second")
spark.stop()
