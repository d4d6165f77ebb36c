#!/bin/bash
# How fast a real trace is read, next to nlohmann-json's parser with a handler that does nothing, and how much
# memory the import of a large one needs. Repeats the events of TRACE in one text: 65 times those of 15.4 MB make
# 1 GB.
#   tests/benchmarks/trace_scale.sh BIN TRACE.json.gz TIMES
set -euo pipefail
bin=$(realpath "$1") trace=$(realpath "$2") times=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 - "$trace" "$folder/large.json" "$times" <<'PYTHON'
import gzip, json, sys
text = gzip.open(sys.argv[1], "rt").read()
begin = text.index("[", text.index('"traceEvents"'))
_, after = json.JSONDecoder().raw_decode(text, begin)
begin, end = begin + 1, after - 1
with open(sys.argv[2], "w") as large:
    large.write(text[:begin])
    for time in range(int(sys.argv[3])):
        large.write(("," if time else "") + text[begin:end])
    large.write(text[end:])
PYTHON
echo "text of $(($(stat -c %s "$folder/large.json") / 1000000)) MB"
"$bin/trace_benchmark" --benchmark_repetitions=3 --benchmark_report_aggregates_only=true "$folder/large.json" 2>/dev/null |
  grep _median | awk '{print "  " $1, $2, $3}'
/usr/bin/time -f '  tandem import: %U s of processor time, %M kB' "$bin/tandem" import "$folder/large.json" 2>&1 >/dev/null | tail -1 || true
