#!/usr/bin/env bash
# Makes a release of the checkout's branch:
#
#   packaging/release.sh VERSION FOLDER
#
# Sets the version in the public header, in what is generated from it and in the recipes, gives
# CHANGELOG.md's unreleased part that name and the day's date, commits, tags the commit vVERSION,
# and writes the source tarball with its checksum to FOLDER. Nothing is pushed. It is refused where
# files differ from the commit, the tag is there, or CHANGELOG.md has nothing that is unreleased.
set -euo pipefail
version=${1:?the version, such as 0.2.0} folder=$(realpath -m "${2:?the folder to write to}")
cd "$(dirname "$0")/.."
refuse() {
  echo "release: $*" >&2
  exit 2
}

[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || refuse "the version is $version, not such as 0.2.0"
[ -z "$(git status --porcelain)" ] || refuse "there are changes that are not committed"
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || refuse "there is a tag v$version"
awk '/^## / { unreleased = /^## \[Unreleased\]/ } unreleased && /^- / { found = 1 }
  END { exit !found }' CHANGELOG.md || refuse "CHANGELOG.md has nothing that is unreleased"

names=(MAJOR MINOR PATCH)
IFS=. read -ra parts <<<"$version"
for i in 0 1 2; do
  sed -i -E "s/^(#define FILTRA_VERSION_${names[i]} +)[0-9]+/\1${parts[i]}/" include/filtra/status.h
done
sed -i -E "s/^## \[Unreleased\].*/## [Unreleased]\n\n## [$version] - $(date -u +%F)/" CHANGELOG.md
sed -i "s/^pkgver=.*/pkgver=$version/" packaging/arch/PKGBUILD
sed -i -E "s/(\"version\": )\"[^\"]*\"/\1\"$version\"/" packaging/vcpkg/filtra/vcpkg.json
sed -i -E "s/filtra-[0-9.]+\.tar/filtra-$version.tar/" packaging/homebrew/filtra.rb
python3 python/generate.py
git commit -qam "Release $version"
git tag -a "v$version" -m "Filtra $version"
packaging/source.sh "$folder"
echo "Committed and tagged. To publish: git push origin HEAD v$version, and the files in $folder."
