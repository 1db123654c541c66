# Makes one object of a static library's and hides in it all but the public functions, as the shared
# library does: else an application's own symbols, those of its volk or of libvulkan say, would be
# taken for ours, or ours for them. Called after libfiltra.a is made.
# LIBRARY: the file; COMPILER, OBJCOPY, AR: programs.
cmake_minimum_required(VERSION 3.22)

set(object ${LIBRARY}.o)
set(whole "-Wl,--whole-archive;${LIBRARY};-Wl,--no-whole-archive")
foreach(step "${COMPILER};-r;-nostdlib;-o;${object};${whole}"
        "${OBJCOPY};--localize-hidden;${object}"
        "${CMAKE_COMMAND};-E;rm;${LIBRARY}" "${AR};rcs;${LIBRARY};${object}"
        "${CMAKE_COMMAND};-E;rm;${object}")
  execute_process(COMMAND ${step} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
