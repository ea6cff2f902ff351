"""A slow job with a shuffle, during which somebody may end executors and Workers. It begins with as many executors as the
second argument says, and says so once tasks of it run: a driver whose application is removed between two stages, or before
its first, may wait forever for a scheduler that has stopped."""

import sys
import threading
import time

from common import session

spark = session("shuffle", sql__shuffle__partitions=8)
context = spark.sparkContext
pairs = context.parallelize(range(200), 16).map(lambda number: time.sleep(0.1) or (number % 10, number))


def announce():
    """Says that the job has begun, once tasks of it run."""
    tracker = context.statusTracker()
    while True:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        if any(stage and stage.numActiveTasks for stage in stages):
            break
        time.sleep(0.05)
    print("begun", context.applicationId, flush=True)


while context._jsc.sc().getExecutorMemoryStatus().size() <= int(sys.argv[2]):
    time.sleep(0.1)
threading.Thread(target=announce, daemon=True).start()
print("sum", sum(value for _, value in pairs.reduceByKey(lambda one, other: one + other, 8).collect()))
spark.stop()
