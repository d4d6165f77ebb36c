#!/bin/sh
# A real Slurm on this machine, for tests: one controller and three nodes, n1 to n3, as daemons with their own folders.
#   slurm.sh up FOLDER      starts it; then `SLURM_CONF=FOLDER/slurm.conf sbatch ...` works
#   slurm.sh down FOLDER    ends it
# Needs root and Debian's slurmctld, slurmd, slurm-client and munge. Exit code 3: one of them is missing.
set -eu

up() {
  folder=$1
  for program in munged slurmctld slurmd sbatch unshare setpriv; do
    PATH=$PATH:/usr/sbin command -v "$program" > /dev/null || exit 3
  done
  id munge > /dev/null 2>&1 || exit 3
  mkdir -p "$folder/state"
  # Its own user must reach it.
  munge=$(mktemp -d /tmp/tandem-munge.XXXXXX)
  echo "$munge" > "$folder/munge"
  dd if=/dev/urandom of="$munge/key" bs=1 count=1024 2> /dev/null
  chmod 400 "$munge/key"
  chmod 755 "$munge"
  chown -R munge: "$munge"
  setpriv --reuid=munge --regid=munge --init-groups munged --key-file="$munge/key" --socket="$munge/socket" \
    --pid-file="$munge/pid" --log-file="$munge/log" --seed-file="$munge/seed"
  host=$(hostname -s)
  cat > "$folder/slurm.conf" << END
ClusterName=tandem
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$munge/socket,cred_expire=5
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1
MpiDefault=pmix
ReturnToService=2
SlurmctldPort=$((20000 + $$ % 5000))
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.%n.log
KillWait=5
SlurmdParameters=config_overrides
MailProg=/bin/true
END
  for i in 1 2 3; do
    echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$((25000 + $$ % 5000 * 3 + i)) CPUs=4 RealMemory=2000" \
      >> "$folder/slurm.conf"
  done
  echo "PartitionName=all Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP" >> "$folder/slurm.conf"
  # Each node has a place of its own for the sockets of PMIx, and shared memory of its own: Open MPI names its segments
  # after the machine and the rank's number within its node, so ranks of two nodes would share one.
  echo "PMIxCliTmpDirBase=$folder/pmix" > "$folder/mpi.conf"
  mkdir -p "$folder/pmix"
  export SLURM_CONF="$folder/slurm.conf"
  slurmctld -c -i -D > "$folder/slurmctld.out" 2>&1 < /dev/null &
  echo $! > "$folder/pids"
  for i in 1 2 3; do
    mkdir -p "$folder/spool.n$i"
    setsid unshare -m --propagation private sh -c \
      "mount -t tmpfs none '$folder/pmix' && mount -t tmpfs none /dev/shm && exec slurmd -N n$i -D" \
      > "$folder/slurmd.n$i.out" 2>&1 < /dev/null &
    echo $! >> "$folder/pids"
  done
  tries=0
  until [ "$(sinfo -h -t idle -o %D 2> /dev/null)" = 3 ]; do
    tries=$((tries + 1))
    [ $tries -lt 200 ] || { cat "$folder"/*.out >&2; sinfo >&2; exit 1; }
    sleep 0.1
  done
}

down() {
  export SLURM_CONF="$1/slurm.conf"
  [ -f "$1/pids" ] || return 0
  scancel --state=RUNNING --state=PENDING -u root 2> /dev/null || true
  # Steps end with their jobs, then the nodes, which would leave them running.
  tries=0
  while [ -n "$(squeue -h 2> /dev/null)" ] && [ $tries -lt 50 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
  while read -r process; do kill "$process" 2> /dev/null || true; done < "$1/pids"
  tries=0
  while read -r process; do
    while kill -0 "$process" 2> /dev/null && [ $tries -lt 100 ]; do
      tries=$((tries + 1))
      sleep 0.1
    done
    kill -9 "$process" 2> /dev/null || true
  done < "$1/pids"
  munge=$(cat "$1/munge")
  kill "$(cat "$munge/pid")" 2> /dev/null || true
  rm -rf "$munge"
}

PATH=$PATH:/usr/sbin
command=$1
shift
"$command" "$@"
