"""Dynamic allocation: more executors while there is work, none when there is not."""

import time

from common import elastic_session

spark = elastic_session(
    "allocation",
    dynamicAllocation__executorIdleTimeout="2s",
    dynamicAllocation__maxExecutors=3,
    dynamicAllocation__schedulerBacklogTimeout="1s",
)
context = spark.sparkContext


def executors():
    return context._jsc.sc().getExecutorMemoryStatus().size() - 1


# On a busy machine the work may be done before the last executor has started.
most = 0
deadline = time.time() + 60
while most < 3 and time.time() < deadline:
    total = context.parallelize(range(9), 9).map(lambda number: time.sleep(1) or number).sum()
    most = max(most, executors())
print("sum", total)
print("most", most, flush=True)
deadline = time.time() + 60
while executors() > 0 and time.time() < deadline:
    time.sleep(0.2)
print("least", executors())
print("again", context.parallelize(range(3), 3).sum())
spark.stop()
