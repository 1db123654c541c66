# The README's C program must compile as it stands, without a warning.
set(PAGE ${README})
set(OUTPUT ${SCRATCH}/readme.c)
include(${CMAKE_CURRENT_LIST_DIR}/page_program.cmake)
execute_process(COMMAND ${COMPILER} -std=c11 -fsyntax-only -Wall -Wextra -Werror -pedantic
                        -I ${INCLUDE_DIR} ${OUTPUT}
                RESULT_VARIABLE failed ERROR_VARIABLE errors)
if(failed)
  message(FATAL_ERROR "the README's program does not compile:\n${errors}")
endif()
