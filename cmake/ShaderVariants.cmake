# What is compiled of a kernel's source, and how: used by the build (Shaders.cmake) and where
# kernels are kept compiled (KeptShaders.cmake).
#
# A source is embedded as "FOLDER/FILE". It may ask for further variants, one comment line each near
# its top:
#   //@variant NAME -DMACRO=VALUE ...
# which are embedded as "FOLDER/FILE.NAME", and name the element types that it is compiled for, f32
# where it says nothing:
#   //@types f32 f16 bf16
# f16 defines FT_F16=1 and is embedded as "FOLDER/FILE.f16", with a variant "FOLDER/FILE.f16.NAME".
# A variant "f32:NAME" is compiled for that type alone.
# With the line
#   //@kept
# the repository keeps what a glslc that knows matrix units made of it, for those that do not.
set(FILTRA_SHADER_OPTIONS -O --target-env=vulkan1.3 -Werror -fshader-stage=compute)

# A list of "NAME=DEFINES", with spaces between the defines.
function(filtra_shader_variants root source out)
  file(RELATIVE_PATH name ${root} ${source})
  string(REGEX REPLACE "\\.comp$" "" name ${name})
  set(variants "=")
  file(STRINGS ${source} lines REGEX "^//@variant ")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^//@variant ([A-Za-z0-9_:]+) *(.*)$" "\\1=\\2" variant "${line}")
    list(APPEND variants "${variant}")
  endforeach()
  set(types f32)
  file(STRINGS ${source} line REGEX "^//@types ")
  if(line)
    string(REGEX REPLACE "^//@types +" "" line "${line}")
    separate_arguments(types UNIX_COMMAND "${line}")
  endif()
  set(list "")
  foreach(type IN LISTS types)
    foreach(variant IN LISTS variants)
      string(REGEX MATCH "^([^=]*)=(.*)$" matched "${variant}")
      set(full ${name})
      set(suffix "${CMAKE_MATCH_1}")
      set(defines "${CMAKE_MATCH_2}")
      if(suffix MATCHES "^([a-z0-9]+):(.+)$")
        if(NOT CMAKE_MATCH_1 STREQUAL type)
          continue()
        endif()
        set(suffix "${CMAKE_MATCH_2}")
      endif()
      if(NOT type STREQUAL f32)
        string(APPEND full .${type})
        string(TOUPPER ${type} upper)
        string(APPEND defines " -DFT_${upper}=1")
      endif()
      if(suffix)
        string(APPEND full .${suffix})
      endif()
      string(STRIP "${defines}" defines)
      list(APPEND list "${full}=${defines}")
    endforeach()
  endforeach()
  set(${out} "${list}" PARENT_SCOPE)
endfunction()

# Whether the source has the line //@kept.
function(filtra_shader_is_kept source out)
  file(STRINGS ${source} line REGEX "^//@kept")
  if(line)
    set(${out} TRUE PARENT_SCOPE)
  else()
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()
