# An overlay port, built from the clone that it is in:
#
#   vcpkg install filtra --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" static static)
vcpkg_find_acquire_program(PKGCONFIG)
vcpkg_cmake_configure(SOURCE_PATH ${SOURCE_PATH}
  OPTIONS -DBUILD_TESTING=OFF -DFILTRA_MPI=OFF -DFILTRA_BUILD_STATIC=${static}
          -DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}
          -DVulkan_GLSLC_EXECUTABLE=${CURRENT_HOST_INSTALLED_DIR}/tools/shaderc/glslc)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/filtra)
vcpkg_fixup_pkgconfig()
vcpkg_copy_tools(TOOL_NAMES filtra AUTO_CLEAN)
file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/debug/include ${CURRENT_PACKAGES_DIR}/debug/share)
vcpkg_install_copyright(FILE_LIST ${SOURCE_PATH}/LICENSE)
