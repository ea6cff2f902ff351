"""Tasks that begin together and wait for each other."""

from common import session
from pyspark import BarrierTaskContext


def meet(rows):
    context = BarrierTaskContext.get()
    context.barrier()
    yield (context.partitionId(), len(context.getTaskInfos()), sum(rows))


spark = session("barrier")
print(sorted(spark.sparkContext.parallelize(range(4), 4).barrier().mapPartitions(meet).collect()))
spark.stop()
