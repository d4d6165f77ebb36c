"""What a reader has to know about the machine: its GPU, clocks, driver and software. Starts programs that only ask."""
import os
import platform
import re
import shutil
import signal
import subprocess
from datetime import datetime, timezone

_FIELDS = ["name", "driver_version", "memory.total", "clocks.max.sm", "clocks.max.memory", "power.limit"]
_SAMPLED = ["clocks.sm", "clocks.memory", "power.draw", "temperature.gpu", "utilization.gpu"]


def now():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def lines_of(words, environment=None):
    """What a program prints; empty if it cannot be started or fails."""
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
                              timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.strip().splitlines() if done.returncode == 0 else []


def first_line(words, environment=None):
    return (lines_of(words, environment) or [""])[0]


def nvidia_smi():
    """The path of nvidia-smi, or None."""
    return shutil.which("nvidia-smi") or shutil.which("nvidia-smi", path="/usr/local/nvidia/bin:/usr/lib/wsl/lib")


def find_gpu():
    """The first GPU as nvidia-smi describes it; None if there is none."""
    program = nvidia_smi()
    line = first_line([program, "--query-gpu=" + ",".join(_FIELDS), "--format=csv,noheader"]) if program else ""
    if not line or "No devices" in line:
        return None
    return dict(zip(_FIELDS, (value.strip() for value in line.split(","))))


class ClockSamples:
    """Clocks, power and temperature of the GPU while a step runs, every two seconds, by one nvidia-smi; nothing where
    no GPU is used."""

    def __init__(self, path, has_gpu):
        program = nvidia_smi() if has_gpu else None
        self.path, self.process = path, None
        if program:
            with open(path, "w", encoding="utf-8") as file:
                self.process = subprocess.Popen(
                    [program, "--query-gpu=" + ",".join(_SAMPLED), "--format=csv,noheader,nounits", "--loop=2", "--id=0"],
                    stdout=file, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, start_new_session=True)

    def stop(self):
        """{field: {"least", "median", "largest"}}. Removes the file."""
        if self.process is None:
            return {}
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        with open(self.path, encoding="utf-8") as file:
            rows = [line.split(",") for line in file]
        os.remove(self.path)
        summary = {}
        for column, key in enumerate(_SAMPLED):
            values = sorted(float(row[column]) for row in rows
                            if len(row) == len(_SAMPLED) and re.fullmatch(r"\s*[\d.]+\s*", row[column]))
            if values:
                summary[key] = {"least": values[0], "median": values[len(values) // 2], "largest": values[-1]}
        return summary


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = re.findall(r"model name\s*: (.*)", file.read())
    except OSError:
        names = []
    return "%d x %s" % (os.cpu_count() or 1, names[0] if names else platform.machine())


def describe(programs, emulated):
    """Device, driver and versions. `programs`: those of the build. Emulated CUDA does not use a GPU that is there."""
    rank = programs.find("tandem-rank")
    return {"gpu": None if emulated else find_gpu(), "kernel": platform.release(), "processor": _processor(),
            "mpi": first_line(["mpirun", "--version"], programs.environment),
            "tandem-rank": ", ".join(lines_of([rank, "--version"], programs.environment)) if rank else "",
            "python": platform.python_version()}
