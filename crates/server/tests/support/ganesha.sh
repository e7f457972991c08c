#!/bin/sh
# nfs-ganesha (VFS) on the folder $1/export, as 127.0.0.1:$1/export by NFS version 3 and as
# 127.0.0.1:/export by version 4, in a network of its own beside a port mapper of its own: both have
# ports that a machine has once. Needs root and Debian's packages nfs-ganesha-vfs and rpcbind. It ends
# when the process that was started is killed.
set -e
if [ "$2" != inside ]; then
    exec unshare --net --mount --pid --fork --kill-child --mount-proc sh "$0" "$1" inside
fi
plugins=$(dirname "$(ls /usr/lib/*/ganesha/libfsalvfs.so)")
mkdir -p "$1/export" "$1/recovery"
cat >"$1/ganesha.conf" <<CONF
NFS_CORE_PARAM {
    Protocols = 3, 4;
    Enable_NLM = false;
    Enable_RQUOTA = false;
    Mnt_Port = 20048;
    Plugins_Dir = "$plugins";
}
NFSV4 { RecoveryRoot = "$1/recovery"; Graceless = true; }
EXPORT {
    Export_Id = 1;
    Path = "$1/export";
    Pseudo = "/export";
    Access_Type = RW;
    Squash = No_Root_Squash;
    SecType = sys;
    Protocols = 3, 4;
    Transports = TCP;
    FSAL { Name = VFS; }
}
CONF
mount -t tmpfs none /run
mkdir /run/rpcbind
ip link set lo up
rpcbind -w -f &
until rpcinfo -p 127.0.0.1 >/dev/null 2>&1; do :; done
exec ganesha.nfsd -F -f "$1/ganesha.conf" -p "$1/pid" -L "$1/log" -N NIV_WARN
