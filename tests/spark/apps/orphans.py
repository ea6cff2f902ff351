"""Tasks that start processes and do not wait for them, one on each of two executors."""

import subprocess
import sys
import time

from common import session

spark = session("orphans", executor__cores=1, cores__max=2)
context = spark.sparkContext
while context._jsc.sc().getExecutorMemoryStatus().size() < 3:
    time.sleep(0.1)


def start(_):
    time.sleep(1)
    return subprocess.Popen(["sleep", "600"]).pid


children = context.parallelize(range(2), 2).map(start).collect()
print("children", *children, flush=True)
while True:
    time.sleep(1)
