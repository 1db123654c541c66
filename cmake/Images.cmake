# PNG and JPEG files are read where libpng and libjpeg are at hand. Without one of them a file of
# its kind is refused with a message that says so; nothing else depends on them.
add_library(filtra_images INTERFACE)
find_package(PNG)
if(PNG_FOUND)
  target_compile_definitions(filtra_images INTERFACE FT_WITH_PNG)
  target_link_libraries(filtra_images INTERFACE PNG::PNG)
endif()
find_package(JPEG)
if(JPEG_FOUND)
  target_compile_definitions(filtra_images INTERFACE FT_WITH_JPEG)
  target_link_libraries(filtra_images INTERFACE JPEG::JPEG)
endif()
