"""Tasks of joblib on a cluster, by joblibspark.

Arguments: the Master's URL.
"""

import sys

from joblib import Parallel, delayed, parallel_backend
from joblibspark import register_spark
from pyspark.sql import SparkSession

spark = SparkSession.builder.master(sys.argv[1]).appName("joblib").getOrCreate()
register_spark()
with parallel_backend("spark", n_jobs=2):
    print("sum", sum(Parallel()(delayed(pow)(number, 2) for number in range(100))))
spark.stop()
