"""Adds squares: python functions on every executor."""

from common import session

spark = session("squares")
total = spark.sparkContext.parallelize(range(1000), 8).map(lambda number: number * number).sum()
print("sum", total)
print("app", spark.sparkContext.applicationId)
spark.stop()
