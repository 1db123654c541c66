# A program that was compiled with other headers than its library's gets a sentence, and the list in
# structs.h has every struct of the headers.
# COMPILER, INCLUDE_DIR, LIBRARY: a shared one; SCRATCH.
file(REMOVE_RECURSE ${SCRATCH})
file(WRITE ${SCRATCH}/program.c "#include <filtra/filtra.h>
#include <stdio.h>
int main(void) {
  filtra_dataset *data = NULL;
  filtra_dataset_options options = {.max_length = 4};
  filtra_status status = filtra_dataset_open(\"/none/such\", &options, &data);
  printf(\"%s: %s\", filtra_status_name(status), filtra_error_message());
  return 0;
}
")

# Compiles the program with headers in which `text` of `header` is `other`, and runs it.
function(expect header text other sentence)
  file(REMOVE_RECURSE ${SCRATCH}/filtra)
  file(COPY ${INCLUDE_DIR}/filtra DESTINATION ${SCRATCH})
  file(READ ${SCRATCH}/filtra/${header} content)
  string(REPLACE "${text}" "${other}" changed "${content}")
  if(content STREQUAL changed AND NOT text STREQUAL other)
    message(FATAL_ERROR "${header} has no \"${text}\"")
  endif()
  file(WRITE ${SCRATCH}/filtra/${header} "${changed}")
  execute_process(COMMAND ${COMPILER} -std=c11 -Wall -Wextra -Werror -I ${SCRATCH}
                          ${SCRATCH}/program.c ${LIBRARY} -o ${SCRATCH}/program
                  COMMAND_ERROR_IS_FATAL ANY)
  cmake_path(GET LIBRARY PARENT_PATH folder)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${folder} ${SCRATCH}/program
                  OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  if(NOT said MATCHES "${sentence}")
    message(FATAL_ERROR "with \"${other}\" in ${header} the program says \"${said}\"")
  endif()
endfunction()

expect(data.h "filtra_batch" "filtra_batch" "^wrong path: .*/none/such")
expect(data.h "filtra_targets targets;" "filtra_targets targets; uint64_t added;"
       "^unsupported: this program was made for a filtra_dataset_options of [0-9]+ bytes; that")
expect(predictor.h "uint32_t channels;" "uint64_t channels[2];" "made for a filtra_request of")
expect(status.h "VERSION_MINOR 1" "VERSION_MINOR 7" "was made for Filtra 0.7 and runs with")

file(READ ${INCLUDE_DIR}/filtra/structs.h list)
file(GLOB headers ${INCLUDE_DIR}/filtra/*.h)
foreach(header IN LISTS headers)
  file(READ ${header} text)
  string(REGEX REPLACE "typedef enum [^}]*}" "" text "${text}")
  string(REGEX MATCHALL "\n} filtra_[a-z0-9_]+;" ends "${text}")
  string(REGEX MATCHALL "filtra_[a-z0-9_]+" structs "${ends}")
  foreach(struct IN LISTS structs)
    if(NOT "${list}${text}" MATCHES "X\\(${struct}\\)") # vulkan.h has a list of its own
      message(FATAL_ERROR "structs.h lacks ${struct} of ${header}")
    endif()
  endforeach()
endforeach()
