"""Runs steps: commands with a limit of time, their output in a log, the record of each step written in one piece."""
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

from . import bundle, machine, targets
from .figures import read_json
from .steps import Outcome, Program

STEP_LIMIT_S = 480
_GRACE_S = 10  # for a program to end itself and its ranks

# Programs whose emulated version has another name.
_EMULATED = {"gpu_device_test": "compute_device_test", "kernels_benchmark": "kernels_benchmark_on_host",
             "gpu_exchange": "gpu_exchange_on_host", "runtime_benchmark": "runtime_benchmark_on_host",
             "tandem-rank": "tandem-rank-cuda-on-host"}

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """A signal asks the session to end."""


def end_on_signals():
    """SIGINT, SIGTERM and SIGHUP end the running program and the session. A shell's background jobs ignore SIGINT
    otherwise."""
    def raise_interrupted(number, _):
        for other in _ENDING:
            signal.signal(other, signal.SIG_IGN)
        raise Interrupted(signal.Signals(number).name)
    for number in _ENDING:
        signal.signal(number, raise_interrupted)


def write_whole(path, text):
    """Readers see the old file or the whole new one."""
    folder = os.path.dirname(os.path.abspath(path))
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".new-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


class Programs:
    """The programs of a build or a bundle, and the environment in which they run."""

    def __init__(self, build, root, emulated, temporary):
        self.bin = os.path.join(os.path.abspath(build), "bin")
        # GoogleTest's variables, such as those of ctest for the test of this program, choose among tests.
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("GTEST_")}
        if emulated:
            self.environment.setdefault("OMP_NUM_THREADS", "1")
            # Bytes of an emulated GPU: two ranks with libtorch's reserves need more than its default.
            self.environment.setdefault("CUDA_ON_HOST_MEMORY", "4000000000")
        if os.geteuid() == 0:
            self.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        if bundle.is_bundle(root):
            self.environment.update(bundle.environment(root, self.environment))
        if emulated:
            self._emulate(temporary)
        self.environment["PATH"] = self.bin + os.pathsep + self.environment["PATH"]

    def _emulate(self, temporary):
        """A folder in which the emulated programs have the names of those for GPUs."""
        own = os.path.join(temporary, "bin")
        os.mkdir(own)
        names = {name: name for name in os.listdir(self.bin)}
        names.update((name, emulated) for name, emulated in _EMULATED.items() if emulated in names)
        for name, target in names.items():
            os.symlink(os.path.join(self.bin, target), os.path.join(own, name))
        # `tandem` starts the tandem-rank in the folder of its own file, so a link would not do.
        tandem = os.path.join(own, "tandem")
        if os.path.exists(tandem):
            os.unlink(tandem)
            shutil.copy2(os.path.join(self.bin, "tandem"), tandem)
        self.bin = own

    def find(self, name):
        """The path of a program of the build, or else of PATH; None if there is none."""
        return shutil.which(name, path=self.environment["PATH"])


