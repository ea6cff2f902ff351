"""Has executors, and waits until the file of the second argument is there. Then it does one more job."""

import os
import sys
import time

from common import session

spark = session("idle")
context = spark.sparkContext


def executors():
    return context._jsc.sc().getExecutorMemoryStatus().size() - 1


# All of them: their number has not changed for a while.
before, since = 0, time.time()
while before == 0 or time.time() - since < 2:
    now = executors()
    if now != before:
        before, since = now, time.time()
    time.sleep(0.1)
print("ready", context.applicationId, flush=True)
while not os.path.exists(sys.argv[2]):
    time.sleep(0.1)
print("executors", executors())
print("sum", context.parallelize(range(100), 8).sum())
spark.stop()
