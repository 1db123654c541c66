"""Conan's recipe: `conan create packaging/conan`, in a clone or in an unpacked source tarball.

Jansson, zlib, libpng, libjpeg, Vulkan's headers, volk and glslc are the system's, so that it builds
offline; `conan create -c tools.system.package_manager:mode=install` installs them where the system
has apt, dnf, pacman or zypper.
"""

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system import package_manager

ROOT = "../.."
SOURCES = ("CMakeLists.txt", "LICENSE", "README.md", "CHANGELOG.md", "apps/*", "cmake/*", "docs/*",
           "include/*", "plugins/*", "presets/*", "profiles/*", "runtime/*", "scripts/*", "shaders/*",
           "tests/golden/*.safetensors")


class Filtra(ConanFile):
    name = "filtra"
    license = "Apache-2.0"
    description = "Transformers with graph filters on any Vulkan GPU"
    topics = ("transformers", "vulkan", "graph-filters", "machine-learning")
    package_type = "library"
    settings = ("os", "compiler", "build_type", "arch")
    options = {"shared": [True, False]}
    default_options = {"shared": True}

    def set_version(self):
        text = load(self, Path(self.recipe_folder) / ROOT / "include/filtra/status.h")
        self.version = ".".join(re.findall(r"#define FILTRA_VERSION_[A-Z]+ +(\d+)", text))

    def export_sources(self):
        for pattern in SOURCES:
            copy(self, pattern, src=Path(self.recipe_folder) / ROOT, dst=self.export_sources_folder)

    def system_requirements(self):
        package_manager.Apt(self).install([
            "glslc", "libvulkan-dev", "libvulkan-volk-dev", "libjansson-dev", "zlib1g-dev",
            "libpng-dev", "libjpeg-dev", "pkg-config"])
        package_manager.Dnf(self).install([
            "glslc", "vulkan-loader-devel", "vulkan-volk-devel", "jansson-devel", "zlib-devel",
            "libpng-devel", "libjpeg-turbo-devel", "pkgconf-pkg-config"])
        package_manager.PacMan(self).install([
            "shaderc", "vulkan-devel", "volk", "jansson", "zlib", "libpng", "libjpeg-turbo",
            "pkgconf"])

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["BUILD_TESTING"] = False
        toolchain.cache_variables["FILTRA_BUILD_STATIC"] = not self.options.shared
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # The installed CMake package and pkg-config file name what is linked.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/filtra"]
        self.cpp_info.libs = ["filtra"]
        if not self.options.shared:
            self.cpp_info.defines = ["FILTRA_STATIC"]
            self.cpp_info.libdirs = ["lib/filtra/static"]
            self.cpp_info.system_libs = ["jansson", "z", "png", "jpeg", "pthread", "dl", "m"]
