# The transport over MPI: a module for each MPI whose compiler wrapper is installed (Debian's Open
# MPI and MPICH lie side by side), which the library loads where that MPI's mpirun started it.
# Nothing links with MPI, so that a program runs where none is installed.
option(FILTRA_MPI "Build the transports over Open MPI and MPICH that are found" ON)
set(FILTRA_MPI_MODULES "")

# filtra_mpi(KEY NAME WRAPPER...): the wrapper must be of that MPI, which its mpi.h says.
function(filtra_mpi key name macro)
  find_program(FILTRA_MPICC_${key} NAMES ${ARGN})
  if(NOT FILTRA_MPICC_${key})
    return()
  endif()
  set(flags "")
  foreach(show -showme -show)
    execute_process(COMMAND ${FILTRA_MPICC_${key}} ${show} OUTPUT_VARIABLE line ERROR_QUIET
                    RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT failed)
      separate_arguments(flags UNIX_COMMAND "${line}")
      list(POP_FRONT flags)
      break()
    endif()
  endforeach()
  set(compile ${flags})
  list(FILTER compile INCLUDE REGEX "^-[ID]")
  set(link ${flags})
  list(FILTER link INCLUDE REGEX "^-(L|l|Wl)")
  include(CheckCSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS ${compile})
  list(JOIN CMAKE_REQUIRED_FLAGS " " CMAKE_REQUIRED_FLAGS)
  set(CMAKE_REQUIRED_LIBRARIES ${link})
  check_c_source_compiles("#include <mpi.h>
#ifndef ${macro}
#error another MPI
#endif
int main(void) { return MPI_Finalize(); }" FILTRA_MPI_${key}_WORKS)
  if(NOT FILTRA_MPI_${key}_WORKS)
    return()
  endif()
  add_library(filtra_${key} MODULE ${CMAKE_CURRENT_SOURCE_DIR}/plugins/mpi.c)
  target_compile_options(filtra_${key} PRIVATE ${compile})
  target_compile_definitions(filtra_${key} PRIVATE FILTRA_MPI_NAME="${name}")
  target_include_directories(filtra_${key} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include)
  target_link_libraries(filtra_${key} PRIVATE ${link})
  set_target_properties(filtra_${key} PROPERTIES PREFIX "" SUFFIX ".so"
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  set(FILTRA_MPI_MODULES ${FILTRA_MPI_MODULES} filtra_${key} PARENT_SCOPE)
endfunction()

if(FILTRA_MPI AND NOT WIN32)
  filtra_mpi(openmpi "Open MPI" OPEN_MPI mpicc.openmpi mpicc)
  filtra_mpi(mpich "MPICH" MPICH_VERSION mpicc.mpich mpicc)
endif()
