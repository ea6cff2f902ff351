"""Resource profiles: one with its own memory and cores, then others in succession."""

import sys
from multiprocessing.pool import ThreadPool

from common import elastic_session
from pyspark.resource import ExecutorResourceRequests, ResourceProfileBuilder, TaskResourceRequests


def profile(memory, cores):
    requests = ExecutorResourceRequests().memory(memory).cores(cores)
    return ResourceProfileBuilder().require(requests).require(TaskResourceRequests().cpus(1)).build


def words(_):
    with open(f"/proc/{__import__('os').getppid()}/cmdline") as file:
        return file.read().split("\0")


spark = elastic_session(
    "profiles",
    dynamicAllocation__executorIdleTimeout="1s",
    python__use__daemon="false",
)
context = spark.sparkContext


def run(number):
    own = profile("600m", 2) if number == 0 else profile(f"{512 + number}m", 1)
    found = context.parallelize([number], 1).withResources(own).map(words).first()
    option = next(word for word in found if word.startswith("-Xmx"))

    def value(name):
        return found[found.index(name) + 1]

    # Profiles are numbered as they are built, and several threads build them.
    return f"{option} cores {value('--cores')}", own.id == int(value("--resourceProfileId"))


with ThreadPool(4) as threads:
    for line, is_own in threads.map(run, range(int(sys.argv[2])), 1):
        print(line, is_own)
spark.stop()
