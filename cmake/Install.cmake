# What `cmake --install` puts where: the libraries, the public headers, the command with its manual
# pages and completions, licence, documentation and examples, a CMake package (find_package(filtra),
# targets filtra::filtra and, where it was built, filtra::filtra_static) and a pkg-config file. Both
# packages find their prefix from where they lie, so an installed tree can be moved.
# `cmake --build build --target uninstall` removes what the last install wrote.
include(CMakePackageConfigHelpers)

set(FILTRA_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/filtra)

install(TARGETS ${libraries} EXPORT filtraTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
install(DIRECTORY apps/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.c")
install(DIRECTORY include/filtra DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
if(TARGET filtra_command)
  install(TARGETS filtra_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  include(Manual)
endif()

if(FILTRA_MPI_MODULES)
  install(TARGETS ${FILTRA_MPI_MODULES} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/filtra)
endif()

install(EXPORT filtraTargets NAMESPACE filtra:: DESTINATION ${FILTRA_CMAKE_DIR})
configure_package_config_file(cmake/filtraConfig.cmake.in filtraConfig.cmake
                              INSTALL_DESTINATION ${FILTRA_CMAKE_DIR})
# Before 1.0 a new minor version may break what links to the old one.
write_basic_package_version_file(filtraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/filtraConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/filtraConfigVersion.cmake
        DESTINATION ${FILTRA_CMAKE_DIR})

file(RELATIVE_PATH FILTRA_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
foreach(dir LIBDIR INCLUDEDIR) # either may be absolute, and is then no part of the prefix
  cmake_path(IS_ABSOLUTE CMAKE_INSTALL_${dir} absolute)
  set(FILTRA_PC_${dir} ${CMAKE_INSTALL_${dir}})
  if(NOT absolute)
    string(PREPEND FILTRA_PC_${dir} "\${prefix}/")
  endif()
endforeach()
# `pkg-config --static` names the folder in which there is no shared library first.
set(FILTRA_PC_STATIC "")
if(FILTRA_BUILD_STATIC)
  set(FILTRA_PC_STATIC " -L\${libdir}/filtra/static")
  set(link ${CMAKE_CURRENT_BINARY_DIR}/static/libfiltra.a)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/static)
  file(CREATE_LINK ../../libfiltra.a ${link} SYMBOLIC)
  install(FILES ${link} DESTINATION ${CMAKE_INSTALL_LIBDIR}/filtra/static)
endif()
configure_file(cmake/filtra.pc.in filtra.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/filtra.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(NOT TARGET uninstall) # a project that this is a part of may have one
  add_custom_target(uninstall
    COMMAND ${CMAKE_COMMAND} -D MANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt
            -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/Uninstall.cmake
    VERBATIM)
endif()
