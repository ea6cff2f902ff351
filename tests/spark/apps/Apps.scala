// The applications of this directory in Scala, for releases of Spark that cannot run functions of the Python that is
// here. Each writes what its sibling in Python writes. `Prefers` has no sibling.

import java.nio.file.{Files, Paths}
import java.nio.file.attribute.PosixFilePermissions

import scala.io.Source

import org.apache.spark.{BarrierTaskContext, SparkContext, SparkEnv, TaskContext}
import org.apache.spark.sql.SparkSession

object Common {
  /** A session on the Master that the first argument names, or MASTERS. */
  def session(args: Array[String], name: String, settings: (String, String)*): SparkSession = {
    val master = sys.env.getOrElse("MASTERS", args(0))
    val builder = SparkSession.builder().master(master).appName(name)
    settings.foreach { case (key, value) => builder.config("spark." + key, value) }
    builder.getOrCreate()
  }

  /** A session without executors at first, and with as many of one core as there is work for. */
  def elastic(args: Array[String], name: String, settings: (String, String)*): SparkSession = {
    val dynamic = Seq(
      "dynamicAllocation.enabled" -> "true",
      "dynamicAllocation.shuffleTracking.enabled" -> "true",
      "dynamicAllocation.initialExecutors" -> "0",
      "dynamicAllocation.executorIdleTimeout" -> "2s",
      "dynamicAllocation.schedulerBacklogTimeout" -> "1s",
      "executor.cores" -> "1")
    session(args, name, dynamic ++ settings: _*)
  }

  def executors(context: SparkContext): Int = context.getExecutorMemoryStatus.size - 1

  def commandLine(): Seq[String] = Source.fromFile("/proc/self/cmdline").mkString.split('\u0000').toSeq
}

object Squares {
  def main(args: Array[String]): Unit = {
    val spark = Common.session(args, "squares")
    println("sum " + spark.sparkContext.parallelize(0 until 1000, 8).map(n => n.toLong * n).sum().toLong)
    println("app " + spark.sparkContext.applicationId)
    spark.stop()
  }
}

object Idle {
  def main(args: Array[String]): Unit = {
    val spark = Common.session(args, "idle")
    val context = spark.sparkContext
    var (before, since) = (0, System.nanoTime())
    while (before == 0 || System.nanoTime() - since < 2000000000L) {
      val now = Common.executors(context)
      if (now != before) {
        before = now
        since = System.nanoTime()
      }
      Thread.sleep(100)
    }
    println("ready " + context.applicationId)
    while (!Files.exists(Paths.get(args(1)))) Thread.sleep(100)
    println("executors " + Common.executors(context))
    println("sum " + context.parallelize(0 until 100, 8).sum().toLong)
    spark.stop()
  }
}

object Shuffle {
  def main(args: Array[String]): Unit = {
    val spark = Common.session(args, "shuffle", "sql.shuffle.partitions" -> "8")
    val context = spark.sparkContext
    val pairs = context.parallelize(0 until 200, 16).map { number =>
      Thread.sleep(100)
      (number % 10, number)
    }
    while (Common.executors(context) < args(1).toInt) Thread.sleep(100)
    println("begun " + context.applicationId)
    println("sum " + pairs.reduceByKey(_ + _, 8).values.collect().sum)
    spark.stop()
  }
}

object Allocation {
  def main(args: Array[String]): Unit = {
    val spark = Common.elastic(args, "allocation", "dynamicAllocation.maxExecutors" -> "3")
    val context = spark.sparkContext
    val slow = context.parallelize(0 until 9, 9).map { number =>
      Thread.sleep(1000)
      number
    }
    def deadline() = System.nanoTime() + 60000000000L
    // On a busy machine the work may be done before the last executor has started.
    var (sum, most, until) = (0L, 0, deadline())
    while (most < 3 && System.nanoTime() < until) {
      sum = slow.sum().toLong
      most = most.max(Common.executors(context))
    }
    println("sum " + sum)
    println("most " + most)
    until = deadline()
    while (Common.executors(context) > 0 && System.nanoTime() < until) Thread.sleep(200)
    println("least " + Common.executors(context))
    println("again " + context.parallelize(0 until 3, 3).sum().toLong)
    spark.stop()
  }
}

