#!/bin/bash
# How long `tandem simulate` takes for 64 workers, each with a cache node, and 1.28 million images of ImageNet's
# sizes on four stores, for three epochs: processor time and memory for each cache policy. Events that are less
# than 10 us apart happen at the same time, unless PRECISION says otherwise (SimGrid's own: 1e-9, in seconds).
#   [PRECISION=1e-5] tests/benchmarks/cache_scale.sh TANDEM [POLICY...]
set -euo pipefail
tandem=$(realpath "$1")
shift
policies=("$@")
[ ${#policies[@]} -gt 0 ] || policies=(minio nopfs nopfs-alone icache)
nodes=64 stores=4
precision=${PRECISION:-1e-5}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

names() { # names PREFIX COUNT: "[p0, p1, ...]"
  local list
  list=$(seq -s ', ' -f "$1%g" 0 $(($2 - 1)))
  echo "[$list]"
}

{
  echo '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
  echo "<platform version=\"4.1\"><config><prop id=\"surf/precision\" value=\"$precision\"/></config>"
  echo '<zone id="room" routing="Floyd">'
  for ((i = 0; i < nodes; ++i)); do
    echo "<host id=\"n$i\" speed=\"28Gf\" core=\"12\"><disk id=\"d\" read_bw=\"2GBps\" write_bw=\"1GBps\"/><prop id=\"device\" value=\"v100\"/><prop id=\"memory\" value=\"256GiB\"/></host>"
    echo "<link id=\"l$i\" bandwidth=\"1.25GBps\" latency=\"20us\" sharing_policy=\"SPLITDUPLEX\"/>"
  done
  for ((i = 0; i < stores; ++i)); do
    echo "<host id=\"s$i\" speed=\"28Gf\" core=\"12\"><disk id=\"d\" read_bw=\"2GBps\" write_bw=\"1GBps\"><prop id=\"tandem:parallel\" value=\"8\"/><prop id=\"tandem:latency\" value=\"100us\"/></disk><prop id=\"device\" value=\"xeon-e5-2650-v4\"/><prop id=\"memory\" value=\"256GiB\"/></host>"
    echo "<link id=\"ls$i\" bandwidth=\"5GBps\" latency=\"20us\" sharing_policy=\"SPLITDUPLEX\"/>"
  done
  echo '<router id="core"/>'
  for ((i = 0; i < nodes; ++i)); do echo "<route src=\"n$i\" dst=\"core\"><link_ctn id=\"l$i\" direction=\"UP\"/></route>"; done
  for ((i = 0; i < stores; ++i)); do echo "<route src=\"s$i\" dst=\"core\"><link_ctn id=\"ls$i\" direction=\"UP\"/></route>"; done
  echo '</zone></platform>'
} >room.xml

cat >scale.yaml <<YAML
platform: room.xml
workload: {math: modelled, model: resnet50, dataset: sizes, batch: 64}
sync: {over: all-reduce, collective: native}
data: {source: storage, sampling: shuffled, cache_capacity: 1GB, prefetch: 2}
placement: {workers: $(names n $nodes), cache_nodes: $(names n $nodes), stores: $(names s $stores)}
stop: {epochs: 3}
variants:
  minio: {data.cache: minio}
  nopfs: {data.cache: nopfs, data.peers: plan}
  nopfs-alone: {data.cache: nopfs}
  icache: {data.cache: icache, data.cache_options: {split: 0.8}, data.sampling: importance, data.sampling_options: {warm_up: 1}}
YAML

for policy in "${policies[@]}"; do
  echo "$policy:"
  /usr/bin/time -f '  %U s of processor time, %M kB' "$tandem" simulate scale.yaml --variant "$policy" --out "$policy" 2>&1 |
    grep -E 'simulated|processor time|rror'
done
