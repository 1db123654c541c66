# Manual pages and completions for bash, zsh and fish, made by scripts/manual.py from what the built
# command says of itself. They are left out, with a message, without Python, and where the command
# cannot run on the machine that builds it.
find_package(Python3 3.9 QUIET COMPONENTS Interpreter)
if(CMAKE_CROSSCOMPILING OR FILTRA_SANITIZE OR NOT Python3_FOUND)
  message(STATUS "no manual pages and completions: they need Python and a command that runs here")
  return()
endif()

set(manual ${CMAKE_CURRENT_BINARY_DIR}/manual)
add_custom_command(OUTPUT ${manual}/made
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}
  COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/scripts/manual.py $<TARGET_FILE:filtra_command>
          ${PROJECT_VERSION} ${manual}
  COMMAND ${CMAKE_COMMAND} -E touch ${manual}/made
  DEPENDS filtra_command ${PROJECT_SOURCE_DIR}/scripts/manual.py VERBATIM)
add_custom_target(manual ALL DEPENDS ${manual}/made)

install(DIRECTORY ${manual}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(FILES ${manual}/bash/filtra
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${manual}/zsh/_filtra DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${manual}/fish/filtra.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
