# Writes OUTPUT: for every function that the public headers declare and each of its pointers, a call
# with NULL there and something valid for all other arguments (tests/api/test_null.c).
cmake_minimum_required(VERSION 3.22)

# Where NULL means something.
set(optional
    filtra_binary_cross_entropy:weights
    filtra_dataset_open:options filtra_device_open:options filtra_device_list:infos
    filtra_generator_create:options filtra_generator_feed:logits filtra_gibbs_factors:options
    filtra_graph_backward:upstream filtra_graph_create:options filtra_graph_submit:ticket
    filtra_listops_generate:options filtra_optimizer_create:options
    filtra_optimizer_finish:result filtra_pathfinder_generate:options filtra_run_evaluate:data
    filtra_run_evaluate:precision filtra_run_evaluate:scores filtra_run_evaluate:settings
    filtra_predictor_create:options filtra_predictor_create_from_memory:options
    filtra_predictor_predict_batch:logits
    filtra_predictor_predict_batch:probabilities filtra_predictor_predict_split:logits
    filtra_predictor_predict_split:probabilities filtra_run_create_predictor:options
    filtra_config_complete:name filtra_config_describe:key
    filtra_run_open_data:path filtra_run_open_data:settings
    filtra_model_import:changes filtra_run_import:changes filtra_sample_token:options
    filtra_tokenizer_encode_offsets:begins filtra_tokenizer_encode_offsets:ends
    filtra_trainer_create:options
    filtra_trainer_finish:metrics filtra_trainer_step:metrics filtra_vulkan_input:range
    filtra_vulkan_open:options filtra_vulkan_output:range filtra_vulkan_requirements:vulkan
    filtra_vulkan_submit:ticket)

set(calls "")
file(GLOB headers ${INCLUDE_DIR}/filtra/*.h)
foreach(header IN LISTS headers)
  file(READ ${header} text)
  string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  string(REGEX MATCHALL "FILTRA_API [^;]*\\)" functions "${text}")
  foreach(function IN LISTS functions)
    string(REGEX MATCH "(filtra_[a-z0-9_]+)\\((.*)\\)$" matched "${function}")
    set(name ${CMAKE_MATCH_1})
    string(REPLACE ", " ";" parameters "${CMAKE_MATCH_2}")
    set(values "")
    set(arguments "")
    foreach(parameter IN LISTS parameters)
      string(REGEX MATCH "^(.*[ *])([A-Za-z0-9_]+)(\\[[A-Z_0-9]+\\])?$" matched "${parameter}")
      set(type "${CMAKE_MATCH_1}")
      set(argument ${CMAKE_MATCH_2})
      if(parameter MATCHES "[*[]")
        list(APPEND arguments ${argument})
        list(APPEND values "valid(\"${type}\")")
      elseif(NOT parameter STREQUAL "void")
        list(APPEND arguments -)
        string(REGEX REPLACE "^.*(_fn|_position) $" "(${type}){0}" value "${type}")
        string(REGEX REPLACE "^[^(].*$" 1 value "${value}")
        list(APPEND values "${value}")
      endif()
    endforeach()
    set(kind SURVIVES)
    if(function MATCHES "^FILTRA_API filtra_status ")
      set(kind REFUSES)
    endif()
    set(index 0)
    foreach(argument IN LISTS arguments)
      set(given ${values})
      list(REMOVE_AT given ${index})
      list(INSERT given ${index} NULL)
      list(JOIN given ", " given)
      math(EXPR index "${index} + 1")
      if(NOT argument STREQUAL "-" AND NOT "${name}:${argument}" IN_LIST optional)
        string(APPEND calls "${kind}(${name}, ${argument}, (${given}))\n")
      endif()
    endforeach()
  endforeach()
endforeach()
file(WRITE ${OUTPUT} "${calls}")
