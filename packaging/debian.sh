#!/usr/bin/env bash
# Writes a Debian source package of the checkout's commit, and builds it here if asked to:
#
#   packaging/debian.sh FOLDER [DPKG-BUILDPACKAGE OPTION...]
#
# The maintainer is "$DEBFULLNAME <$DEBEMAIL>", or git's user; the changelog has one entry, of the
# commit's day, for $DISTRIBUTION (unstable). With options, such as -b, the package is built: this
# needs what packaging/debian/control names. packaging/try-debian.sh builds in fresh systems.
set -euo pipefail
folder=$(realpath -m "${1:?the folder to write to}")
shift
cd "$(dirname "$0")/.."
packaging/source.sh "$folder"
tarball=$(echo "$folder"/filtra-*.tar.xz)
version=$(basename "${tarball#*filtra-}" .tar.xz)
maintainer="${DEBFULLNAME:-$(git config user.name)} <${DEBEMAIL:-$(git config user.email)}>"
cp "$tarball" "$folder/filtra_$version.orig.tar.xz"
tree=$folder/filtra-$version
rm -rf "$tree"
tar -xf "$tarball" -C "$folder"
cp -r packaging/debian "$tree/debian"
abi=${version%.*} # of the soname
sed -i "s/@MAINTAINER@/$maintainer/; s/@ABI@/$abi/g" "$tree"/debian/{control,libfiltra.symbols}
for file in install symbols; do
  mv "$tree/debian/libfiltra.$file" "$tree/debian/libfiltra$abi.$file"
done
cat >"$tree/debian/changelog" <<END
filtra ($version-1) ${DISTRIBUTION:-unstable}; urgency=medium

  * CHANGELOG.md says what is new.

 -- $maintainer  $(git log -1 --format=%cD)
END
(cd "$folder" && dpkg-source -b "filtra-$version")
[ $# -eq 0 ] || (cd "$tree" && dpkg-buildpackage -us -uc "$@")
