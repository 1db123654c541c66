# Compares compiled kernels with their contracts (shaders/common/contract.h), wherever they come
# from: this build, another one's folder, or shaders/kept. What is linked waits for it.
function(filtra_check_contracts root)
  file(GLOB contracts CONFIGURE_DEPENDS ${root}/*/contract.h)
  list(FILTER contracts EXCLUDE REGEX "/common/contract[.]h$")
  set(text "")
  foreach(contract IN LISTS contracts)
    file(RELATIVE_PATH name ${root} ${contract})
    string(APPEND text "#include \"${name}\"\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/shaders/contracts.inc CONTENT "${text}" @ONLY)
  set(folder ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/contracts)
  add_library(filtra_contracts OBJECT ${folder}/check.c)
  target_include_directories(filtra_contracts PUBLIC ${folder} include runtime shaders
                             PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
  target_link_libraries(filtra_contracts PUBLIC filtra_flags)
  add_executable(filtra_check_contracts ${folder}/main.c
                 $<FILTER:$<TARGET_OBJECTS:filtra_objects>,INCLUDE,shaders/kernels[.]c>)
  target_link_libraries(filtra_check_contracts PRIVATE filtra_contracts)
  set(stamp ${CMAKE_CURRENT_BINARY_DIR}/shaders/contracts.stamp)
  add_custom_command(OUTPUT ${stamp} COMMAND filtra_check_contracts
                     COMMAND ${CMAKE_COMMAND} -E touch ${stamp} DEPENDS filtra_check_contracts
                     COMMENT "Comparing kernels with their contracts" VERBATIM)
  add_custom_target(filtra_contracts_hold DEPENDS ${stamp})
endfunction()
