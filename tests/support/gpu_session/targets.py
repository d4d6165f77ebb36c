"""Judges the figures of a step by the targets of targets.json, the only place where they are stated."""
import json
import os
import re

REACHED, MISSED, SKIPPED, EMULATED, UNKNOWN = "reached", "missed", "skipped", "emulated", "not measured"


def load():
    """The targets in the order of the file, each with `bound`, `limit` and `text`, such as "at most 1.03"."""
    with open(os.path.join(os.path.dirname(__file__), "targets.json"), encoding="utf-8") as file:
        targets = json.load(file)
    for target in targets:
        target["bound"] = "at_most" if "at_most" in target else "at_least"
        target["limit"] = target[target["bound"]]
        target["text"] = "%s %s" % (target["bound"].replace("_", " "), number(target["limit"]))
    return targets


def number(value):
    """At most four significant digits."""
    return "%.4g" % value


def excess(target, value):
    """How far a value is beyond the limit; negative: how far within."""
    return value - target["limit"] if target["bound"] == "at_most" else target["limit"] - value


def matching(target, figures):
    only = re.compile(target.get("only", ""))
    return [one for one in figures if one["figure"] == target["figure"] and only.search(one["name"])]


def judge(target, record):
    """The verdict of one target on the record of its step. The worst value decides. A target is reached only if
    its step ended well on a GPU; under the emulation a value that no GPU changes can be missed, never reached."""
    verdict = {key: target[key] for key in ("figure", "what", "text")}
    found = matching(target, record["figures"])
    worst = max(found, key=lambda one: excess(target, one["value"]), default=None)
    if worst is not None:
        over = [one["name"] for one in found if excess(target, one["value"]) > 0]
        verdict.update(value=worst["value"], worst=worst["name"], by=abs(excess(target, worst["value"])),
                       figures=len(found), missed=over)
    verdict["verdict"], verdict["reason"] = _verdict(target, record, verdict)
    return verdict


def _verdict(target, record, measured):
    if record["status"] == "skipped":
        return SKIPPED, record["reason"]
    if record["emulated"] and not target.get("emulated", False):
        return SKIPPED, "no GPU"
    if measured.get("missed"):
        return MISSED, ""
    if record["status"] != "done":
        return UNKNOWN, "the step %s" % record["status"]
    if "value" not in measured:
        return UNKNOWN, "the step printed no such figure"
    return (EMULATED if record["emulated"] else REACHED), ""


def line(step, verdict):
    """One line: step, figure, target, verdict, and by how much."""
    text = "%s: %s %s: %s" % (step, verdict["figure"], verdict["text"], verdict["verdict"])
    if verdict["reason"]:
        return text + ": " + verdict["reason"]
    value = number(verdict["value"])
    if verdict["verdict"] == MISSED:
        return text + " by %s (%s, %s; %d of %d)" % (number(verdict["by"]), value, verdict["worst"],
                                                     len(verdict["missed"]), verdict["figures"])
    return text + ", %s to spare (%s, %s)" % (number(verdict["by"]), value, verdict["worst"])


def table(steps):
    """The targets as a Markdown table, which runtime/gpu/README.md contains."""
    commands = {step.name: step.shown for step in steps}
    lines = ["| step | what is measured | figure | target | command |", "| --- | --- | --- | --- | --- |"]
    for target in load():
        lines.append("| `%s` | %s | `%s` | %s | `%s` |" % (target["step"], target["what"], target["figure"],
                                                           target["text"], commands[target["step"]]))
    return "\n".join(lines)
