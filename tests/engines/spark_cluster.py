"""A Spark standalone cluster on loopback: a master and two workers, each a process of its own."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

HOME = Path(pyspark.__file__).parent
WORKERS = 2
# Small and soon up: these machines live for a minute or two.
JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss1m"
# What Spark's own start script opens for it, as far as a master and a worker need it.
OPENS = [
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.lang", "java.lang.invoke", "java.nio", "java.util", "sun.nio.ch")
]
SETTINGS = {
    "spark.cores.max": str(WORKERS),
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": JVM,
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": JVM,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "3",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    # Executors run the package beside these tests, and kernels that tests bring.
    "spark.executorEnv.PYTHONPATH": os.pathsep.join(
        str(Path(__file__).parents[2] / folder) for folder in ("src", "")
    ),
}


@contextmanager
def cluster(folder):
    """Start a master and its workers; yields the master's address and the workers' ids.

    Each worker leads a session of processes, with its executors in it and their Python workers.
    """
    environment = {
        **os.environ,
        "SPARK_HOME": str(HOME),
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "PYSPARK_PYTHON": sys.executable,
    }
    started = []

    def start(name, *arguments):
        log = folder / f"{len(started)}.log"
        command = ["java", *JVM.split(), *OPENS, "-Xmx256m", "-cp", str(HOME / "jars" / "*")]
        command += ["-Dspark.deploy.maxExecutorRetries=50", f"org.apache.spark.deploy.{name}"]
        command += ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0", *arguments]
        with log.open("wb") as out:
            started.append(
                subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                )
            )
        return started[-1], log

    try:
        master = _line(*start("master.Master"), r"Starting Spark master at (spark://\S+)")
        workers = [
            start("worker.Worker", "--cores", "2", "--memory", "4g", "-d", str(folder), master)
            for _ in range(WORKERS)
        ]
        for worker in workers:
            _line(*worker, r"(Successfully registered) with master")
        yield master, [process.pid for process, _ in workers]
    finally:
        _end(started)


@contextmanager
def session(master, **settings):
    """A session on the cluster, or on this machine; its Java process ends with it."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master(master).appName("laws")
    for name, value in {**SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()
        end_gateway()


def end_gateway():
    """End the Java process that pyspark keeps until Python ends."""
    gateway = SparkContext._gateway
    if gateway is None:
        return
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(30)
    SparkContext._gateway = SparkContext._jvm = None


def _line(process, log, pattern):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        found = re.search(pattern, log.read_text(errors="replace"))
        if found:
            return found.group(1)
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError(f"no sign of life:\n{log.read_text(errors='replace')[-2000:]}")


def _end(processes):
    """Workers take their executors with them; what is left after a while is killed."""
    for process in reversed(processes):
        process.terminate()
    for process in processes:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def executors(workers):
    """The processes of all executors that are up."""
    return sorted(led(workers, "CoarseGrainedExecutorBackend"))


def python_workers(workers):
    """The Python processes of all executors that run tasks; not those that only start others."""
    found = led(workers, "pyspark.daemon")
    return [pid for pid, parent in found.items() if parent in found]


def led(workers, word):
    """Processes in the sessions of some workers with a word in their command, and their parents."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                state, parent, _, leader = (
                    folder.joinpath("stat").read_text().rpartition(")")[2].split()[:4]
                )
                if int(leader) in workers and state != "Z":
                    if word in folder.joinpath("cmdline").read_text():
                        found[int(folder.name)] = int(parent)
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found
