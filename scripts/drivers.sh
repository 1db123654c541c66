# shellcheck shell=sh
# Part of ./run: Vulkan drivers, also newer ones that are unpacked below build/.
# shellcheck disable=SC2034,SC2154 # variables are shared with ./run

# A driver that is installed may still not work here, say a vendor's without its card.
require_device() {
  if build/filtra devices >"$scratch/devices" 2>&1; then
    return
  fi
  if [ -z "$(manifests 'icd.d/lvp_icd*.json')" ]; then
    say "No Vulkan driver here works; Mesa's also runs on the CPU."
    install driver
  fi
  build/filtra devices >"$scratch/devices" 2>&1 || {
    cat "$scratch/devices" >&2
    die "no usable Vulkan 1.3 device, see above"
  }
}

# The class of the device that would be used: discrete, integrated, virtual, cpu or other.
device_class() {
  build/filtra devices --json 2>/dev/null | awk -F '[:, "]+' '
    $2 == "chosen" { chosen = $3 }
    $2 == "index" { index_here = $3 }
    $2 == "class" && index_here == chosen { print $3; exit }'
}

use_driver() { # use_driver MANIFEST: the second variable is for loaders before 1.3.207
  export VK_DRIVER_FILES="$1" VK_ICD_FILENAMES="$1"
}

# Packages run beside the system's without being installed: apt-get fetches them from the mirror
# that this machine already uses, signatures checked, and they are unpacked below build/, in $part.
private_apt() {
  apt-get -q -o Dir::Etc::SourceList="$part/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$part/lists" -o Dir::Cache="$part/cache" -o APT::Sandbox::User=root \
    -o Acquire::Retries=1 -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 "$@"
}

# The address of a Debian mirror that apt-get knows, for SUITE or, without one, any; or nothing.
debian_mirror() {
  # shellcheck disable=SC2016 # apt-get expands these
  apt-get indextargets --format '$(CODENAME) $(COMPONENT) $(ORIGIN) $(REPO_URI)' \
    'Created-By: Packages' 2>/dev/null | awk -v suite="${1:-}" '
    $2 == "main" && $3 == "Debian" && (suite ? $1 == suite : $1 !~ /-/) { print $4; exit }'
}

