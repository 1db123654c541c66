# The README's program trains on the demo's data, and `filtra predict` takes the file that it saves.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
file(WRITE ${FOLDER}/questions "[MAX 2 9 ]\n[MIN 4 7 ]\n")
if(NOT DEFINED ENV{FILTRA_DEVICE})
  set(ENV{FILTRA_DEVICE} cpu)
endif()
execute_process(COMMAND ${FILTRA} data listops --out build/demo/listops --train 64 --val 8 --test 8
                        --min-length 4 --max-length 15
                COMMAND_ERROR_IS_FATAL ANY WORKING_DIRECTORY ${FOLDER} OUTPUT_QUIET)
execute_process(COMMAND ${PROGRAM} COMMAND_ERROR_IS_FATAL ANY WORKING_DIRECTORY ${FOLDER})
execute_process(COMMAND ${FILTRA} predict model.safetensors --input questions
                COMMAND_ERROR_IS_FATAL ANY WORKING_DIRECTORY ${FOLDER} OUTPUT_VARIABLE said)
if(NOT said MATCHES "^[0-9]\t[01]\\.[0-9]+\t.MAX 2 9 .\n[0-9]\t[01]\\.[0-9]+\t.MIN 4 7 .\n$")
  message(FATAL_ERROR "predictions are:\n${said}")
endif()
