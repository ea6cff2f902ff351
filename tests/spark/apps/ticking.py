"""Structured Streaming that counts until the file of the second argument is there, and says how far it is every second."""

import os
import sys
import time

from common import session

spark = session("ticking", sql__shuffle__partitions=2)
stream = spark.readStream.format("rate").option("rowsPerSecond", 20).load()
query = stream.groupBy((stream.value % 2).alias("odd")).count().writeStream.outputMode("complete")
query = query.format("memory").queryName("counts").trigger(processingTime="500 milliseconds").start()
while not os.path.exists(sys.argv[2]):
    if query.lastProgress:
        print("batch", query.lastProgress["batchId"], flush=True)
    time.sleep(1)
assert query.exception() is None, query.exception()
query.stop()
print("counted", spark.sql("select sum(count) from counts").collect()[0][0] > 0)
spark.stop()
