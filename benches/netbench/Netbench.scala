// A mock cluster that drives a Master which speaks Spark 4.0.1's RPC: Spark's own, in a process of its own, or another one.
// Mock Workers and drivers share a few connections; each has an address of its own in what it sends.
//
// The package names are Spark's only because the classes that it uses are private to them.

package org.apache.spark.rpc.netty {

  import org.apache.spark.SparkConf
  import org.apache.spark.rpc.{RpcAddress, RpcEndpointAddress, RpcEndpointRef, RpcEnv}

  /** A reference to a local endpoint that claims another address than its RpcEnv's: the Master
    * wants one address per worker and per driver, and answers over the connection a reference
    * came in by, so that many mock workers can share one RpcEnv. */
  object MockRefs {
    def apply(conf: SparkConf, env: RpcEnv, claimed: RpcAddress, name: String): RpcEndpointRef =
      new NettyRpcEndpointRef(conf, RpcEndpointAddress(claimed, name), env.asInstanceOf[NettyRpcEnv])
  }
}

package org.apache.spark.deploy.master {

  import java.io._
  import java.net.ServerSocket
  import java.nio.charset.StandardCharsets.UTF_8
  import java.nio.file.{Files, Paths}
  import java.util.concurrent.{CountDownLatch, Semaphore, TimeUnit}
  import java.util.concurrent.atomic.AtomicLong

  import scala.collection.mutable.ArrayBuffer
  import scala.jdk.CollectionConverters._

  import com.fasterxml.jackson.databind.ObjectMapper
  import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

  import org.apache.spark.{SecurityManager, SparkConf}
  import org.apache.spark.deploy.{ApplicationDescription, Command, ExecutorState}
  import org.apache.spark.deploy.DeployMessages._
  import org.apache.spark.resource.{ExecutorResourceRequest, ResourceProfile, TaskResourceRequest}
  import org.apache.spark.rpc._
  import org.apache.spark.rpc.netty.MockRefs

  object J {
    val mapper = new ObjectMapper()
    def obj(): ObjectNode = mapper.createObjectNode()
  }

  object Spark {
    def conf(kv: (String, String)*): SparkConf = {
      val c = new SparkConf(false)
      c.set("spark.master.rest.enabled", "false")
      c.set("spark.worker.timeout", "1000000")
      kv.foreach { case (k, v) => c.set(k, v) }
      c
    }
    val command: Command = Command("org.example.Executor", Nil, Map.empty[String, String], Nil, Nil, Nil)

    def profile(id: Int, cores: Option[Int], mem: Option[Int], res: Seq[(String, Int)]): ResourceProfile = {
      val reqs = cores.map(c => "cores" -> new ExecutorResourceRequest("cores", c)).toSeq ++
        mem.map(m => "memory" -> new ExecutorResourceRequest("memory", m)).toSeq ++
        res.map { case (n, a) => n -> new ExecutorResourceRequest(n, a) }
      val p = new ResourceProfile(reqs.toMap, Map.empty[String, TaskResourceRequest])
      if (id == 0) p.setToDefaultProfile() else p.setResourceProfileId(id)
      p
    }

    def description(name: String, coresMax: Option[Int], profile: ResourceProfile, limit: Option[Int]) =
      ApplicationDescription(name, coresMax, command, "", profile, None, None, limit, "user")
  }

  /** What other processes take of the machine meanwhile: figures taken beside them are not worth much. */
  object Load {
    private val os = java.lang.management.ManagementFactory.getOperatingSystemMXBean
      .asInstanceOf[com.sun.management.OperatingSystemMXBean]
    def own: Double = os.getProcessCpuTime / 1e9
    def busy: Double = try {
      val a = Files.readAllLines(Paths.get("/proc/stat")).get(0).trim.split(" +").drop(1).map(_.toLong)
      (a(0) + a(1) + a(2) + a(5) + a(6)) / 100.0
    } catch { case _: IOException => 0.0 }
    /** Runs f and notes how many CPUs others used on the average. mine: CPU seconds of other processes of ours. */
    def watch[T](o: ObjectNode, mine: () => Double = () => 0.0)(f: => T): T = {
      val (t0, b0, o0) = (System.nanoTime(), busy, own + mine())
      val r = f
      val (t1, b1, o1) = (System.nanoTime(), busy, own + mine())
      if (t1 - t0 > 2e8) o.put("cpus_used_by_others",
        math.max(0, math.round(((b1 - b0) - (o1 - o0)) / ((t1 - t0) / 1e9) * 100) / 100.0))
      r
    }
  }

  object Timing {
    def put(o: ObjectNode, key: String, us: Seq[Double], inner: Int = 1): Unit = {
      val s = us.sorted
      def q(f: Double) = s(math.min(s.size - 1, math.max(0, math.round(f * (s.size - 1)).toInt)))
      def r(x: Double) = math.round(x * 1000) / 1000.0
      val n = o.putObject(key)
      n.put("median", r(q(.5))).put("min", r(s.head)).put("p10", r(q(.1))).put("p90", r(q(.9))).put("max", r(s.last))
        .put("runs", s.size)
      if (inner > 1) n.put("calls_per_run", inner)
    }
  }

  /** What a mock driver listens with; reused by one app after another. */
  final class Slot(val k: Int) {
    @volatile var handler: Any => Unit = _ => ()
    var ref: RpcEndpointRef = _
  }

  /** A Master and a way to reach it. */
  abstract class Rig {
    def conf: SparkConf
    def master: RpcEndpointRef
    /** A reference under an address of its own whose messages go to f. */
    def mock(address: RpcAddress, name: String, f: Any => Unit): RpcEndpointRef
    /** The Master as the one with this name reaches it (over its own connection). */
    def via(name: String): RpcEndpointRef = master
    /** CPU seconds of a Master outside this JVM. */
    var otherCpu: () => Double = () => 0.0
    def close(): Unit

    val launched = new AtomicLong()
    private val slots = ArrayBuffer[Slot]()
    def slot(k: Int): Slot = synchronized {
      while (slots.size <= k) {
        val n = slots.size
        val s = new Slot(n)
        s.ref = mock(RpcAddress(s"10.${100 + n / 62500}.${n / 250 % 250}.${1 + n % 250}", 41000), s"driver-$n", m => s.handler(m))
        slots += s
      }
      slots(k)
    }
    def barrier(): Unit = require(master.askSync[Boolean](RequestReadyz, new RpcTimeout(
      scala.concurrent.duration.FiniteDuration(600, TimeUnit.SECONDS), "barrier")))

    private var registered = 0
    /** Registers n more workers of 16 cores and 64 GB at once; seconds to the last answer. */
    def addWorkers(n: Int, report: Boolean): Double = {
      val latch = new CountDownLatch(n)
      val refs = (registered until registered + n).map { k =>
        val host = s"10.${k / 62500}.${k / 250 % 250}.${1 + k % 250}"
        val id = s"worker-20250101000000-$host-7078"
        val name = s"mockworker-$k"
        lazy val mine = via(name)
        (id, host, mock(RpcAddress(host, 7078), name, {
          case _: RegisteredWorker => latch.countDown()
          case RegisterWorkerFailed(msg) => System.err.println(s"registration failed: $msg")
          case l: LaunchExecutor =>
            launched.incrementAndGet()
            if (report) mine.ask[Boolean](ExecutorStateChanged(l.appId, l.execId, ExecutorState.RUNNING, None, None))
          case _ => ()
        }))
      }
      registered += n
      val t0 = System.nanoTime()
      refs.foreach { case (id, host, ref) =>
        via(ref.name).send(RegisterWorker(id, host, 7078, ref, 16, 65536, s"http://$host:8081", master.address, Map.empty))
      }
      require(latch.await(600, TimeUnit.SECONDS), s"${latch.getCount} workers got no answer")
      (System.nanoTime() - t0) / 1e9
    }

    def desc(executors: Int, cores: Int): ApplicationDescription =
      Spark.description("bench", Some(executors * cores), Spark.profile(0, Some(cores), Some(cores * 1024), Nil), None)

    /** Microseconds from sending RegisterApplication to the last of E ExecutorAdded, and to the barrier
      * after UnregisterApplication. */
    def oneApp(e: Int, d: ApplicationDescription): (Double, Double) = {
      val s = slot(0)
      val latch = new CountDownLatch(e)
      @volatile var id: String = null
      @volatile var last = 0L
      s.handler = {
        case r: RegisteredApplication => id = r.appId
        case _: ExecutorAdded => last = System.nanoTime(); latch.countDown()
        case _ => ()
      }
      val t0 = System.nanoTime()
      master.send(RegisterApplication(d, s.ref))
      require(latch.await(300, TimeUnit.SECONDS), s"${latch.getCount} of $e executors missing")
      val t1 = System.nanoTime()
      master.send(UnregisterApplication(id))
      barrier()
      ((last - t0) / 1e3, (System.nanoTime() - t1) / 1e3)
    }

    /** n apps of one executor of one core, c of them under way at any time, each ended when it has its
      * executor; seconds in all. */
    def closedLoop(n: Int, c: Int, d: ApplicationDescription): Double = {
      val free = new Semaphore(c)
      val idle = new java.util.concurrent.ConcurrentLinkedQueue[Slot]((0 until c).map(slot).asJava)
      val done = new CountDownLatch(n)
      val t0 = System.nanoTime()
      for (_ <- 0 until n) {
        free.acquire()
        val s = idle.poll()
        var id: String = null
        s.handler = {
          case r: RegisteredApplication => id = r.appId
          case _: ExecutorAdded =>
            // Same sender: the Master takes the end of this app in before a new app of this slot.
            master.send(UnregisterApplication(id))
            s.handler = _ => ()
            idle.add(s); free.release(); done.countDown()
          case _ => ()
        }
        master.send(RegisterApplication(d, s.ref))
      }
      require(done.await(600, TimeUnit.SECONDS), s"${done.getCount} apps missing")
      barrier()
      (System.nanoTime() - t0) / 1e9
    }

    /** a apps of one executor at once, none of which ends; seconds to the last ExecutorAdded. */
    def burst(a: Int): (Double, () => Unit) = {
      val ds = (0 until a).map(_ => desc(1, 1))
      val latch = new CountDownLatch(a)
      val ids = new java.util.concurrent.ConcurrentLinkedQueue[String]()
      val ss = (0 until a).map(slot)
      ss.foreach(_.handler = {
        case r: RegisteredApplication => ids.add(r.appId)
        case _: ExecutorAdded => latch.countDown()
        case _ => ()
      })
      val t0 = System.nanoTime()
      ss.zip(ds).foreach { case (s, d) => master.send(RegisterApplication(d, s.ref)) }
      require(latch.await(600, TimeUnit.SECONDS), s"${latch.getCount} apps without executor")
      val t = (System.nanoTime() - t0) / 1e9
      (t, () => { ids.asScala.foreach(i => master.send(UnregisterApplication(i))); barrier() })
    }
  }

  /** A Master in another process, reached over TCP with Spark's own RPC. Mock workers and drivers
    * share a few RpcEnvs (connections); the Master answers over the connection they came in by, as
    * it does with real workers. */
  final class Network(host: String, port: Int, envs: Int) extends Rig {
    val conf: SparkConf = Spark.conf("spark.rpc.io.serverThreads" -> "1", "spark.rpc.io.clientThreads" -> "1",
      "spark.rpc.netty.dispatcher.numThreads" -> "1", "spark.rpc.askTimeout" -> "600s")
    private val es = (0 until envs).map(i => RpcEnv.create(s"mock$i", "127.0.0.1", 0, conf, new SecurityManager(conf)))
    private val masters = es.map(_.setupEndpointRef(RpcAddress(host, port), Master.ENDPOINT_NAME))
    val master: RpcEndpointRef = masters.head
    while (!master.askSync[Boolean](RequestReadyz)) Thread.sleep(20)
    /** Drivers talk through the first connection, like `master`, so that their order is kept. */
    private def index(name: String): Int =
      if (name.startsWith("driver")) 0 else name.substring(name.lastIndexOf('-') + 1).toInt % es.size
    override def via(name: String): RpcEndpointRef = masters(index(name))
    def mock(a: RpcAddress, name: String, f: Any => Unit): RpcEndpointRef = {
      val e = es(index(name))
      e.setupEndpoint(name, new ThreadSafeRpcEndpoint {
        val rpcEnv: RpcEnv = e
        override def receive: PartialFunction[Any, Unit] = { case m => f(m) }
      })
      MockRefs(conf, e, a, name)
    }
    def close(): Unit = { es.foreach(_.shutdown()); es.foreach(_.awaitTermination()) }
  }

  object BenchMaster {
    def apps(rig: Rig, o: ObjectNode, key: String, e: Int, cores: Int, budgetSec: Double): Unit = {
      val d = rig.desc(e, cores)
      val up = ArrayBuffer[Double](); val down = ArrayBuffer[Double]()
      val warm = System.nanoTime(); var n = 0
      while (n < 3 || (n < 3000 && System.nanoTime() - warm < budgetSec * 5e8)) {
        rig.oneApp(e, d); n += 1
        if (System.nanoTime() - warm > 2e10 && n >= 1) n = 3000
      }
      val t0 = System.nanoTime(); val cpu0 = Load.own; val load = J.obj()
      Load.watch(load, rig.otherCpu) {
        while ((up.size < 7 && System.nanoTime() - t0 < 6e10) || (System.nanoTime() - t0 < budgetSec * 1e9 && up.size < 3000)) {
          val (a, b) = rig.oneApp(e, d); up += a; down += b
        }
      }
      val x = o.putObject(key).put("executors", e).put("cores_per_executor", cores)
      x.put("process_cpu_us_per_app", math.round((Load.own - cpu0) * 1e6 / up.size))
      x.setAll[ObjectNode](load)
      Timing.put(x, "register_to_last_executor_us", up.toSeq)
      Timing.put(x, "unregister_us", down.toSeq)
    }

    def small(rig: Rig, o: ObjectNode, key: String, c: Int, n0: Int, reps: Int): Unit = {
      val d = rig.desc(1, 1)
      rig.closedLoop(n0, c, d)
      val x = o.putObject(key).put("under_way", c).put("apps_per_run", n0)
      val cpu0 = Load.own
      val us = Load.watch(x, rig.otherCpu)((0 until reps).map(_ => rig.closedLoop(n0, c, d) * 1e6 / n0))
      x.put("process_cpu_us_per_app", math.round((Load.own - cpu0) * 1e6 / (n0 * reps)))
      Timing.put(x, "us_per_app", us)
    }

    // ---------------------------------------------------------------- over the network

    final class Process(val pid: Long) {
      def cpuSec: Double = {
        val f = Files.readString(Paths.get(s"/proc/$pid/stat")); val a = f.substring(f.lastIndexOf(')') + 2).split(' ')
        (a(11).toLong + a(12).toLong) / 100.0
      }
      def status(k: String): Long = Files.readAllLines(Paths.get(s"/proc/$pid/status")).asScala
        .find(_.startsWith(k + ":")).map(_.replaceAll("[^0-9]", "").toLong).getOrElse(-1L)
      def jcmd(args: String*): String = {
        val p = new ProcessBuilder((Seq("jcmd", pid.toString) ++ args).asJava).redirectErrorStream(true).start()
        val t = new String(p.getInputStream.readAllBytes()); p.waitFor(); t
      }
      /** Whether it is a JVM. To another program jcmd's signal means: end. */
      private def isJvm: Boolean = Files.readSymbolicLink(Paths.get(s"/proc/$pid/exe")).getFileName.toString == "java"
      def liveHeapKb: Long = if (!isJvm) -1L else try {
        jcmd("GC.run"); jcmd("GC.run")
        "used ([0-9]+)K".r.findFirstMatchIn(jcmd("GC.heap_info")).map(_.group(1).toLong).getOrElse(-1L)
      } catch { case _: IOException => -1L }
      def mem(o: ObjectNode, k: String): Unit =
        o.putObject(k).put("live_heap_kb", liveHeapKb).put("rss_kb", status("VmRSS")).put("rss_peak_kb", status("VmHWM"))
    }

    def spawn(quietConf: String, log: String, heap: String): (java.lang.Process, Int) = {
      val s = new ServerSocket(0); val port = s.getLocalPort; s.close()
      val opens = java.lang.management.ManagementFactory.getRuntimeMXBean.getInputArguments.asScala
        .filter(_.startsWith("--add-opens")).toSeq
      val cmd = Seq(System.getProperty("java.home") + "/bin/java") ++ opens ++ Seq(s"-Xmx$heap") ++
        (if (quietConf.nonEmpty) Seq(s"-Dlog4j2.configurationFile=$quietConf") else Nil) ++
        Seq("-Dspark.master.rest.enabled=false", "-Dspark.worker.timeout=1000000", "-cp", System.getProperty("java.class.path"),
          "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", port.toString, "--webui-port", "0")
      val p = new ProcessBuilder(cmd.asJava).redirectErrorStream(true).redirectOutput(new File(log)).start()
      (p, port)
    }

    /** One Master and one set of measurements. at: (host, port, pid) of a Master that already runs. */
    def network(out: ArrayNode, w: Int, envs: Int, report: Boolean, budgetSec: Double, quietConf: String, log: String,
        at: Option[(String, Int, Long)]): Unit = {
      val own = if (at.isEmpty) Some(spawn(quietConf, log, "1g")) else None
      val (host, port) = at.map(x => (x._1, x._2)).getOrElse(("127.0.0.1", own.get._2))
      val proc = new Process(at.map(_._3).getOrElse(own.get._1.pid()))
      try {
        val deadline = System.nanoTime() + 60e9.toLong
        def up() = try { new java.net.Socket(host, port).close(); true } catch { case _: IOException => false }
        while (!up()) { require(System.nanoTime() < deadline, "the Master did not come up"); Thread.sleep(100) }
        val rig = new Network(host, port, envs)
        val o = out.addObject().put("where", "network").put("workers", w).put("connections", envs)
          .put("workers_report_running", report).put("master_log", if (quietConf.nonEmpty) "errors only" else "info (default)")
        val seePid = proc.pid > 0
        if (seePid) rig.otherCpu = () => proc.cpuSec
        if (seePid) proc.mem(o, "memory_idle")
        val c0 = if (seePid) proc.cpuSec else 0
        val s = rig.addWorkers(w, report)
        o.put("register_workers_s", s).put("register_worker_us_each", s * 1e6 / w)
        if (seePid) { o.put("register_workers_master_cpu_s", proc.cpuSec - c0); proc.mem(o, "memory_workers") }
        def cpu(key: String, per: => Long)(f: => Unit): Unit = {
          val n0 = per; val a = if (seePid) proc.cpuSec else 0.0
          f
          if (seePid) o.get(key).asInstanceOf[ObjectNode].put("master_cpu_us_per_executor",
            math.round((proc.cpuSec - a) * 1e6 / math.max(1, per - n0)))
        }
        def launched = rig.launched.get
        o.put("first_app_16_executors_us", rig.oneApp(16, rig.desc(16, 4))._1)
        // for the JIT of both sides
        apps(rig, J.obj(), "x", 16, 4, 15 * budgetSec)
        small(rig, J.obj(), "x", 16, 50, 2)
        cpu("app_16_executors", launched)(apps(rig, o, "app_16_executors", 16, 4, budgetSec))
        if (w >= 100 && w <= 1000) cpu("app_1000_executors", launched)(apps(rig, o, "app_1000_executors", 1000, 1, budgetSec))
        val n = if (w >= 1000) 100 else 1000
        cpu("small_apps_one_by_one", launched)(small(rig, o, "small_apps_one_by_one", 1, n, 5))
        cpu("small_apps_16_at_once", launched)(small(rig, o, "small_apps_16_at_once", 16, n, 5))
        val a = math.min(1000, w * 16)
        (0 until a).foreach(rig.slot)
        cpu("burst", launched) {
          val (t, _) = rig.burst(a)
          o.putObject("burst").put("apps", a).put("us_per_app", t * 1e6 / a)
        }
        if (seePid) proc.mem(o, "memory_workers_and_burst_apps")
        println(s"  $o")
        rig.close()
      } finally own.foreach { case (p, _) => p.destroy(); if (!p.waitFor(20, TimeUnit.SECONDS)) p.destroyForcibly() }
    }
  }

  object Netbench {
    /** The arguments: a file for the figures, the numbers of Workers, and host:port and process id of a Master, if it is not
      * to be Spark's own. */
    def main(args: Array[String]): Unit = {
      val opts = args.sliding(2, 2).collect { case Array(k, v) if k.startsWith("--") => k.drop(2) -> v }.toMap
      val o = J.obj().put("spark", org.apache.spark.SPARK_VERSION)
      val at = opts.get("master").map { m =>
        val a = m.stripPrefix("spark://").split(':'); (a(0), a(1).toInt, opts("pid").toLong)
      }
      val out = o.putArray("master")
      for (w <- opts("sizes").split(',').toSeq.map(_.toInt))
        BenchMaster.network(out, w, math.min(w, 20), opts.getOrElse("report", "true").toBoolean,
          opts.getOrElse("budget", "1.0").toDouble, System.getProperty("log4j2.configurationFile", ""), "/dev/null", at)
      val w = new PrintWriter(opts("out"), UTF_8); w.println(o.toPrettyString); w.close()
      System.out.flush()
      sys.exit(0)
    }
  }
}
