"""What all applications share."""

import os
import sys

from pyspark.sql import SparkSession


def session(name, **settings):
    """A session on the Master that the first argument names, or MASTERS. In settings, __ stands for a dot."""
    master = os.environ.get("MASTERS", sys.argv[1])
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in settings.items():
        builder = builder.config("spark." + key.replace("__", "."), value)
    return builder.getOrCreate()


def elastic_session(name, **settings):
    """A session without executors at first, and with as many of one core as there is work for."""
    return session(
        name,
        dynamicAllocation__enabled="true",
        dynamicAllocation__shuffleTracking__enabled="true",
        dynamicAllocation__initialExecutors=0,
        executor__cores=1,
        **settings,
    )
