# safelaunch_unity(TARGET): with SAFELAUNCH_UNITY its sources are compiled many at a time, so each batch reads the
# heavy headers once. Of the largest room two batches come, one for each core of a small machine.
function(safelaunch_unity target)
  if(SAFELAUNCH_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 24)
  endif()
endfunction()

# safelaunch_room(NAME [LIBRARY...]): the library safelaunch_NAME of all launcher/NAME/*.cc, which
# may use the named rooms and libraries. The rooms' order is the direction of includes
# (docs/architecture.md); tests/lint/layers.py holds it.
function(safelaunch_room room)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/launcher/${room}/*.cc)
  list(FILTER sources EXCLUDE REGEX "main\\.cc$")
  if(NOT sources)
    add_library(safelaunch_${room} INTERFACE)
    target_link_libraries(safelaunch_${room} INTERFACE safelaunch_options ${ARGN})
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

# safelaunch_room_tests(NAME [LIBRARY...]): the program test_NAME of tests/unit/NAME/*_test.cc.
function(safelaunch_room_tests room)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/${room}/*.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${room} ${sources})
  target_link_libraries(test_${room} PRIVATE safelaunch_${room} safelaunch_test_main ${ARGN})
  target_include_directories(test_${room} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
  if(SAFELAUNCH_PRECOMPILE)
    target_precompile_headers(test_${room} REUSE_FROM safelaunch_test_precompiled)
  endif()
  catch_discover_tests(test_${room} TEST_PREFIX "${room}: " TEST_SPEC "~[alone]~[.]" PROPERTIES LABELS unit TIMEOUT 120)
endfunction()