# unpack SUITE MIRROR PACKAGE...: into $part/root. With closure=1 also all that they need, down to
# the C library. Fails when the mirror does not have them.
unpack() {
  suite=$1 mirror=$2
  shift 2
  rm -rf "$part"
  mkdir -p "$part/lists/partial" "$part/cache/archives/partial" "$part/root"
  keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  [ -r "$keyring" ] && signed="[signed-by=$keyring] " || signed=
  say "deb $signed$mirror $suite main" >"$part/sources.list"
  : >"$part/nothing-installed"
  if [ "${closure:-0}" = 1 ]; then
    { private_apt update && private_apt -y --no-install-recommends --download-only \
      -o Dir::State::status="$part/nothing-installed" install "$@" &&
      mv "$part"/cache/archives/*.deb "$part"; } >"$part.log" 2>&1 || return 1
  else
    { private_apt update && (cd "$part" && private_apt download "$@"); } \
      >"$part.log" 2>&1 || return 1
  fi
  for package in "$part"/*.deb; do dpkg-deb -x "$package" "$part/root"; done
  rm -rf "$part/lists" "$part/cache" "$part"/*.deb "$part/nothing-installed" "$part/sources.list"
}

# write_manifest FOLDER DRIVER FILE: for the driver that lies unpacked in $part and will in FOLDER.
write_manifest() {
  library=$(cd "$part" && find root -name "libvulkan_$2.so" | head -n 1)
  [ -n "$library" ] || return 1
  cat >"$part/$3" <<END
{"file_format_version": "1.0.0",
 "ICD": {"library_path": "$1/$library", "api_version": "1.4.0"}}
END
}

# Debian 12's lavapipe (22.3) is five times slower than the one in its backports. Sets newer_driver
# to its manifest, or leaves that empty and says why in no_newer_driver.
find_newer_driver() {
  newer_driver=
  folder=$PWD/build/mesa-backports part=$PWD/build/mesa-backports.part
  if grep -qsF "\"$folder/" "$folder/lvp.json"; then
    newer_driver=$folder/lvp.json
    return
  fi
  no_newer_driver="only Debian 12 needs it"
  [ -r /etc/os-release ] && has apt-get && has dpkg-deb || return 0
  # shellcheck source=/dev/null
  release=$(. /etc/os-release && printf '%s:%s' "${ID:-}" "${VERSION_CODENAME:-}")
  [ "${release%%:*}" = debian ] || return 0
  release=${release#*:}
  installed=$(dpkg-query -W -f '${Version}' mesa-vulkan-drivers 2>/dev/null || true)
  if [ -z "$installed" ] || dpkg --compare-versions "$installed" ge 24; then
    no_newer_driver="the system's Mesa is ${installed:-not a package}"
    return 0
  fi
  mirror=$(debian_mirror "$release")
  if [ -z "$mirror" ]; then
    no_newer_driver="apt-get knows no mirror of $release; run apt-get update"
    return 0
  fi
  rm -rf "$folder"
  if ! unpack "$release-backports" "$mirror" mesa-vulkan-drivers libdrm2 libdrm-amdgpu1 \
    libdrm-intel1; then
    no_newer_driver="$release-backports could not be reached (see build/mesa-backports.part.log)"
    rm -rf "$part"
    return 0
  fi
  # The other vendors' drivers serve tests/vendors, which hands them the libdrm of their age.
  write_manifest "$folder" radeon radeon.json || true
  write_manifest "$folder" intel intel_icd.json || true # not intel_hasvk's
  if ! write_manifest "$folder" lvp lvp.json || ldd "$part/$library" | grep -q 'not found'; then
    no_newer_driver="the one in $release-backports needs libraries that are not installed"
    rm -rf "$part"
    return 0
  fi
  mv "$part" "$folder"
  newer_driver=$folder/lvp.json
}

# From Debian unstable, with everything they need (80 MB): drivers whose compilers tests/vendors
# asks on Mesa's no-op devices, NVK, Honeykrisp and Turnip, the newest lavapipe, which runs matrix
# units, and a glslc that knows them. Sets shims to their folder or to nothing.
find_shims() {
  shims=
  folder=$PWD/build/mesa-shims part=$PWD/build/mesa-shims.part
  if [ ! -r "$folder/lvp.json" ] && has apt-get && has dpkg-deb; then
    mirror=$(debian_mirror)
    [ -n "$mirror" ] || return 0
    if ! closure=1 unpack sid "$mirror" mesa-vulkan-drivers mesa-drm-shim glslc; then
      say "Debian unstable could not be reached (see build/mesa-shims.part.log)"
      rm -rf "$part"
      return 0
    fi
    for driver in asahi freedreno nouveau lvp; do
      write_manifest "$folder" $driver $driver.json || return 0
    done
    rm -rf "$folder"
    mv "$part" "$folder"
  fi
  [ ! -r "$folder/lvp.json" ] || shims=$folder
}

# SwiftShader, a CPU driver by others than Mesa's, which Debian's chromium-common brings along
# (32 MB): where Chromium is installed, from there. Sets swiftshader to its manifest or to nothing.
find_swiftshader() {
  swiftshader=/usr/lib/chromium/vk_swiftshader_icd.json
  [ ! -r "$swiftshader" ] || return 0
  swiftshader=
  folder=$PWD/build/swiftshader part=$PWD/build/swiftshader.part
  manifest=root/usr/lib/chromium/vk_swiftshader_icd.json
  if [ ! -r "$folder/$manifest" ] && has apt-get && has dpkg-deb; then
    # shellcheck source=/dev/null
    suite=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    mirror=$(debian_mirror "$suite")
    [ -n "$mirror" ] || return 0
    if ! unpack "$suite" "$mirror" chromium-common; then
      say "Debian's chromium-common could not be fetched (see build/swiftshader.part.log)"
      rm -rf "$part"
      return 0
    fi
    rm -rf "$folder"
    mv "$part" "$folder"
  fi
  [ ! -r "$folder/$manifest" ] || swiftshader=$folder/$manifest
}