class Session:
    """Runs steps and writes OUT/STEP.json, OUT/STEP.log and OUT/STEP/ (files of the programs)."""

    def __init__(self, out, programs, setting, limit_s, temporary):
        self.out, self.programs, self.setting, self.limit_s = out, programs, setting, limit_s
        self.temporary = temporary
        self.machine = machine.describe(programs, setting.emulated)

    def run(self, step):
        """The record of a step, which it also writes, and its lines for the targets."""
        record = {"step": step.name, "what": step.what, "emulated": self.setting.emulated, "limit_s": self.limit_s,
                  "started": machine.now(), "machine": self.machine, "commands": [], "figures": [], "clocks": {}}
        folder = os.path.join(self.temporary, step.name)
        os.mkdir(folder)
        start = time.monotonic()
        record["status"], record["reason"] = self._measure(step, record, folder)
        record["duration_s"] = round(time.monotonic() - start, 1)
        record["targets"] = [targets.judge(target, record) for target in targets.load() if target["step"] == step.name]
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        self._keep(step.name, folder, record)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        return record

    def _reason_to_skip(self, commands):
        for word in (word for command in commands for word in command.words):
            if isinstance(word, Program) and self.programs.find(word) is None:
                return "no %s in %s (built without CUDA, MPI, libtorch or SimGrid?)" % (word, self.programs.bin)
        return ""

    def _measure(self, step, record, folder):
        if not step.emulated if self.setting.emulated else self.machine["gpu"] is None:
            return "skipped", "no GPU"
        commands = step.commands(self.setting)
        skip = self._reason_to_skip(commands)
        if skip:
            return "skipped", skip
        deadline = time.monotonic() + self.limit_s
        log = os.path.join(folder, "log")
        clocks = machine.ClockSamples(os.path.join(folder, "clocks"), self.machine["gpu"] is not None)
        try:
            status, reason = self._run_all(commands, record, folder, log, deadline)
        finally:
            record["clocks"] = clocks.stop()
        with open(log, encoding="utf-8", errors="replace") as file:
            output = file.read()
        try:
            outcome = step.read(folder, output)
        except (KeyError, TypeError, ValueError) as error:
            outcome = Outcome([], errors=["%s cannot be read: %r" % (step.name, error)])
        record["figures"] = outcome.figures
        if outcome.skip and status == "done":
            return "skipped", outcome.skip
        if outcome.errors and status == "done":
            return "failed", "; ".join(outcome.errors[:3])
        return status, reason

    def _run_all(self, commands, record, folder, log, deadline):
        for command in commands:
            code = self._run(command.words, record, folder, log, deadline)
            shown = " ".join(shlex.quote(word) for word in command.words)
            if code is None:
                return "timed out", "%d s were over during: %s" % (self.limit_s, shown)
            if code not in command.fine:
                with open(log, encoding="utf-8", errors="replace") as file:
                    last = [line.strip() for line in file if line.strip()][-1:]
                return "failed", "exit code %d of: %s%s" % (code, shown, ": " + last[0] if len(last) > 0 else "")
        return "done", ""

    def _run(self, words, record, folder, log, deadline):
        """The exit code; None if the time was over."""
        start = time.monotonic()
        found = [self.programs.find(word) if isinstance(word, Program) else word for word in words]
        entry = {"words": words, "exit_code": None}
        record["commands"].append(entry)
        with open(log, "a", encoding="utf-8") as file:
            file.write("$ %s\n" % " ".join(shlex.quote(word) for word in words))
            file.flush()
            try:
                process = subprocess.Popen(found, cwd=folder, env=self.programs.environment, stdin=subprocess.DEVNULL,
                                           stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
            except OSError as error:
                file.write("cannot be started: %s\n" % error)
                entry["exit_code"] = 127
                return 127
            try:
                entry["exit_code"] = process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
            finally:
                _end(process)
        entry["duration_s"] = round(time.monotonic() - start, 1)
        return entry["exit_code"]

    def _keep(self, name, folder, record):
        """Moves the files of a step to OUT, the record last: where it is, the other files are whole. What a GPU has
        measured is not replaced by the message that there is none."""
        kept = os.path.join(self.out, name)
        earlier = read_json(kept + ".json")
        if record["status"] == "skipped" and earlier is not None and earlier["status"] != "skipped":
            record["reason"] += "; %s.json keeps the earlier result" % kept
            return
        log = os.path.join(folder, "log")
        for old in (kept + ".json", kept + ".log"):
            if os.path.exists(old):
                os.unlink(old)
        shutil.rmtree(kept, ignore_errors=True)
        if os.path.exists(log):
            os.replace(log, kept + ".log")
        if os.listdir(folder):
            os.replace(folder, kept)
        write_whole(kept + ".json", json.dumps(record, indent=1) + "\n")


def _end(process):
    """Ends a program and what it started in its session: asks first, so that mpirun can end its ranks."""
    for number, patience in ((signal.SIGTERM, _GRACE_S), (signal.SIGKILL, _GRACE_S)):
        if process.poll() is not None and not _group_lives(process.pid):
            return
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        until = time.monotonic() + patience
        while time.monotonic() < until and (process.poll() is None or _group_lives(process.pid)):
            time.sleep(0.05)


def _group_lives(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
