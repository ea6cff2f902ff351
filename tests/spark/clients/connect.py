"""Two users of one Spark Connect server, by pyspark-client.

Arguments: the server's port.
"""

import sys

from pyspark.sql import SparkSession


def session(user):
    return SparkSession.builder.remote(f"sc://127.0.0.1:{sys.argv[1]}/;user_id={user}").create()


ann, bob = session("ann"), session("bob")
ann.range(1000).createOrReplaceTempView("numbers")
bob.range(10).createOrReplaceTempView("numbers")
print("ann", ann.sql("SELECT sum(id * id) FROM numbers").collect()[0][0])
print("bob", bob.sql("SELECT sum(id * id) FROM numbers").collect()[0][0])
for user in [ann, bob]:
    user.stop()
