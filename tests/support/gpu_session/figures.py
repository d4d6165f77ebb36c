"""Reads figures from what the programs print. A figure is {"name", "figure", "value"}: `name` says of what."""
import json
import math
import os
import re

# What Google Benchmark writes about every benchmark besides its counters.
_NO_COUNTERS = {"family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations",
                "real_time", "cpu_time", "error_occurred"}
_MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}


def figure(name, key, value):
    return {"name": name, "figure": key, "value": value}


def read_json(path):
    """None if the file is missing, or cut off because its program was ended."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def _whole_benchmarks(text):
    """The benchmarks of a file that may be cut off behind one of them."""
    try:
        return json.loads(text)["benchmarks"]
    except ValueError:
        kept = text.rpartition("\n    }")[0]
    try:
        return json.loads(kept + "}]}")["benchmarks"] if kept else []
    except ValueError:
        return []


def of_benchmarks(path):
    """The counters of each benchmark, its time in microseconds and its rate in TB/s; and the messages of those that
    failed. Names lose what they say about how time was taken."""
    if not os.path.exists(path):
        return [], []
    with open(path, encoding="utf-8") as file:
        benchmarks = _whole_benchmarks(file.read())
    found, errors = [], []
    for one in benchmarks:
        name = re.sub(r"/(manual_time|real_time|iterations:\d+)", "", one["name"])
        message = one.get("error_message") or one.get("skip_message")
        if message:
            errors.append("%s: %s" % (name, message))
            continue
        found.append(figure(name, "time_us", one["real_time"] * _MICROSECONDS[one["time_unit"]]))
        for key, value in one.items():
            if key in _NO_COUNTERS or isinstance(value, (str, bool)) or not math.isfinite(value):
                continue
            found.append(figure(name, "tb_per_s", value / 1e12) if key == "bytes_per_second" else figure(name, key, value))
    return found, errors


def of_tests(path, output, name):
    """Counts of tests; or, where none ran or all were skipped, why. Skipped tests are not counted as passed."""
    report = read_json(path)
    if report is None:
        return [], ""
    tests = [test for suite in report["testsuites"] for test in suite["testsuite"]]
    skipped = [test for test in tests if test.get("result") == "SKIPPED"]
    failed = sum(1 for test in tests if test.get("failures"))
    if not tests:
        return [], "no test ran"
    if len(skipped) == len(tests):
        reason = re.search(r": Skipped\n(.+)", output)
        return [], reason[1].strip() if reason else "all tests were skipped"
    return [figure(name, "failed_tests", failed), figure(name, "passed_tests", len(tests) - failed - len(skipped)),
            figure(name, "skipped_tests", len(skipped))], ""


_EXCHANGE_HEAD = re.compile(r"(\d+) ranks on one GPU, (\S+) of side (\d+), (\w+), batch (\d+) each, \d+ buckets, messages (\w+)")
_EXCHANGE_LINES = ((r"step_compute_alone\s+([\d.]+) ms", "alone_ms"), (r"step_with_exchange\s+([\d.]+) ms", "with_ms"),
                   (r"with / alone\s+([\d.]+)", "of_alone"), (r"with / \(alone \+ that\) ([\d.]+)", "of_bound"))


def of_exchange(text):
    """The lines of gpu_exchange."""
    found, name = [], None
    for line in text.splitlines():
        head = _EXCHANGE_HEAD.search(line)
        if head:
            name = "%s_ranks/%s/%s/%s" % (head[1], head[2], head[3], head[4])
            if head[6] != "staged":
                name += "/" + head[6]
        for pattern, key in _EXCHANGE_LINES:
            match = re.search(pattern, line)
            if match and name:
                found.append(figure(name, key, float(match[1])))
    times = {one["name"]: one["value"] for one in found if one["figure"] == "with_ms"}
    found += [figure(name, "of_staged", times[name + "/peer"] / times[name]) for name in times if name + "/peer" in times]
    return found


_WORKER_LINES = ((r"bare contiguous\s+([\d.]+) ms", "contiguous_ms"), (r"bare channels_last\s+([\d.]+) ms", "channels_last_ms"),
                 (r"worker of the run\s+([\d.]+) ms", "worker_ms"), (r"worker / bare\s+([\d.]+)", "ratio"))


def of_worker(text):
    """The lines of bare_loop; or why it measured nothing."""
    nothing = re.search(r"bare_loop: nothing measured, because (.+)", text)
    if nothing:
        return [], nothing[1]
    matches = [(re.search(pattern, text), key) for pattern, key in _WORKER_LINES]
    return [figure("alone", key, float(match[1])) for match, key in matches if match], ""


def of_validation(path):
    """Errors of the step time of each configuration of a report.json, by the name of its variant."""
    report = read_json(path) or {"configurations": []}
    found = []
    for configuration in report["configurations"]:
        name = configuration["name"].rpartition("/")[2]
        for one in configuration.get("figures") or []:
            if one["key"] == "step_time" and one["rank"] == -1 and one["error"] is not None:
                found += [figure(name, "step_time_error", abs(one["error"])), figure(name, "simulated_s", one["simulated"]),
                          figure(name, "measured_s", one["measured"])]
    return found


def _have_different_models(folder, first, second):
    """0 or 1, by comparing bit by bit; None if a model is missing."""
    models = [os.path.join(folder, job, "model.pt") for job in (first, second)]
    if not all(os.path.exists(model) for model in models):
        return None
    one, other = (open(model, "rb").read() for model in models)
    return int(one != other)


def of_models(folder, jobs):
    """Whether the two runs of each job wrote the same model, bit by bit; jobs of which a model is missing are left out."""
    compared = [(job, _have_different_models(folder, job + "-1", job + "-2")) for job in jobs]
    return [figure(job, "different_models", different) for job, different in compared if different is not None]


def of_peers(folder, job, staged):
    """Whether the model of a job whose messages pass between peers differs from that of staged messages; nothing without
    their results."""
    different = _have_different_models(folder, job + "-1", staged + "-1")
    return [] if different is None else [figure(job, "other_than_staged", different)]


def of_native_sums(folder, jobs):
    """Of jobs that NCCL should sum: whether it did not; and whether the model of another collective differs. Jobs without
    results are left out."""
    found = []
    for job in jobs:
        run = read_json(os.path.join(folder, job + "-1", "run.json"))
        if run is not None:
            found.append(figure(job, "sums_without_nccl", int(run["physics"].get("native_sums") != "NCCL")))
        different = _have_different_models(folder, job + "-1", job + "-ring")
        if different is not None:
            found.append(figure(job, "other_than_ring", different))
    return found
