# The Python package: that it declares what the headers do, its own tests, and its wheel.
set(python ${PROJECT_SOURCE_DIR}/python)
set(tests headers mypy)
if(FILTRA_SANITIZE) # which Python loads where its runtime is loaded first
  list(APPEND tests mistakes)
else()
  list(APPEND tests pytest longer)
endif()
foreach(test ${tests})
  add_test(NAME python/${test}
           COMMAND ${python}/tests/run.sh ${test} ${CMAKE_C_COMPILER} $<TARGET_FILE:libfiltra>
                   $<TARGET_FILE:filtra_command>)
  set_tests_properties(python/${test} PROPERTIES LABELS python)
  list(APPEND python_tests python/${test})
endforeach()
# The wheel, of kernels that are compiled already.
set(kernels ${FILTRA_KERNELS})
if(NOT kernels)
  set(kernels ${PROJECT_BINARY_DIR})
endif()
if(NOT FILTRA_SANITIZE)
  add_test(NAME python/wheel COMMAND ${python}/tests/run.sh wheel ${CMAKE_C_COMPILER} ${kernels})
  set_tests_properties(python/longer python/wheel PROPERTIES LABELS "python;thorough")
  list(APPEND python_tests python/wheel)
endif()
set_tests_properties(${python_tests} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
