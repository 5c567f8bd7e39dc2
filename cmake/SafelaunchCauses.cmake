# Makes safelaunch/base/cause_ids.h: a constant for each id of the catalogue, so that a wrong id does not compile.
set(catalogue ${PROJECT_SOURCE_DIR}/launcher/diagnose/catalogue.yaml)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${catalogue})

file(STRINGS ${catalogue} rows REGEX "^- id: ")
set(constants)
foreach(row IN LISTS rows)
  string(REGEX REPLACE "^- id: *" "" id ${row})
  string(REPLACE "-" ";" words ${id})
  set(name k)
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 first)
    string(SUBSTRING ${word} 1 -1 rest)
    string(TOUPPER ${first} first)
    string(APPEND name ${first}${rest})
  endforeach()
  string(APPEND constants "inline constexpr const char* ${name} = \"${id}\";\n")
endforeach()

file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/include/safelaunch/base/cause_ids.h CONTENT
"#pragma once

/// The ids of the catalogue (launcher/diagnose/catalogue.yaml, from which this is made).
namespace safelaunch::cause {

${constants}
}  // namespace safelaunch::cause
")
