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
print("sum", context.parallelize(range(9), 9).map(lambda number: time.sleep(1) or number).sum(), flush=True)


def executors():
    return context._jsc.sc().getExecutorMemoryStatus().size() - 1


print("most", executors(), flush=True)
deadline = time.time() + 60
while executors() > 0 and time.time() < deadline:
    time.sleep(0.2)
print("least", executors())
print("again", context.parallelize(range(3), 3).sum())
spark.stop()
