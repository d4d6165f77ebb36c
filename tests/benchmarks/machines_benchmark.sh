#!/bin/sh
# Benchmarks on four machines: network namespaces with a real sshd (tests/support/ssh_machines.sh), which share the cores of
# this machine. Needs root and Debian's openssh-server.
#   machines_benchmark.sh PROGRAMS launch [TURNS]     how much longer a job of 16 ranks and one round takes on four machines
#                                                     than on one: whole commands in alternation, medians
#   machines_benchmark.sh PROGRAMS all-reduce         all_reduce_benchmark over TCP, on two and on four machines
# PROGRAMS: the folder of the built programs.
set -eu

programs=$(cd "$1" && pwd)
what=$2
turns=${3:-5}
support=$(cd "$(dirname "$0")/../support" && pwd)
folder=$(mktemp -d /tmp/tandem-machines.XXXXXX)
cluster=$(basename "$folder" | tr . -)
cd "$folder"

finish() {
  sh "$support/ssh_machines.sh" down "$folder/ssh"
  "$programs/tandem" cluster down "$cluster.xml" > /dev/null || true
  rm -rf "$folder"
}
trap finish EXIT

{
  echo "<?xml version='1.0'?>"
  echo "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">"
  echo "<platform version='4.1'><zone id='z' routing='Floyd'>"
  for host in m1 m2 m3 m4; do echo "<host id='$host' speed='1Gf' core='8'/>"; done
  echo "<router id='switch'/>"
  for host in m1 m2 m3 m4; do
    echo "<link id='cable-$host' bandwidth='1.25GBps' latency='50us' sharing_policy='SPLITDUPLEX'/>"
  done
  for host in m1 m2 m3 m4; do
    echo "<route src='$host' dst='switch'><link_ctn id='cable-$host' direction='UP'/></route>"
  done
  echo "</zone></platform>"
} > "$cluster.xml"
cat > job.yaml << END
platform: $cluster.xml
workload: {model: mlp, dataset: synthetic, math: modelled, batch: 8}
placement: {workers: [m1, m1, m1, m1, m2, m2, m2, m2, m3, m3, m3, m3, m4, m4, m4, m4]}
sync: {over: all-reduce, collective: ring}
run: {devices: native}
stop: {rounds: 1}
END
"$programs/tandem" cluster up "$cluster.xml" > /dev/null
sh "$support/ssh_machines.sh" up "$cluster" "$folder/ssh" m1 m2 m3 m4
export OMPI_MCA_plm_rsh_agent="ssh -F $folder/ssh/ssh_config"

on_m1() { sh "/run/tandem/clusters/$cluster/enter" m1 "$@"; }

# The seconds of a job with these options.
seconds_of() {
  start=$(date +%s.%N)
  on_m1 "$programs/tandem" run job.yaml --out out --force -q "$@" > log 2>&1 || {
    cat log >&2
    exit 1
  }
  echo "$start $(date +%s.%N)" | awk '{ printf "%.3f\n", $2 - $1 }'
}
median() { sort -n "$1" | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

launch() {
  seconds_of > /dev/null
  seconds_of --hosts m1,m2,m3,m4 > /dev/null
  for turn in $(seq "$turns"); do
    seconds_of >> one
    seconds_of --hosts m1,m2,m3,m4 >> four
  done
  echo "16 ranks, medians of $turns: $(median one) s on one machine, $(median four) s on four," \
    "$(echo "$(median four) $(median one)" | awk '{ printf "%+.2f", $1 - $2 }') s"
}

all_reduce() {
  for hosts in m1,m2 m1,m2,m3,m4; do on_m1 "$programs/all_reduce_benchmark" "--hosts=$hosts"; done
}

case $what in
  launch) launch ;;
  all-reduce) all_reduce ;;
  *) echo "expected launch or all-reduce, found $what" >&2; exit 2 ;;
esac
