"""A driver on the cluster by spark-master-rest-api: submitted, shown and killed, at the port of REST and at that of RPC.

Arguments: the Master's URL, its port for REST, the jar, a file that does not exist.
"""

import sys
import time

from spark_master_rest_api import Client

master, rest, jar, file = sys.argv[1:]
properties = {
    "spark.master": master,
    "spark.app.name": "rest",
    "spark.submit.deployMode": "cluster",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.cores.max": "1",
    "spark.ui.enabled": "false",
    "spark.jars": f"file:{jar}",
}


def state_of(client, driver):
    _, status = client.status(driver)
    assert status.success and status.submission_id == driver, status
    return status.driver_state


for port in [rest, master.rsplit(":", 1)[1]]:
    client = Client("127.0.0.1", "4.0.1", port=int(port))
    response, submitted = client.submit(f"file:{jar}", properties, main_class="Submitted", app_args=[file])
    assert response.status == 200 and submitted.success, response.data
    driver = submitted.submission_id
    while state_of(client, driver) != "RUNNING":
        time.sleep(0.1)
    _, killed = client.kill(driver)
    assert killed.success, killed
    while state_of(client, driver) != "KILLED":
        time.sleep(0.1)
    _, unknown = client.status("driver-20200101000000-0000")
    assert not unknown.success, unknown
    print("done", port)
