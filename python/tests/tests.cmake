# The Python package: that it declares what the headers do, and its own tests.
set(python ${PROJECT_SOURCE_DIR}/python)
foreach(test headers pytest mypy)
  add_test(NAME python/${test}
           COMMAND ${python}/tests/run.sh ${test} ${CMAKE_C_COMPILER} $<TARGET_FILE:libfiltra>)
  list(APPEND python_tests python/${test})
endforeach()
set_tests_properties(${python_tests} PROPERTIES LABELS python SKIP_RETURN_CODE 77 TIMEOUT 900)
