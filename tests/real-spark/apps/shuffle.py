"""A slow job with a shuffle, during which somebody may end executors and Workers. It begins with as many executors as the
second argument says."""

import sys
import time

from common import session

spark = session("shuffle", sql__shuffle__partitions=8)
context = spark.sparkContext
pairs = context.parallelize(range(200), 16).map(lambda number: time.sleep(0.1) or (number % 10, number))
while context._jsc.sc().getExecutorMemoryStatus().size() <= int(sys.argv[2]):
    time.sleep(0.1)
print("begun", context.applicationId, flush=True)
print("sum", sum(value for _, value in pairs.reduceByKey(lambda one, other: one + other, 8).collect()))
spark.stop()
