"""What monitors of Spark ask a Master for, read as they read it.

Arguments: the Master's URL, that of its pages, that of its Worker's pages.
"""

import re
import sys

import requests
from bs4 import BeautifulSoup
from pyspark.sql import SparkSession

spark = SparkSession.builder.master(sys.argv[1]).appName("watched").getOrCreate()
driver = spark.sparkContext.uiWebUrl
master, worker = (url.rstrip("/") for url in sys.argv[2:])


def soup(path):
    answer = requests.get(f"{master}{path}", timeout=10)
    answer.raise_for_status()
    return BeautifulSoup(answer.text, "html.parser")


# Datadog's check of a Standalone Master, and SignalFx's: the running applications, and of each the page of its driver.
state = requests.get(f"{master}/json/", timeout=10).json()
assert state["status"] == "ALIVE" and state["aliveworkers"] == 1, state
for app in state["activeapps"]:
    links = [link["href"] for link in soup(f"/app/?appId={app['id']}").find_all("a", string="Application Detail UI")]
    assert links == [driver], (links, driver)
    print("app", app["name"])

# SignalFx' gauges of the processes.
for url, wanted in [
    (f"{master}/metrics/master/json/", ["master.aliveWorkers", "master.apps", "master.waitingApps", "master.workers"]),
    (f"{master}/metrics/applications/json/", ["status", "cores", "runtime_ms"]),
    (f"{worker}/metrics/json/", ["worker.coresFree", "worker.coresUsed", "worker.executors", "worker.memFree_MB"]),
]:
    gauges = requests.get(url, timeout=10).json()["gauges"]
    for name in wanted:
        found = [gauge for gauge in gauges if gauge.split("application.")[-1].endswith(name)]
        assert found and all("value" in gauges[gauge] for gauge in found), (url, name, gauges)

# The plugin of Nagios reads the text of the first page.
text = " ".join(soup("/").get_text(" ").split())
for pattern in [
    r"Spark Master at spark://",
    r"Workers: *1\b",
    r"Cores in use: *(\d+) Total, *(\d+) Used",
    r"Memory in use: *([\d.]+ \w+) Total, *([\d.]+ \w+) Used",
    r"Applications: *1 Running *, *(\d+) Completed",
]:
    assert re.search(pattern, text), (pattern, text)
spark.stop()
print("done")
