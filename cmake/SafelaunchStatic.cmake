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
