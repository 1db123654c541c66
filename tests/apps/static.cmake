# The static library as it is installed: it shows what the public headers declare and nothing else,
# and goes together with an application's own volk or libvulkan.
# INTERNAL: the same objects with every symbol.
file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
set(library ${SCRATCH}/libfiltra.a)
file(COPY_FILE ${INTERNAL} ${library})
execute_process(COMMAND ${CMAKE_COMMAND} -D LIBRARY=${library} -D COMPILER=${COMPILER}
                        -D OBJCOPY=${OBJCOPY} -D AR=${AR} -P ${SOURCE_DIR}/cmake/Localize.cmake
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -D LIBRARY=${library} -D NM=${NM} -D TABLE=-g
                        -D INCLUDE_DIR=${SOURCE_DIR}/include
                        -P ${SOURCE_DIR}/tests/apps/symbols.cmake
                COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(needs UNIX_COMMAND "${NEEDS}")

function(try name)
  execute_process(COMMAND ${COMPILER} -std=gnu11 ${SOURCE_DIR}/tests/apps/static/own_vulkan.c
                          -D FILTRA_STATIC -I ${SOURCE_DIR}/include -o ${SCRATCH}/${name} ${ARGN}
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env FILTRA_DEVICE=cpu FILTRA_CACHE_DIR=
                          ${SCRATCH}/${name} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

try(own_volk -I ${VOLK} ${library} ${needs})
if(NOT LOADER)
  message("not tested: there is no libvulkan to link")
  return()
endif()
try(loader_after -D OWN_LOADER ${library} ${needs} ${LOADER})
try(loader_before -D OWN_LOADER ${LOADER} ${library} ${needs})
