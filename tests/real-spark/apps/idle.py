"""Has executors, and waits until the file of the second argument is there. Then it does one more job."""

import os
import sys
import time

from common import session

spark = session("idle")
context = spark.sparkContext
while context._jsc.sc().getExecutorMemoryStatus().size() < 2:
    time.sleep(0.1)
print("ready", context.applicationId, flush=True)
while not os.path.exists(sys.argv[2]):
    time.sleep(0.1)
print("sum", context.parallelize(range(100), 8).sum())
spark.stop()
