# safelaunch_unity(TARGET): with SAFELAUNCH_UNITY its sources are compiled many at a time, so each batch reads the
# heavy headers once. Of the largest room two batches come, one for each core of a small machine.
function(safelaunch_unity target)
  if(SAFELAUNCH_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 24)
  endif()
endfunction()

# safelaunch_room(NAME [LIBRARY...]): the library safelaunch_NAME of all launcher/NAME/*.cc, which
# may use the named rooms and libraries. The rooms' order is the direction of includes
# (docs/architecture.md); tests/lint/layers.py holds it. Sets SAFELAUNCH_COMPILES to the target that
# compiles the sources, which is what a room's own definitions and options are for.
function(safelaunch_room room)
  set(SAFELAUNCH_COMPILES safelaunch_${room} PARENT_SCOPE)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/launcher/${room}/*.cc)
  list(FILTER sources EXCLUDE REGEX "main\\.cc$")
  if(NOT sources)
    add_library(safelaunch_${room} INTERFACE)
    target_link_libraries(safelaunch_${room} INTERFACE safelaunch_options ${ARGN})
    return()
  endif()
  if(SAFELAUNCH_TOGETHER_${room})
    safelaunch_room_together(${room} "${sources}" ${ARGN})
    set(SAFELAUNCH_COMPILES safelaunch_together PARENT_SCOPE)
    return()
  endif()
  add_library(safelaunch_${room} STATIC ${sources})
  target_link_libraries(safelaunch_${room} PUBLIC safelaunch_options ${ARGN})
  safelaunch_unity(safelaunch_${room})
  # A batch reads a header once as it is; and so CI compiles the rooms as a release does, where a missing include shows.
  if(SAFELAUNCH_PRECOMPILE AND NOT SAFELAUNCH_UNITY)
    target_precompile_headers(safelaunch_${room} REUSE_FROM safelaunch_precompiled)
  endif()
endfunction()

# safelaunch_together(ROOM...), before the rooms are: the sources of these rooms will be one batch. What a batch costs is
# mostly headers and templates, and rooms that stand side by side use the same ones, so a cold build takes two thirds of
# the time. The library safelaunch_together has all such batches, and a room's own library is but its name.
function(safelaunch_together)
  if(NOT TARGET safelaunch_together)
    add_library(safelaunch_together STATIC)
    set_target_properties(safelaunch_together PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    target_link_libraries(safelaunch_together PUBLIC safelaunch_options safelaunch_base)
    # Such a batch takes up to 2.3 GB: no more at a time than there are cores, and memory for.
    cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
    cmake_host_system_information(RESULT mebibytes QUERY TOTAL_PHYSICAL_MEMORY)
    math(EXPR batches "${mebibytes} / 3000")
    if(batches GREATER cores)
      set(batches ${cores})
    elseif(batches LESS 1)
      set(batches 1)
    endif()
    set_property(GLOBAL APPEND PROPERTY JOB_POOLS batches=${batches})
    set_target_properties(safelaunch_together PROPERTIES JOB_POOL_COMPILE batches)
  endif()
  foreach(room IN LISTS ARGN)
    set(SAFELAUNCH_TOGETHER_${room} ${ARGV0} PARENT_SCOPE)
  endforeach()
endfunction()

function(safelaunch_room_together room sources)
  add_library(safelaunch_${room} INTERFACE)
  target_link_libraries(safelaunch_${room} INTERFACE safelaunch_together ${ARGN})
  target_sources(safelaunch_together PRIVATE ${sources})
  set_source_files_properties(${sources} TARGET_DIRECTORY safelaunch_together
                              PROPERTIES UNITY_GROUP ${SAFELAUNCH_TOGETHER_${room}})
  foreach(library IN LISTS ARGN)
    string(REGEX REPLACE "^safelaunch_" "" name ${library})
    if(NOT SAFELAUNCH_TOGETHER_${name})
      target_link_libraries(safelaunch_together PUBLIC ${library})
    endif()
  endforeach()
endfunction()

# safelaunch_room_tests(NAME [LIBRARY...]): the program test_NAME of tests/unit/NAME/*_test.cc, which is one test of CTest.
function(safelaunch_room_tests room)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/${room}/*.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${room} ${sources})
  target_link_libraries(test_${room} PRIVATE safelaunch_${room} safelaunch_test_main ${ARGN})
  target_include_directories(test_${room} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
  safelaunch_unity(test_${room})
  if(SAFELAUNCH_PRECOMPILE)
    target_precompile_headers(test_${room} REUSE_FROM safelaunch_test_precompiled)
  endif()
  # One process for all of a room's cases: to start one for each costs as much as the cases themselves. They begin first.
  safelaunch_add_cases(${room} "${room}: unit" "~[alone]~[.]")
  set_tests_properties("${room}: unit" PROPERTIES COST 1000)
endfunction()

# safelaunch_add_cases(ROOM TEST SPEC): the cases of test_ROOM that Catch2 finds by the specification, as one test of CTest.
function(safelaunch_add_cases room test spec)
  add_test(NAME ${test} COMMAND test_${room} ${spec})
  set_tests_properties(${test} PROPERTIES LABELS unit TIMEOUT 1200)
endfunction()
