#!/bin/bash
# The first process of a node: builds the node's root in its own mount namespace, moves into it
# and keeps containerd, kubelet and kube-proxy running. It starts in new mount, PID, network, UTS
# and IPC namespaces, so everything it makes goes away with it.
#
# Environment: NODE_NAME; NODE_DIR (upper, work, root, var); NODE_LOWER; and the folders that are
# bound below /windlass: NODE_CONFIG, NODE_PROGRAMS, NODE_IMAGES, NODE_VOLUMES, NODE_LOGS.
set -euo pipefail

read -r _ # the host says when the network is plugged in

root=$NODE_DIR/root
mount -t overlay overlay -o "lowerdir=$NODE_LOWER,upperdir=$NODE_DIR/upper,workdir=$NODE_DIR/work" "$root"
mkdir -p "$root"/windlass/{node,programs,images,volumes,logs} "$root/.host"
mount --bind "$NODE_DIR/var" "$root/var/lib"
mount --bind -o ro "$NODE_CONFIG" "$root/windlass/node"
mount --bind -o ro "$NODE_PROGRAMS" "$root/windlass/programs"
mount --bind -o ro "$NODE_IMAGES" "$root/windlass/images"
mount --bind "$NODE_VOLUMES" "$root/windlass/volumes"
mount --bind "$NODE_LOGS" "$root/windlass/logs"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"

# pivot_root and not chroot: under a chroot, runc gives containers the host's root.
cd "$root"
pivot_root . .host
cd /
umount -l /.host
mount --make-rshared /

hostname "$NODE_NAME"
echo 1 > /proc/sys/net/ipv4/ip_forward
cp /windlass/node/resolv.conf /etc/resolv.conf
printf '127.0.0.1 localhost\n::1 localhost\n' > /etc/hosts
. /windlass/node/node.env
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
exec < /dev/null

keep() {
  local name=$1
  shift
  while true; do
    "$@" >> "/windlass/logs/$name.log" 2>&1 || true
    echo "windlass: $name ended; it is started again" >> "/windlass/logs/$name.log"
    sleep 1
  done
}

keep containerd containerd --config /windlass/node/containerd.toml --log-level warn &
until ctr version > /dev/null 2>&1; do sleep 0.1; done
ctr --namespace k8s.io images import --local /windlass/images/"$PAUSE_ARCHIVE" \
  >> /windlass/logs/containerd.log 2>&1
# Nodes share one machine: a kubelet follows each cgroup that a job makes, with one core at most.
keep kubelet env GOMAXPROCS=1 GOGC=200 \
  /windlass/programs/kubelet --config=/windlass/node/kubelet.json \
  --kubeconfig=/windlass/node/kubelet.conf --hostname-override="$NODE_NAME" \
  --node-ip="$NODE_ADDRESS" --node-labels=windlass.local/node=true &
keep kube-proxy /windlass/programs/kube-proxy --kubeconfig=/windlass/node/kube-proxy.conf \
  --hostname-override="$NODE_NAME" --proxy-mode=iptables --cluster-cidr="$CLUSTER_PODS" \
  --conntrack-max-per-core=0 --bind-address="$NODE_ADDRESS" &
wait
