#!/bin/sh
# Machines for tests: the hosts of an emulated cluster, each with an sshd of its own.
#   ssh_machines.sh up CLUSTER FOLDER HOST...    starts them; keys, configuration and logs are in FOLDER
#   ssh_machines.sh down FOLDER                  ends them
# `ssh -F FOLDER/ssh_config HOST` then works from each host. Needs root and Debian's openssh-server. Exit code 3: no sshd.
set -eu

up() {
  cluster=$1 folder=$2
  shift 2
  sshd=$(command -v sshd || echo /usr/sbin/sshd)
  [ -x "$sshd" ] && command -v ssh > /dev/null && command -v ssh-keygen > /dev/null || exit 3
  mkdir -p "$folder" /run/sshd
  ssh-keygen -q -t ed25519 -N '' -f "$folder/host_key"
  ssh-keygen -q -t ed25519 -N '' -f "$folder/key"
  cat > "$folder/sshd_config" << END
HostKey $folder/host_key
AuthorizedKeysFile $folder/key.pub
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
END
  cat > "$folder/ssh_config" << END
Host *
  IdentityFile $folder/key
  IdentitiesOnly yes
  BatchMode yes
  StrictHostKeyChecking no
  UserKnownHostsFile $folder/known_hosts
  LogLevel ERROR
END
  for host in "$@"; do
    setsid sh "/run/tandem/clusters/$cluster/enter" "$host" "$sshd" -D -e -f "$folder/sshd_config" \
      > "$folder/sshd.$host.log" 2>&1 < /dev/null &
    echo $! >> "$folder/pids"
  done
  for host in "$@"; do
    tries=0
    until grep -q "Server listening" "$folder/sshd.$host.log"; do
      tries=$((tries + 1))
      [ $tries -lt 100 ] || { cat "$folder/sshd.$host.log" >&2; exit 1; }
      sleep 0.1
    done
  done
}

down() {
  [ -f "$1/pids" ] || return 0
  while read -r process; do kill "$process" 2> /dev/null || true; done < "$1/pids"
}

command=$1
shift
"$command" "$@"
