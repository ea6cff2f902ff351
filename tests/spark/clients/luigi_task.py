"""A task of luigi's that runs on a cluster, by luigi.contrib.spark.

Arguments: the Master's URL, SPARK_HOME, the file to write.
"""

import sys

import luigi
from luigi.contrib.spark import PySparkTask


class Squares(PySparkTask):
    master = luigi.Parameter()
    home = luigi.Parameter()
    path = luigi.Parameter()

    driver_memory = "512m"
    executor_memory = "512m"

    @property
    def spark_submit(self):
        return f"{self.home}/bin/spark-submit"

    def output(self):
        return luigi.LocalTarget(self.path)

    def main(self, sc, *args):
        total = sc.parallelize(range(1000), 4).map(lambda number: number * number).sum()
        with self.output().open("w") as file:
            file.write(f"{total}\n")


if __name__ == "__main__":
    # Its pickle names the module, which has to be one that others can import.
    from luigi_task import Squares

    master, home, path = sys.argv[1:]
    assert luigi.build([Squares(master=master, home=home, path=path)], local_scheduler=True, workers=1)
