# Compiles every shaders/FOLDER/FILE.comp to SPIR-V and embeds it; ShaderVariants.cmake says under
# which names. A second build folder, say one with sanitizers, takes what the first one compiled:
# glslc takes three quarters of a minute of processor time for all.
include(${CMAKE_CURRENT_LIST_DIR}/ShaderVariants.cmake)

# Compiles the variants of one source, while building, by this file as a script. glslc takes as long
# to start as to compile a kernel, so it is started once for all of them. Its -D would hold for them
# all, so each is a file of its own, with its defines below the line #version. Of a file ID, glslc
# writes ID.spv and ID.spv.d to the folder that it runs in.
if(CMAKE_SCRIPT_MODE_FILE)
  set(folder ${output}.parts)
  file(REMOVE_RECURSE ${folder})
  file(READ ${source} text)
  string(REGEX MATCH "#version [^\n]*" version "${text}")
  string(REPLACE "${version}" "" text "${text}")
  filtra_shader_variants(${root} ${source} variants)
  set(ids "")
  foreach(variant IN LISTS variants)
    string(REGEX MATCH "^([^=]*)=(.*)$" matched "${variant}")
    string(MAKE_C_IDENTIFIER ${CMAKE_MATCH_1} id)
    string(REGEX REPLACE "-D([^ =]+)=([^ ]+) *" "#define \\1 \\2\n" defines "${CMAKE_MATCH_2}")
    file(WRITE ${folder}/${id} "${version}\n${defines}#line 1 \"${source}\"\n${text}")
    list(APPEND ids ${id})
  endforeach()
  execute_process(COMMAND ${glslc} ${FILTRA_SHADER_OPTIONS} -mfmt=c -I ${root} -MD -c ${ids}
                  WORKING_DIRECTORY ${folder} RESULT_VARIABLE code)
  set(arrays "")
  set(depends "")
  foreach(id IN LISTS ids)
    if(NOT EXISTS ${folder}/${id}.spv)
      message(FATAL_ERROR "glslc cannot compile ${id}, see above")
    endif()
    file(READ ${folder}/${id}.spv words)
    string(APPEND arrays "static const uint32_t ${id}[] =\n${words};\n")
    file(READ ${folder}/${id}.spv.d depend)
    string(REPLACE "${id}.spv: ${id}" "${output}:" depend "${depend}")
    string(APPEND depends "${depend}")
  endforeach()
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "glslc failed: ${code}")
  endif()
  file(WRITE ${output}.d "${depends}")
  file(WRITE ${output} "${arrays}")
  file(REMOVE_RECURSE ${folder})
  return()
endif()

