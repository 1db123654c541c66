# shellcheck shell=bash
# Part of scripts/wheels.sh and packaging/try-debian.sh: fresh Debian systems below $folder. Needs
# root, debootstrap and a network. FILTRA_MIRROR: another mirror than Debian's.
# shellcheck disable=SC2016,SC2154 # what single quotes hold is for the other shell; $folder
mirror=${FILTRA_MIRROR:-http://deb.debian.org/debian}
certificates=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}

# make_root NAME RELEASE PACKAGES: a minimal Debian, unless it is there. What is mounted meanwhile
# ends with the process, also where that is killed.
make_root() {
  local root=$folder/$1
  [ ! -e "$root/made" ] || return 0
  rm -rf "$root"
  nice unshare --mount debootstrap --variant=minbase --include="ca-certificates,$3" "$2" "$root" \
    "$mirror" >"$folder/$1.log" 2>&1
  touch "$root/made"
}

# inside NAME COMMAND [--net]: runs it in that system, with this one's network and certificates, or
# with no network.
inside() {
  local root=$folder/$1
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  cp "$certificates" "$root/etc/outer-certificates.crt"
  # shellcheck disable=SC2086 # an option or none
  nice unshare --mount --pid --fork --kill-child ${3:-} bash -c '
    mount -t proc proc "$1/proc"
    mount --bind /dev "$1/dev"
    exec chroot "$1" /usr/bin/env -i HOME=/root LANG=C.UTF-8 PIP_CERT=/etc/outer-certificates.crt \
      PATH=/venv/bin:/usr/bin:/usr/sbin:/bin:/sbin DEBIAN_FRONTEND=noninteractive \
      bash -euc "$2"' bash "$root" "$2"
}
