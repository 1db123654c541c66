# The operating system's own headers are included in runtime/base/*_posix.c alone, and its threads'
# types in base/thread.h: what another system would need to have written anew.
file(GLOB_RECURSE sources ${RUNTIME}/*.c ${RUNTIME}/*.h)
list(FILTER sources EXCLUDE REGEX "/base/([a-z]+_posix\\.c|thread\\.h)$")
set(headers "pthread|unistd|fcntl|dirent|signal|sched|ftw|dlfcn|locale|time|sys/[a-z]+")
foreach(source IN LISTS sources)
  file(STRINGS ${source} lines REGEX "^#include <(${headers})\\.h>")
  if(lines)
    message(SEND_ERROR "${source}: ${lines}")
  endif()
endforeach()
