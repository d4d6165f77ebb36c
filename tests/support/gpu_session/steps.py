"""The steps: what each one runs, and the figures that it reads from it. A step is data; session.py runs it."""
import os
import re
from dataclasses import dataclass, field
from typing import Callable, List, Tuple

from . import figures


class Program(str):
    """A word of a command: a program of the build, or else of PATH, which is found when the command starts."""


@dataclass
class Command:
    """Words, of which at least the first is a Program or a path, and the exit codes with which it did its work."""
    words: List[str]
    fine: Tuple[int, ...] = (0,)


@dataclass
class Setting:
    """What the commands of a step depend on. They run in the step's own folder, which is empty at first."""
    emulated: bool
    experiment: str  # path
    root: str        # of the sources, or of the bundle
    build: str
    earlier: str     # folder of the results of earlier steps
    sets: List[str] = field(default_factory=list)  # keys of the experiment that this machine needs to be other


@dataclass
class Outcome:
    """What a step measured. `skip`: why nothing could be measured; `errors`: what went wrong in it."""
    figures: List[dict]
    skip: str = ""
    errors: List[str] = field(default_factory=list)


@dataclass
class Step:
    name: str
    what: str
    shown: str  # the command, for the table of targets
    commands: Callable[[Setting], List[Command]]
    read: Callable[[str, str], Outcome]  # the step's folder and the programs' output
    # Whether its programs exist for emulated CUDA (tests/support/cuda_on_host).
    emulated: bool = False


def _tests(name, program, what, emulated_words):
    def commands(setting):
        return [Command([Program(program), "--gtest_output=json:tests.json"]
                        + (emulated_words if setting.emulated else []), fine=(0, 1))]

    def read(folder, output):
        found, skip = figures.of_tests(os.path.join(folder, "tests.json"), output, program)
        return Outcome(found, skip)
    return Step(name, what, program, commands, read, emulated=True)


_WRITE_BENCHMARKS = ["--benchmark_out=benchmarks.json", "--benchmark_out_format=json"]


def _read_benchmarks(folder, _):
    found, errors = figures.of_benchmarks(os.path.join(folder, "benchmarks.json"))
    return Outcome(found, errors=errors)


def _benchmark(name, program, what, words, emulated_words=None):
    """A program of Google Benchmark. `emulated_words`: its arguments under the emulation; None: it needs a GPU."""
    def commands(setting):
        own = emulated_words if setting.emulated else words
        return [Command([Program(program)] + _WRITE_BENCHMARKS + own)]
    return Step(name, what, " ".join([program] + words), commands, _read_benchmarks, emulated=emulated_words is not None)


def _messages():
    start = [Program("mpirun"), "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "plm",
             "^rsh,ssh,slurm,tm,lsf,alps", "-n", "1"]

    def commands(setting):
        words = [Program("runtime_benchmark"), "--benchmark_filter=gpu_send" + (".*bytes:1048576/" if setting.emulated else "")]
        # Of the two ranks, one writes the file.
        return [Command(start + words + _WRITE_BENCHMARKS + [":", "-n", "1"] + words)]
    return Step("messages", "messages from GPU memory", "mpirun -n 2 runtime_benchmark --benchmark_filter=gpu_send", commands,
                _read_benchmarks, emulated=True)


def _exchange():
    emulated_words = ["--ranks=2", "--models=lenet", "--image=28", "--batch=2", "--bucket_kib=64", "--precisions=fp32",
                      "--steps=1", "--turns=1"]

    def commands(setting):
        def exchange(*words):
            return Command([Program("gpu_exchange")] + list(words))
        if setting.emulated:
            return [exchange(*emulated_words), exchange(*emulated_words, "--messages=peer")]
        # Of the shortest, first, because the others may take all the time.
        return [exchange("--models=resnet18", "--precisions=fp32", "--ranks=2", "--messages=peer"), exchange("--trace=timeline")]
    return Step("exchange", "workers that share the GPU and exchange gradients",
                "gpu_exchange --models=resnet18 --precisions=fp32 --ranks=2 --messages=peer; gpu_exchange --trace=timeline", commands,
                lambda _, output: Outcome(figures.of_exchange(output)), emulated=True)