object Barrier {
  def main(args: Array[String]): Unit = {
    val spark = Common.session(args, "barrier")
    val met = spark.sparkContext.parallelize(0 until 4, 4).barrier().mapPartitions { rows =>
      val context = BarrierTaskContext.get()
      context.barrier()
      Iterator(s"(${context.partitionId()}, ${context.getTaskInfos().length}, ${rows.sum})")
    }
    println(met.collect().sorted.mkString("[", ", ", "]"))
    spark.stop()
    // The timer of barriers keeps the JVM of a driver of Spark 3.3 alive.
    sys.exit()
  }
}

object Gpus {
  def main(args: Array[String]): Unit = {
    val spark = Common.session(
      args,
      "gpus",
      "executor.cores" -> "1",
      "executor.resource.gpu.amount" -> "2",
      "executor.resource.gpu.discoveryScript" -> "/nowhere",
      "task.resource.gpu.amount" -> "2")
    val addresses = spark.sparkContext.parallelize(0 until 4, 4).map { _ =>
      Thread.sleep(1000)
      TaskContext.get().resources()("gpu").addresses.map("'" + _ + "'").mkString("(", ", ", ")")
    }
    println(addresses.collect().distinct.sorted.mkString("[", ", ", "]"))
    spark.stop()
  }
}

object Surroundings {
  def main(args: Array[String]): Unit = {
    val spark = Common.session(
      args,
      "surroundings",
      "executor.extraClassPath" -> "/nowhere/extra.jar",
      "executor.extraJavaOptions" -> "-Did={{EXECUTOR_ID}}-{{APP_ID}} -Dcores={{CORES}}x",
      "executorEnv.COLOUR" -> "red",
      "executorEnv.WORD" -> "{{CORES}}")
    val (words, variables) =
      spark.sparkContext.parallelize(Seq(0), 1).map(_ => (Common.commandLine(), sys.env)).first()
    val app = spark.sparkContext.applicationId
    def word(is: Boolean) = if (is) "True" else "False"
    println("class path " + word(words(words.indexOf("-cp") + 1).startsWith("/nowhere/extra.jar:")))
    val has_id = words.exists(option => option == s"-Did=0-$app" || option == s"-Did=1-$app")
    println("option " + word(has_id) + " " + word(words.contains("-Dcores={{CORES}}x")))
    println("variables " + variables("COLOUR") + " " + variables("WORD"))
    val directories = variables("SPARK_EXECUTOR_DIRS").split(":")
    val modes = directories.map { path =>
      val mode = PosixFilePermissions.toString(Files.getPosixFilePermissions(Paths.get(path)))
      if (mode == "rwx------") "'0o700'" else mode
    }
    println("scratch " + modes.mkString("[", ", ", "]") + " " + word(directories(0).contains(app)))
    spark.stop()
  }
}

/** Has one executor, for a task that prefers the host of the second argument, and says where the task ran. */
object Prefers {
  def main(args: Array[String]): Unit = {
    val spark = Common.elastic(args, "prefers", "dynamicAllocation.maxExecutors" -> "1")
    val task = spark.sparkContext.makeRDD(Seq((0, Seq(args(1)))))
    println("host " + task.map(_ => SparkEnv.get.blockManager.blockManagerId.host).first())
    spark.stop()
  }
}

/** Is submitted to run on the cluster: it takes its Master from its properties, waits for the file of the first argument, and
  * ends with the exit code in it. */
object Submitted {
  def main(args: Array[String]): Unit = {
    val context = SparkSession.builder().getOrCreate().sparkContext
    println("master " + context.master)
    println("variables " + sys.env.keys.filter(name => name.startsWith("SECRET") || name.startsWith("SPARK_OF")).toSeq.sorted.mkString(" "))
    println("sum " + context.parallelize(0 until 10, 2).map(n => n.toLong * n).sum().toLong)
    println("gpus " + context.resources.get("gpu").map(_.addresses.mkString(",")).getOrElse("none"))
    println("ready " + context.applicationId)
    while (!Files.exists(Paths.get(args(0)))) Thread.sleep(100)
    val code = new String(Files.readAllBytes(Paths.get(args(0)))).trim.toInt
    context.stop()
    sys.exit(code)
  }
}
