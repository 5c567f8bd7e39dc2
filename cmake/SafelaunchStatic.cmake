# safelaunch_yaml: yaml-cpp, from its static library where the system has one. The shared one would bring
# a second C++ runtime beside ours, and its loading costs every start.
add_library(safelaunch_yaml INTERFACE)
find_library(YAML_CPP_STATIC libyaml-cpp.a)
if(YAML_CPP_STATIC)
  target_include_directories(safelaunch_yaml SYSTEM INTERFACE ${YAML_CPP_INCLUDE_DIR})
  target_link_libraries(safelaunch_yaml INTERFACE ${YAML_CPP_STATIC})
else()
  target_link_libraries(safelaunch_yaml INTERFACE yaml-cpp)
endif()

# zlib and RE2, from their archives where there are any: a shared library would cost every start of safelaunch.
# RE2 because its time is linear in the length of the text, whatever a hostile log holds.
find_package(Threads REQUIRED)
add_library(safelaunch_zlib INTERFACE)
find_library(ZLIB_LIBRARY NAMES libz.a z REQUIRED)
target_link_libraries(safelaunch_zlib INTERFACE ${ZLIB_LIBRARY})
add_library(safelaunch_re2 INTERFACE)
find_library(RE2_LIBRARY NAMES libre2.a re2 REQUIRED)
target_link_libraries(safelaunch_re2 INTERFACE ${RE2_LIBRARY} Threads::Threads)