# Whether glslc knows the extensions of the kernels that are kept compiled.
function(filtra_check_glslc out)
  if(NOT DEFINED FILTRA_GLSLC_KNOWS_MATRICES)
    set(probe ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/matrices.comp)
    file(WRITE ${probe} "#version 450\n#extension GL_KHR_cooperative_matrix : require\n"
                        "#extension GL_EXT_bfloat16 : require\nvoid main() {}\n")
    execute_process(COMMAND ${Vulkan_GLSLC_EXECUTABLE} ${FILTRA_SHADER_OPTIONS} -o ${probe}.spv
                            ${probe} RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
    if(code EQUAL 0)
      set(knows TRUE)
    else()
      set(knows FALSE)
      message(STATUS "Shaders: this glslc knows no matrix units, so kernels for them are taken as "
                     "kept in shaders/kept")
    endif()
    set(FILTRA_GLSLC_KNOWS_MATRICES ${knows} CACHE INTERNAL "glslc knows matrix units")
  endif()
  set(${out} ${FILTRA_GLSLC_KNOWS_MATRICES} PARENT_SCOPE)
endfunction()

function(filtra_take_shaders build out_sources)
  file(GLOB_RECURSE outputs CONFIGURE_DEPENDS ${build}/shaders/*.inc)
  if(NOT outputs)
    message(FATAL_ERROR "FILTRA_KERNELS: ${build}/shaders has no compiled kernels; it has to be a "
                        "folder where Filtra was built")
  endif()
  set_source_files_properties(${build}/shaders/kernels.c PROPERTIES OBJECT_DEPENDS "${outputs}"
                              INCLUDE_DIRECTORIES ${build})
  set(${out_sources} ${build}/shaders/kernels.c PARENT_SCOPE)
endfunction()

function(filtra_embed_shaders root out_sources)
  if(FILTRA_KERNELS)
    filtra_take_shaders(${FILTRA_KERNELS} ${out_sources})
    set(${out_sources} ${${out_sources}} PARENT_SCOPE)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${root}/*/*.comp)
  file(GLOB headers CONFIGURE_DEPENDS ${root}/*/*.glsl ${root}/*/*.h)
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/shaders)
  set(scripts ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  filtra_check_glslc(knows_all)
  set(includes "")
  set(rows "")
  set(arguments "")
  set(outputs "")
  foreach(source IN LISTS sources)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(RELATIVE_PATH name ${root} ${source})
    string(REGEX REPLACE "\\.comp$" "" name ${name})
    set(output ${dir}/${name}.inc)
    get_filename_component(folder ${output} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    list(APPEND outputs ${output})
    string(APPEND includes "#include \"shaders/${name}.inc\"\n")
    set(modules "")
    filtra_shader_is_kept(${source} kept)
    filtra_shader_variants(${root} ${source} variants)
    foreach(variant IN LISTS variants)
      string(REGEX MATCH "^([^=]*)=(.*)$" matched "${variant}")
      set(full ${CMAKE_MATCH_1})
      if(kept AND NOT knows_all)
        list(APPEND modules ${root}/kept/${full}.spv)
      else()
        string(APPEND arguments
               "${full} ${FILTRA_SHADER_OPTIONS} -I ${root} ${CMAKE_MATCH_2} ${source}\n")
      endif()
      string(MAKE_C_IDENTIFIER ${full} id)
      string(APPEND rows "  {\"${full}\", ${id}, sizeof ${id}},\n")
    endforeach()
    if(modules)
      add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DMODE=embed -DROOT=${root} -DNAME=${name} -DOUT=${output}
                -P ${scripts}/KeptShaders.cmake
        DEPENDS ${source} ${headers} ${modules} ${root}/kept/sources.txt
                ${scripts}/KeptShaders.cmake ${scripts}/ShaderVariants.cmake
        COMMENT "kept ${name}" VERBATIM)
    else()
      add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -Dglslc=${Vulkan_GLSLC_EXECUTABLE} -Droot=${root}
                -Dsource=${source} -Doutput=${output} -P ${scripts}/Shaders.cmake
        DEPENDS ${source} ${scripts}/Shaders.cmake ${scripts}/ShaderVariants.cmake
        DEPFILE ${output}.d COMMENT "glslc ${name}" VERBATIM)
    endif()
  endforeach()
  string(CONCAT text "/* Generated by cmake/Shaders.cmake. */\n#include \"gpu/kernels.h\"\n\n"
         "${includes}\nconst ft_kernel_source ft_kernel_sources[] = {\n${rows}  {0, 0, 0}};\n")
  file(CONFIGURE OUTPUT ${dir}/kernels.c CONTENT "${text}" @ONLY)
  string(REPLACE ";" " " arguments "${arguments}")
  file(CONFIGURE OUTPUT ${dir}/kernels.txt CONTENT "${arguments}" @ONLY) # for tests/adversary
  set_source_files_properties(${dir}/kernels.c PROPERTIES OBJECT_DEPENDS "${outputs}"
                              INCLUDE_DIRECTORIES ${CMAKE_CURRENT_BINARY_DIR})
  set(${out_sources} ${dir}/kernels.c PARENT_SCOPE)
endfunction()
