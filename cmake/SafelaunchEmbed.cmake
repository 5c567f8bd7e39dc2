# safelaunch_embed(TARGET FUNCTION HEADER FILE...): generates a source that defines
#   std::span<const EmbeddedFile> FUNCTION()
# in the room's namespace (the project declares it in HEADER) with the bytes of every FILE. A file is named by
# its path relative to the present source directory; a built file (an absolute path) by its file name alone.
# So one copied executable has everything that it needs.
set(SAFELAUNCH_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/embed.cmake)

function(safelaunch_embed target function header)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${function}.embedded.cc)
  string(REPLACE "_" "::" namespace ${target})
  string(REGEX REPLACE "::base$" "" namespace ${namespace})  # `base` is the project's namespace itself
  set(paths)
  foreach(file IN LISTS ARGN)
    get_filename_component(path ${file} ABSOLUTE)
    list(APPEND paths ${path})
  endforeach()
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DNAMESPACE=${namespace} -DFUNCTION=${function}
            -DHEADER=${header} -DROOT=${CMAKE_CURRENT_SOURCE_DIR} "-DFILES=${ARGN}" -P ${SAFELAUNCH_EMBED_SCRIPT}
    DEPENDS ${paths} ${SAFELAUNCH_EMBED_SCRIPT}
    VERBATIM)
  add_library(${target}_${function} STATIC ${output})
  target_link_libraries(${target}_${function} PRIVATE safelaunch_base)
  target_include_directories(${target}_${function} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${SAFELAUNCH_COMPILES} PRIVATE ${target}_${function})
endfunction()
