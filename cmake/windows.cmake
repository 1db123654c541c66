# Toolchain file: Windows x86-64 by mingw-w64 with POSIX threads. scripts/windows.sh uses it, and
# builds what Debian has no package of into FILTRA_WINDOWS_PREFIX first (docs/windows.md).
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FILTRA_WINDOWS_PREFIX)
set(CMAKE_FIND_ROOT_PATH ${FILTRA_WINDOWS_PREFIX} /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ZLIB_LIBRARY /usr/x86_64-w64-mingw32/lib/libz.a CACHE FILEPATH "") # not that of the DLL
# Programs that a build makes and runs run under Wine, and so do tests.
set(CMAKE_CROSSCOMPILING_EMULATOR wine)
set(ENV{PKG_CONFIG_LIBDIR} ${FILTRA_WINDOWS_PREFIX}/lib/pkgconfig)

# Programs and the DLL need the system's libraries alone.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-static")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-static")
