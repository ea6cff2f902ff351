"""A driver on the cluster by spark-submit, a package that runs the program of this name and asks the URL that it is given.

Arguments: the Master's URL, its port for REST, SPARK_HOME, the jar, a file that the driver waits for.
"""

import os
import sys
import time

from spark_submit import SparkJob

master, rest, home, jar, file = sys.argv[1:]
for number, port in enumerate([rest, master.rsplit(":", 1)[1]]):
    awaited = f"{file}{number}"
    job = SparkJob(
        jar,
        spark_home=home,
        master=f"spark://127.0.0.1:{port}",
        deploy_mode="cluster",
        name="submitted",
        class_="unused",
        conf=["spark.master.rest.enabled=true", "spark.ui.enabled=false", "spark.cores.max=1"],
        driver_memory="512m",
        executor_memory="512m",
        main_file_args=awaited,
    )
    # The package has no way to spell --class.
    job.submit_cmd = job.submit_cmd.replace("--class- unused", "--class Submitted")
    job.submit(use_env_vars=True)
    assert job.get_code() == 0 and job.get_id().startswith("driver-"), job.get_output()
    while job.get_state() != "RUNNING":
        assert job.get_state() in ["SUBMITTED", "RUNNING"], job.get_state()
        time.sleep(0.1)
    with open(f"{awaited}.new", "w") as go:
        go.write("0")
    os.rename(f"{awaited}.new", awaited)
    while not job.concluded:
        time.sleep(0.1)
        job.get_state()
    print("done", job.get_state())
