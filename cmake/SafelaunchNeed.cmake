# safelaunch_need(PACKAGE [ARGUMENT...]): find_package, and where there is none a line that installs all that is needed.
set(SAFELAUNCH_PACKAGES libboost-dev libyaml-cpp-dev libspdlog-dev libfmt-dev libre2-dev zlib1g-dev libssl-dev nlohmann-json3-dev pkg-config)

macro(safelaunch_need package)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    string(JOIN " " wanted ${package} ${ARGN})
    string(JOIN " " packages ${SAFELAUNCH_PACKAGES})
    message(FATAL_ERROR "safelaunch needs ${wanted}, which was not found. On Debian and Ubuntu install all that it needs by\n"
                        "  apt-get install ${packages}\n"
                        "and on Debian 12 libboost1.81-dev in place of libboost-dev; in a checkout scripts/setup does so.")
  endif()
endmacro()
