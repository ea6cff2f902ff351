"""What an executor finds around it: variables, options, directories. And where Spark's own page finds its logs."""

import os
import urllib.request

from common import session


def look(_):
    with open(f"/proc/{os.getppid()}/cmdline") as file:
        words = file.read().split("\0")
    return words, dict(os.environ)


spark = session(
    "surroundings",
    executor__extraClassPath="/nowhere/extra.jar",
    executor__extraJavaOptions="-Did={{EXECUTOR_ID}}-{{APP_ID}} -Dcores={{CORES}}x",
    executorEnv__COLOUR="red",
    executorEnv__WORD="{{CORES}}",
    python__use__daemon="false",
)
words, variables = spark.sparkContext.parallelize([0], 1).map(look).first()
app = spark.sparkContext.applicationId
print("class path", words[words.index("-cp") + 1].startswith("/nowhere/extra.jar:"))
print("option", any(word in (f"-Did=0-{app}", f"-Did=1-{app}") for word in words), "-Dcores={{CORES}}x" in words)
print("variables", variables["COLOUR"], variables["WORD"])
directories = variables["SPARK_EXECUTOR_DIRS"].split(":")
print("scratch", [oct(os.stat(path).st_mode & 0o777) for path in directories], app in directories[0])
executors = spark.sparkContext._jsc.sc().statusStore().executorList(True)
logs = [executors.apply(number).executorLogs() for number in range(executors.size())]
links = [link.apply(stream) for link in logs for stream in ("stderr", "stdout") if link.contains(stream)]
pages = [urllib.request.urlopen(link).read().decode() for link in links]
print("logs", len(links), [app in page for page in pages], "CoarseGrainedExecutorBackend" in pages[0])
spark.stop()
