# nix-build packaging/nix, in a clone or an unpacked source tarball.
{ pkgs ? import <nixpkgs> { } }:
let
  header = builtins.readFile ../../include/filtra/status.h;
  part = name: builtins.head (builtins.match ".*FILTRA_VERSION_${name} +([0-9]+).*" header);
in
pkgs.stdenv.mkDerivation {
  pname = "filtra";
  version = "${part "MAJOR"}.${part "MINOR"}.${part "PATCH"}";
  src = ../..;
  nativeBuildInputs = with pkgs; [ cmake ninja pkg-config python3 shaderc ];
  buildInputs = with pkgs; [ jansson libjpeg libpng volk vulkan-headers zlib ];
  cmakeFlags = [ "-DBUILD_TESTING=OFF" ];
  meta = {
    description = "Transformers with graph filters on any Vulkan GPU";
    license = pkgs.lib.licenses.asl20;
    mainProgram = "filtra";
    platforms = pkgs.lib.platforms.linux;
  };
}
