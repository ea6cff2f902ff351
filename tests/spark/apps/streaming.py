"""Structured Streaming, for some batches."""

import time

from common import session

spark = session("streaming", sql__shuffle__partitions=2)
stream = spark.readStream.format("rate").option("rowsPerSecond", 20).load()
query = stream.groupBy((stream.value % 2).alias("odd")).count().writeStream.outputMode("complete")
query = query.format("memory").queryName("counts").trigger(processingTime="500 milliseconds").start()
for _ in range(400):
    rows = {row["odd"]: row["count"] for row in spark.sql("select * from counts").collect()}
    if query.lastProgress and query.lastProgress["batchId"] >= 3 and len(rows) == 2:
        break
    time.sleep(0.1)
query.stop()
print("counted", len(rows), "batches", query.lastProgress["batchId"] >= 3)
spark.stop()
