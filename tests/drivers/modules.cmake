# Included by tests/CMakeLists.txt: modules of a few lines on which some driver fails, embedded into
# test_faults.c.
file(GLOB modules CONFIGURE_DEPENDS drivers/*.comp)
foreach(source IN LISTS modules)
  get_filename_component(name ${source} NAME_WE)
  set(output ${tests_folder}/drivers/${name}.inc)
  add_custom_command(OUTPUT ${output}
    COMMAND ${Vulkan_GLSLC_EXECUTABLE} -O --target-env=vulkan1.3 -Werror -mfmt=c
            -I ${CMAKE_CURRENT_SOURCE_DIR} -o ${output} ${source}
    DEPENDS ${source} drivers/module.glsl VERBATIM)
  target_sources(filtra_tests PRIVATE ${output})
endforeach()
file(MAKE_DIRECTORY ${tests_folder}/drivers)

# For golden.sh, which shows what the faults of a driver do to golden files.
add_executable(drivers_variants drivers/variants.c)
target_link_libraries(drivers_variants PRIVATE filtra_test_support)
