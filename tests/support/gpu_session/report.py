"""The report of a session as Markdown, made from the records of its steps alone."""
import json
import os
import shlex

from . import targets
from .steps import STEPS

_LONGEST_TABLE = 60  # rows of one step; the rest is in its record


def read_records(out):
    """The records in OUT, in the order of the steps."""
    records = []
    for step in STEPS:
        path = os.path.join(out, step.name + ".json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                records.append(json.load(file))
    return records


def date_of(records):
    return max(record["started"] for record in records)[:10]


def _cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def _table(head, rows):
    return ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"] + \
           ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows] + [""]


def _machines(records):
    """Each machine once, with the steps that it ran."""
    known = []
    for record in records:
        for machine, steps in known:
            if machine == record["machine"]:
                steps.append(record["step"])
                break
        else:
            known.append((record["machine"], [record["step"]]))
    lines = []
    for machine, steps in known:
        rows = [("GPU: " + key, value) for key, value in (machine["gpu"] or {"name": "none"}).items()]
        rows += [(key, value) for key, value in machine.items() if key != "gpu" and value]
        lines += ["Steps %s:" % ", ".join("`%s`" % step for step in steps), ""] + _table(("what", "value"), rows)
    return lines


def _clocks(records):
    rows = [(record["step"], key, "%g" % value["least"], "%g" % value["median"], "%g" % value["largest"])
            for record in records for key, value in record["clocks"].items()]
    if not rows:
        return ["No clocks were read.", ""]
    return _table(("step", "of the GPU while it ran", "least", "median", "largest"), rows)


def _value(verdict):
    if "value" not in verdict:
        return "", ""
    sign = "beyond by" if verdict["missed"] else "to spare:"
    return "%s (%s)" % (targets.number(verdict["value"]), verdict["worst"]), "%s %s" % (sign, targets.number(verdict["by"]))


def _targets(records):
    rows = []
    for record in records:
        for verdict in record["targets"]:
            said = verdict["verdict"] + (": " + verdict["reason"] if verdict["reason"] else "")
            rows.append((record["step"], verdict["what"], "`%s` %s" % (verdict["figure"], verdict["text"]), said) + _value(verdict))
    return _table(("step", "what is measured", "target", "verdict", "worst figure", "by how much"), rows)


def _figures(record):
    """One row per name, one column per figure."""
    keys = list(dict.fromkeys(one["figure"] for one in record["figures"]))
    rows = {}
    for one in record["figures"]:
        rows.setdefault(one["name"], {})[one["figure"]] = targets.number(one["value"])
    shown = list(rows.items())[:_LONGEST_TABLE]
    lines = _table(["of"] + keys, [[name] + [row.get(key, "") for key in keys] for name, row in shown])
    if len(rows) > len(shown):
        lines += ["%d more rows are in `%s.json`." % (len(rows) - len(shown), record["step"]), ""]
    return lines


def _steps(records):
    lines = []
    for record in records:
        lines += ["### %s" % record["step"], "", "%s. %s%s, %g s, %s." % (
            record["what"][0].upper() + record["what"][1:], record["status"],
            " (%s)" % record["reason"] if record["reason"] else "", record["duration_s"], record["started"]), ""]
        if record["commands"]:
            lines += ["```"] + [" ".join(shlex.quote(word) for word in one["words"]) for one in record["commands"]] + ["```", ""]
        if record["figures"]:
            lines += _figures(record)
    return lines


def text(records, command):
    """Pre: there is at least one record."""
    emulated = any(record["emulated"] for record in records)
    gpus = sorted({record["machine"]["gpu"]["name"] for record in records if record["machine"]["gpu"] and not record["emulated"]})
    lines = ["# GPU session of %s: %s" % (date_of(records), ", ".join(gpus) or "no GPU"), ""]
    if emulated:
        lines += ["**CUDA was emulated on the processor.** No time on this page says anything about a GPU.", ""]
    lines += ["Made with", "", "```", command, "```", "", "## Targets", ""] + _targets(records)
    lines += ["## Machine", ""] + _machines(records) + ["## Clocks", ""] + _clocks(records)
    lines += ["## Steps", ""] + _steps(records)
    return "\n".join(lines).rstrip() + "\n"
