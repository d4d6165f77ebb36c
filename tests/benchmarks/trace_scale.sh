#!/bin/bash
# How fast a real trace is read, next to nlohmann-json's parser with a handler that does nothing, and how much
# memory the import of a large one needs. Writes the events of TRACE several times in one text, each time later
# than the time before: 65 times those of 15.4 MB make 1 GB. Fails if the import needs more memory than a fifth
# of the text, of which the program itself needs 40 MB: TIMES has to make at least 500 MB.
#   tests/benchmarks/trace_scale.sh BIN TRACE.json.gz TIMES
set -euo pipefail
bin=$(realpath "$1") trace=$(realpath "$2") times=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 - "$trace" "$folder/large.json" "$times" <<'PYTHON'
import gzip, json, re, sys
text = gzip.open(sys.argv[1], "rt").read()
begin = text.index("[", text.index('"traceEvents"'))
events, after = json.JSONDecoder().raw_decode(text, begin)
begin, end = begin + 1, after - 1
spans = [event for event in events if event["ph"] == "X" and event["ts"] > 0]
# Steps at one time, or launches of one number, would be no steps of a job.
length = int(max(span["ts"] + span["dur"] for span in spans) - min(span["ts"] for span in spans)) + 1
launches = max(span["args"].get("correlation", 0) for span in spans if "args" in span) + 1
with open(sys.argv[2], "w") as large:
    large.write(text[:begin])
    for time in range(int(sys.argv[3])):
        later = {"ts": time * length, "correlation": time * launches}
        shifted = lambda found: f'"{found[1]}": {int(found[2]) + later[found[1]]}'
        large.write(("," if time else "") + re.sub(r'"(ts|correlation)": (\d+)', shifted, text[begin:end]))
    large.write(text[end:])
PYTHON
size=$(stat -c %s "$folder/large.json")
echo "text of $((size / 1000000)) MB"
"$bin/trace_benchmark" --benchmark_repetitions=3 --benchmark_report_aggregates_only=true "$folder/large.json" 2>/dev/null |
  grep _median | awk '{print "  " $1, $2, $3}'
read -r seconds memory < <(/usr/bin/time -f '%U %M' "$bin/tandem" import "$folder/large.json" 2>&1 >/dev/null | tail -1)
most=$((size / 5 / 1024))
echo "  tandem import: $seconds s of processor time, $memory kB, at most $most kB"
((memory <= most))
