"""Custom resources: executors have addresses of their own."""

from common import session
from pyspark import TaskContext

spark = session(
    "gpus",
    executor__cores=1,
    executor__resource__gpu__amount=2,
    executor__resource__gpu__discoveryScript="/nowhere",
    task__resource__gpu__amount=2,
)


def addresses(_):
    __import__("time").sleep(1)
    return tuple(TaskContext.get().resources()["gpu"].addresses)


print(sorted(set(spark.sparkContext.parallelize(range(4), 4).map(addresses).collect())))
spark.stop()
