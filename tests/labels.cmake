# What ./run test leaves to passes of ./run test --all: benchmarks, tuning, precision, memory,
# random graphs, failing kernels, processes, pages, and what needs drivers that are unpacked first.
set(thorough apps/analyze apps/bench apps/check_precision apps/compare apps/sweep apps/train
             apps/tune faults/kernel faults/matrices graph/random model/tasks newest/matrix
             newest/matrix_attention newest/matrix_plaplacian newest/optimizer newest/probe
             nn/filter_dropout ops/linear ops/tuning ranks/ranks shaders/kept train/memory
             train/precision train/transport train/tuning)
foreach(test IN LISTS thorough)
  if(TEST ${test})
    set_property(TEST ${test} APPEND PROPERTY LABELS thorough)
  endif()
endforeach()

# Tests spend most of their time in lavapipe's compiler, a sixth to a half of it on optimizing. Only
# layers, models, golden files and benchmarks have their kernels optimized, as users' are.
get_property(all DIRECTORY PROPERTY TESTS)
list(FILTER all EXCLUDE REGEX "^(nn|model)/|^apps/(golden|bench)")
set_property(TEST ${all} APPEND PROPERTY ENVIRONMENT GALLIVM_PERF=nopt)
