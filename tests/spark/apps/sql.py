"""A query with a shuffle between executors."""

from common import session
from pyspark.sql import functions

spark = session("sql", sql__shuffle__partitions=6)
rows = spark.range(0, 10000, 1, 8).groupBy((functions.col("id") % 7).alias("key")).agg(functions.sum("id").alias("sum"))
for row in rows.orderBy("key").collect():
    print(row["key"], row["sum"])
spark.stop()
