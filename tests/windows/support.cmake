# Tests under Wine: what they use of POSIX that Windows lacks, and programs that are left out, with
# the reasons in left_out.txt.
target_sources(filtra_test_support PRIVATE ${CMAKE_CURRENT_LIST_DIR}/posix.c)
target_include_directories(filtra_test_support BEFORE PUBLIC ${CMAKE_CURRENT_LIST_DIR}/include)
target_compile_options(filtra_test_support PUBLIC
                       "SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/posix.h")
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/left_out.txt left REGEX "^[a-z]+/[a-z_0-9]+ ")
list(TRANSFORM left REPLACE "^([a-z]+)/([a-z_0-9]+) .*" "\\1/test_\\2")
list(JOIN left "|" FILTRA_LEFT_OUT)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${CMAKE_CURRENT_LIST_DIR}/left_out.txt)
# What tests' shells start. Wine keeps VK_ variables to itself: scripts/windows.sh notes them.
file(WRITE ${PROJECT_BINARY_DIR}/filtra "#!/bin/sh
[ ! -e '${PROJECT_BINARY_DIR}/driver' ] || . '${PROJECT_BINARY_DIR}/driver'
exec wine '${PROJECT_BINARY_DIR}/filtra.exe' \"$@\"
")
file(CHMOD ${PROJECT_BINARY_DIR}/filtra PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
# Modules for --plugin link with the command, which has all of the library.
foreach(kind mixer refuses fails lacks)
  add_library(plugin_${kind} MODULE apps/plugin.c)
  target_include_directories(plugin_${kind} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(plugin_${kind} PRIVATE plugin_${kind})
  target_link_libraries(plugin_${kind} PRIVATE filtra_command)
  set_target_properties(plugin_${kind} PROPERTIES PREFIX "" SUFFIX ".so" LIBRARY_OUTPUT_DIRECTORY
                        ${PROJECT_BINARY_DIR}/tests)
endforeach()
