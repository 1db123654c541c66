# The operating system's own headers are included in *_posix.c and *_win32.c alone, and its threads'
# types in base/thread.h: what must be written once for each system. What only one system has
# is not chosen by the preprocessor.
file(GLOB_RECURSE sources ${ROOT}/runtime/*.[ch] ${ROOT}/apps/*.[ch])
list(FILTER sources EXCLUDE REGEX "_(posix|win32)[.]c$|/base/thread[.]h$")
list(LENGTH sources count)
if(count LESS 300)
  message(FATAL_ERROR "${count} sources: not what they were")
endif()
set(headers "pthread|unistd|fcntl|dirent|signal|sched|ftw|dlfcn|locale|fnmatch|poll|spawn")
string(APPEND headers "|termios|pwd|io|windows|winsock2|sys/[a-z]+")
foreach(source IN LISTS sources)
  file(STRINGS ${source} lines REGEX "^#include <(${headers})\\.h>")
  file(STRINGS ${source} chosen REGEX "^#.*[^A-Z](_WIN32|__linux__|__unix__|__APPLE__|__MINGW32__)")
  if(lines OR chosen)
    message(SEND_ERROR "${source}: ${lines}${chosen}")
  endif()
endforeach()