# Small enough for a processor; the same path through the programs.
_SMALL = ["workload.model=mlp", "workload.dataset=synthetic", "workload.train_samples=256", "workload.test_samples=32",
          "workload.batch=16", "workload.precision=fp32", "workload.bucket_bytes=64KiB"]


def _set(values):
    return [word for value in values for word in ("--set", value)]


def _experiment_words(setting, more=()):
    return [setting.experiment] + _set((_SMALL if setting.emulated else setting.sets) + list(more))


def _worker():
    small = ["workload.model=resnet18", "workload.batch=2", "workload.train_samples=16", "stop.rounds=4"]

    def commands(setting):
        words = _experiment_words(setting, small if setting.emulated else [])
        return [Command([Program("tandem"), "run"] + words + ["--variant", "alone", "--out", "alone", "-q"]),
                Command([Program("bare_loop"), "alone"] + (["--processor"] if setting.emulated else []))]

    def read(_, output):
        found, skip = figures.of_worker(output)
        return Outcome(found, skip)
    return Step("worker", "the worker of a tandem-rank that computes alone, and the plain libtorch loop with its model and batch",
                "tandem run EXPERIMENT --variant alone --out alone; bare_loop alone", commands, read, emulated=True)


_RANK_JOBS = {"server": [], "ring": ["sync.over=all-reduce", "sync.collective=ring"],
              "top-k": ["sync.over=all-reduce", "sync.collective=ring", "sync.compression=top-k"],
              "bf16": ["sync.over=all-reduce", "sync.collective=ring", "sync.compression=bf16"]}


# The job whose messages the job `peer` copies from GPU to GPU.
_STAGED = "ring-backward"


def _jobs(emulated):
    """The names of the jobs of the step `ranks`, with their keys."""
    jobs = {"%s-%s" % (name, overlap): keys + ["sync.overlap=" + overlap]
            for name, keys in _RANK_JOBS.items() for overlap in ("none", "backward")}
    jobs["graphs"] = jobs[_STAGED] + ["run.cuda_graphs=true"]
    jobs["peer"] = jobs[_STAGED] + ["run.device_messages=peer"]
    return {name: jobs[name] for name in ("server-none", _STAGED, "peer")} if emulated else jobs


def _ranks():
    common = ["workload.deterministic=true", "stop.rounds=20"]

    def commands(setting):
        fewer = ["stop.rounds=3"] if setting.emulated else []
        return [Command([Program("tandem"), "run"] + _experiment_words(setting, common + keys + fewer)
                        + ["--out", "%s-%d" % (job, run), "-q"])
                for job, keys in _jobs(setting.emulated).items() for run in (1, 2)]

    def read(folder, _):
        return Outcome(figures.of_models(folder, _jobs(False)) + figures.of_peers(folder, "peer", _STAGED))
    return Step("ranks", "jobs of tandem-rank, each twice: server, ring, top-k, bf16, without and with overlap; from CUDA "
                "graphs; messages between peers", "tandem run EXPERIMENT --set workload.deterministic=true", commands, read,
                emulated=True)


_NCCL_JOBS = {"plain": [], "fp16": ["sync.compression=fp16"], "top-k": ["sync.compression=top-k"]}
# The sum of two workers has the same bits in whatever order they are added.
_BY_NCCL, _BY_RING = "sync.collective=native", "sync.collective=ring"


