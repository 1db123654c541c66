# Installs into a scratch prefix and builds a foreign project and all examples against that tree,
# by find_package and by pkg-config, then runs the foreign programs.
file(REMOVE_RECURSE ${SCRATCH})
set(prefix ${SCRATCH}/prefix)
set(consumer ${SOURCE_DIR}/tests/apps/consumer)
set(examples ${SOURCE_DIR}/apps/examples)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output
                  ERROR_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nfailed (${failed}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(check_version program)
  run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${prefix}/${LIBDIR} ${program})
  if(NOT output STREQUAL VERSION)
    message(FATAL_ERROR "${program} says '${output}', the build is ${VERSION}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
if(EXISTS ${prefix}/bin/filtra)
  run(${prefix}/bin/filtra --help)
endif()
foreach(file LICENSE README.md docs/config.md examples/train_listops.c)
  if(NOT EXISTS ${prefix}/share/doc/filtra/${file})
    message(FATAL_ERROR "share/doc/filtra/${file} was not installed")
  endif()
endforeach()

run(${CMAKE_COMMAND} -S ${consumer} -B ${SCRATCH}/cmake -G ${GENERATOR}
    -D CMAKE_C_COMPILER=${COMPILER} -D CMAKE_PREFIX_PATH=${prefix}
    -D FILTRA_WANTED_VERSION=${VERSION} -D FILTRA_EXAMPLES=${examples})
run(${CMAKE_COMMAND} --build ${SCRATCH}/cmake)
check_version(${SCRATCH}/cmake/version)
foreach(program own_model server)
  file(MAKE_DIRECTORY ${SCRATCH}/${program}_folder)
  run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${prefix}/${LIBDIR} FILTRA_CACHE_DIR=
      ${SCRATCH}/cmake/${program} ${SCRATCH}/${program}_folder)
  message("${output}")
endforeach()

# The tree must work from another place, too: the .pc file finds its prefix from where it lies.
file(RENAME ${prefix} ${SCRATCH}/moved)
set(prefix ${SCRATCH}/moved)
set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
run(${PKG_CONFIG} --modversion filtra)
if(NOT output STREQUAL VERSION)
  message(FATAL_ERROR "filtra.pc says '${output}', the build is ${VERSION}")
endif()
run(${PKG_CONFIG} --cflags --libs filtra)
separate_arguments(flags UNIX_COMMAND "${output}")
file(GLOB sources ${consumer}/*.c ${examples}/*.c)
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME_WE)
  run(${COMPILER} -std=c11 -Wall -Wextra -Werror ${source} -o ${SCRATCH}/${name} ${flags} -lm
      -pthread)
endforeach()
check_version(${SCRATCH}/version)
list(LENGTH sources count)
message("${count} programs build against the installed tree")

# Uninstalling leaves no file.
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${SCRATCH}/removed)
run(${CMAKE_COMMAND} -D MANIFEST=${BUILD_DIR}/install_manifest.txt
    -P ${SOURCE_DIR}/cmake/Uninstall.cmake)
file(GLOB_RECURSE left LIST_DIRECTORIES false ${SCRATCH}/removed/*)
if(left)
  message(FATAL_ERROR "uninstalling left ${left}")
endif()

# As a part of another project, with both libraries and an absolute folder for them.
file(WRITE ${SCRATCH}/outer/CMakeLists.txt "cmake_minimum_required(VERSION 3.22)
project(outer LANGUAGES C)
add_subdirectory(${SOURCE_DIR} filtra)
add_executable(a ${consumer}/version.c)
target_link_libraries(a PRIVATE filtra::filtra)
add_executable(b ${consumer}/version.c)
target_link_libraries(b PRIVATE filtra::filtra_static)
")
run(${CMAKE_COMMAND} -S ${SCRATCH}/outer -B ${SCRATCH}/outer/build -G ${GENERATOR}
    -D CMAKE_C_COMPILER=${COMPILER} -D BUILD_TESTING=OFF -D FILTRA_BUILD_STATIC=ON
    -D CMAKE_INSTALL_LIBDIR=/opt/lib)
file(STRINGS ${SCRATCH}/outer/build/filtra/filtra.pc libdir REGEX ^libdir)
file(STRINGS ${SCRATCH}/outer/build/filtra/filtra.pc static REGEX ^Cflags.private)
if(NOT static STREQUAL "Cflags.private: -DFILTRA_STATIC -L\${libdir}/filtra/static")
  message(FATAL_ERROR "filtra.pc says ${static}")
endif()
if(NOT libdir STREQUAL "libdir=/opt/lib")
  message(FATAL_ERROR "filtra.pc says ${libdir}")
endif()
