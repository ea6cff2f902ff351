"""A slow job with a shuffle, during which somebody may end executors and Workers."""

import time

from common import session

spark = session("shuffle", sql__shuffle__partitions=8, network__timeout="30s")
context = spark.sparkContext
pairs = context.parallelize(range(200), 16).map(lambda number: time.sleep(0.05) or (number % 10, number))
print("begun", context.applicationId, flush=True)
print("sum", sum(value for _, value in pairs.reduceByKey(lambda one, other: one + other, 8).collect()))
spark.stop()