def _nccl():
    """Two workers, each on a GPU of its own."""
    def commands(setting):
        common = ["platform=" + os.path.join(setting.root, "platforms", "four_h200.xml"), "placement.workers=[gpu-0,gpu-1]",
                  "placement.servers=[processor]", "sync.over=all-reduce", "workload.deterministic=true", "stop.rounds=20"]
        fewer = ["stop.rounds=3"] if setting.emulated else []
        jobs = {"plain": _NCCL_JOBS["plain"]} if setting.emulated else _NCCL_JOBS
        # Exit code 70 is also that of a machine with one GPU.
        return [Command([Program("tandem"), "run"] + _experiment_words(setting, common + keys + [collective] + fewer)
                        + ["--out", "%s-%s" % (job, run), "-q"], fine=(0, 70))
                for job, keys in jobs.items() for run, collective in ((1, _BY_NCCL), (2, _BY_NCCL), ("ring", _BY_RING))]

    def read(folder, output):
        if re.search(r"needs GPU 1 of its machine .*, but tandem-rank finds 1\b", output):
            return Outcome([], skip="the machine has one GPU")
        failed = [out for out in re.findall(r"^\$ .* --out (\S+) -q$", output, re.M)
                  if not os.path.exists(os.path.join(folder, out, "model.pt"))]
        return Outcome(figures.of_models(folder, _NCCL_JOBS) + figures.of_native_sums(folder, _NCCL_JOBS),
                       errors=["the job %s has no model" % out for out in failed])
    return Step("nccl", "jobs of two workers on two GPUs that sum with NCCL, each twice, and by Tandem's own ring",
                "tandem run EXPERIMENT --set platform=platforms/four_h200.xml --set sync.collective=native", commands, read,
                emulated=True)


def _calibrate():
    def commands(setting):
        return [Command([Program("tandem"), "calibrate"] + _experiment_words(setting) + ["--out", "profile.json"])]

    def read(folder, _):
        return Outcome([figures.figure("profile", "entries", sum(
            len(part) for part in (figures.read_json(os.path.join(folder, "profile.json")) or {}).values()
            if isinstance(part, list)))])
    return Step("calibrate", "times of work, messages and copies on this machine", "tandem calibrate EXPERIMENT", commands,
                read, emulated=True)


def _validate():
    def commands(setting):
        profile = os.path.join(setting.earlier, "calibrate", "profile.json")
        own = ["--profile", profile] if os.path.exists(profile) else []
        fewer = ["--variant", "alone", "--set", "stop.rounds=5"] if setting.emulated else []
        # Exit code 1 is a verdict of `validate`, whose tolerance is not the target.
        return [Command([Program("tandem"), "validate"] + _experiment_words(setting) + own + fewer + ["--out", "report"], fine=(0, 1))]
    return Step("validate", "step times simulated and measured, with the profile of the step `calibrate` if there is one",
                "tandem validate EXPERIMENT", commands,
                lambda folder, _: Outcome(figures.of_validation(os.path.join(folder, "report", "report.json"))), emulated=True)


def _sanitize(tool):
    def commands(setting):
        return [Command([os.path.join(setting.root, "tests", "sanitize_gpu"), tool, setting.build], fine=(0, 1, 77))]

    def read(_, output):
        skipped = re.search(r"sanitize_gpu: (.*), nothing checked", output)
        if skipped:
            return Outcome([], skip=skipped[1])
        counts = [int(count) for count in re.findall(r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+)", output)]
        return Outcome([figures.figure(tool, "errors", sum(counts))] if counts else [])
    return Step("sanitize_" + tool, "the device tests under compute-sanitizer's " + tool, "tests/sanitize_gpu %s BUILD" % tool,
                commands, read)


def _gpu_steps(side):
    return _benchmark("steps_%d" % side, "learner_benchmark", "training steps of ResNets, images of side %d" % side,
                      ["--benchmark_filter=gpu_step/[^/]*/%d/" % side])


STEPS = [
    _tests("device_tests", "gpu_device_test", "kernels, copies and queues compared with the processor", ["--gtest_filter=*DeviceQueueTest*"]),
    _tests("learner_tests", "gpu_learner_test", "the learner on the GPU compared with the processor", []),
    _benchmark("kernels", "kernels_benchmark", "kernels at 4 MiB, 128 MiB and 1 GiB",
               ["--benchmark_filter=-copy_", "4096", "131072", "1048576"],
               ["--benchmark_filter=-copy_", "--benchmark_min_time=0", "4"]),
    _benchmark("copies", "kernels_benchmark", "copies between GPU and host", ["--benchmark_filter=copy_", "4096", "131072"],
               ["--benchmark_filter=copy_", "--benchmark_min_time=0", "4"]),
    _messages(),
    _gpu_steps(224),
    _gpu_steps(32),
    _worker(),
    _exchange(),
    _ranks(),
    _nccl(),
    _calibrate(),
    _validate(),
] + [_sanitize(tool) for tool in ("memcheck", "racecheck", "initcheck", "synccheck")]
