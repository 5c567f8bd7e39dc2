#!/bin/bash
# slurm.sh FOLDER COMMAND: a Slurm cluster of two nodes, n1 and n2, on this machine, without munge; then the command.
# Run it in mount, process and network namespaces of its own: everything ends with them.
set -eu
cd "$1"
host=$(hostname)
{ cat /etc/hosts; echo "127.0.0.1 $host n1 n2"; } > hosts
mount --bind hosts /etc/hosts
ip link set lo up
ip link add v0 type veth peer name v1   # slurmd wants an address that is not loopback's
ip addr add 10.78.0.1/24 dev v0
ip link set v0 up
ip link set v1 up
mkdir state spool-n1 spool-n2
cat > slurm.conf <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16818
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
JobRequeue=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation=$PWD/state
SlurmctldPidFile=$PWD/slurmctld.pid
SlurmctldLogFile=$PWD/slurmctld.log
SlurmdSpoolDir=$PWD/spool-%n
SlurmdPidFile=$PWD/slurmd-%n.pid
SlurmdLogFile=$PWD/slurmd-%n.log
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=n[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[17001-17002] CPUs=2 State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=YES State=UP
END
export SLURM_CONF=$PWD/slurm.conf
slurmctld -D > ctld.out 2>&1 &
slurmd -D -N n1 > n1.out 2>&1 &
slurmd -D -N n2 > n2.out 2>&1 &
for _ in $(seq 150); do
  [ "$(sinfo -h -o %T 2> /dev/null | sort -u)" = idle ] && break
  sleep 0.2
done
shift
exec "$@"
