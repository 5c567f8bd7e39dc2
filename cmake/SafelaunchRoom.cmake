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
endfunction()

# safelaunch_room_tests(NAME [LIBRARY...]): the program test_NAME of tests/unit/NAME/*_test.cc.
function(safelaunch_room_tests room)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/${room}/*.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${room} ${sources})
  target_link_libraries(test_${room} PRIVATE safelaunch_${room} safelaunch_test_main ${ARGN})
  target_include_directories(test_${room} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  catch_discover_tests(test_${room} TEST_PREFIX "${room}: " PROPERTIES LABELS unit TIMEOUT 120)
endfunction()
