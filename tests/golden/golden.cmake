# The golden files, through the command a user would run. Those that the command has embedded are in
# apps/golden_embedded.
file(GLOB golden CONFIGURE_DEPENDS golden/*.safetensors)
get_property(embedded GLOBAL PROPERTY FILTRA_GOLDEN_EMBEDDED)
set(others ${golden})
list(REMOVE_ITEM others ${embedded})
list(LENGTH others count)
math(EXPR half "${count} / 2")
list(SUBLIST others 0 ${half} first)
list(SUBLIST others ${half} -1 second)
foreach(part first second)
  add_test(NAME apps/golden_${part}
           COMMAND filtra_command check --quiet --cache-dir "" ${${part}})
  list(APPEND golden_tests apps/golden_${part})
endforeach()
# Some once more where nothing is asked of the device about control flow that meets again.
list(FILTER golden INCLUDE REGEX "/(softmax|dhhp|scale_norm|plat|agf|gru)_[^/]*n7[dc]5[.]")
add_test(NAME apps/golden_plain_convergence
         COMMAND filtra_command check --quiet --cache-dir "" ${golden}
                 --caps subgroup_uniform=0,maximal_reconvergence=0)
set_tests_properties(${golden_tests} apps/golden_plain_convergence PROPERTIES TIMEOUT 900
                     LABELS apps)
