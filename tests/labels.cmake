# What ./run test leaves to passes of ./run test --all: benchmarks, tuning, precision, memory,
# random graphs, failing kernels, processes, pages, and what needs drivers that are unpacked first.
set(thorough apps/analyze apps/bench apps/check_precision apps/compare apps/sweep apps/train
             apps/tune faults/kernel faults/matrices graph/random model/tasks newest/matrix
             newest/matrix_attention newest/matrix_plaplacian newest/optimizer newest/probe
             nn/filter_dropout ops/linear ops/tuning ranks/ranks shaders/kept train/memory
             train/precision train/transport train/tuning)

# Tests of these areas run in one process for each area, and share its device: each by itself, they
# take a sixth longer, for kernels that another of them has compiled. Those with a setup of their
# own, thorough ones, and those that register mixers, which all later ones would see, run alone.
set(FILTRA_AREAS_TOGETHER data model nn train)
function(filtra_runs_together name out)
  set(${out} FALSE PARENT_SCOPE)
  string(REGEX MATCH "^[^/]*" area ${name})
  if(NOT area IN_LIST FILTRA_AREAS_TOGETHER OR name IN_LIST thorough)
    return()
  endif()
  string(REPLACE "/" "/test_" file ${name})
  file(STRINGS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${file}.c usual
       REGEX "^TEST_MAIN\\(NULL, (NULL|test_teardown)\\)")
  file(STRINGS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${file}.c registers
       REGEX "filtra_[a-z_]*register\\(")
  if(usual AND NOT registers)
    set(${out} TRUE PARENT_SCOPE)
  endif()
endfunction()

function(filtra_label_tests)
  foreach(test IN LISTS thorough)
    if(TEST ${test})
      set_property(TEST ${test} APPEND PROPERTY LABELS thorough)
    endif()
  endforeach()

  # Tests spend most of their time in lavapipe's compiler, a sixth to a half of it on optimizing.
  # Only layers, models, golden files and benchmarks have their kernels optimized, as users' are.
  get_property(all DIRECTORY PROPERTY TESTS)
  list(FILTER all EXCLUDE REGEX "^(nn|model)/|^apps/(golden|bench)")
  set_property(TEST ${all} APPEND PROPERTY ENVIRONMENT GALLIVM_PERF=nopt)
endfunction()
