#!/usr/bin/env bash
# Writes the source tarball of the checkout's commit, with the commit's name and the SPIR-V that
# shaders/kept keeps, and its checksum:
#
#   packaging/source.sh FOLDER
#
# Makes FOLDER/filtra-VERSION.tar.xz and FOLDER/SHA256SUMS. The same commit gives the same bytes.
set -euo pipefail
folder=$(realpath -m "${1:?the folder to write to}")
cd "$(dirname "$0")/.."
version=$(sed -nE 's/^#define FILTRA_VERSION_(MAJOR|MINOR|PATCH) +([0-9]+).*/\2/p' \
  include/filtra/status.h | paste -sd .)
mkdir -p "$folder"
git archive --format=tar --prefix="filtra-$version/" HEAD | xz -9 -T1 \
  >"$folder/filtra-$version.tar.xz"
(cd "$folder" && sha256sum "filtra-$version.tar.xz" | tee SHA256SUMS)
