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

# safelaunch_zlib and safelaunch_re2, from their archives if there are any: a shared library would cost every
# start of safelaunch. RE2 is used because its time is linear in the text, whatever a hostile log holds.
find_package(Threads REQUIRED)
add_library(safelaunch_zlib INTERFACE)
find_library(ZLIB_LIBRARY NAMES libz.a z REQUIRED)
target_link_libraries(safelaunch_zlib INTERFACE ${ZLIB_LIBRARY})

# RE2 and what it is made of: newer ones stand on a dozen libraries of Abseil.
find_package(PkgConfig REQUIRED)
pkg_check_modules(RE2 REQUIRED re2)
add_library(safelaunch_re2 INTERFACE)
set(libraries ${RE2_STATIC_LIBRARIES})
list(REVERSE libraries)
list(REMOVE_DUPLICATES libraries)  # of each the last one stays: it stands behind all that use it
list(REVERSE libraries)
foreach(library IN LISTS libraries)
  find_library(SAFELAUNCH_${library} NAMES lib${library}.a ${library})
  if(NOT SAFELAUNCH_${library})
    set(SAFELAUNCH_${library} ${library} CACHE STRING "the compiler's own" FORCE)  # libatomic
  endif()
  target_link_libraries(safelaunch_re2 INTERFACE ${SAFELAUNCH_${library}})
endforeach()
target_link_libraries(safelaunch_re2 INTERFACE Threads::Threads)

# safelaunch_crypto: SHA-256 of OpenSSL's libcrypto. The archive gives the two objects that are used; the shared library
# would cost every start of safelaunch 0.8 ms.
add_library(safelaunch_crypto INTERFACE)
find_path(CRYPTO_INCLUDE_DIR openssl/sha.h REQUIRED)
find_library(CRYPTO_LIBRARY NAMES libcrypto.a crypto REQUIRED)
target_include_directories(safelaunch_crypto SYSTEM INTERFACE ${CRYPTO_INCLUDE_DIR})
target_link_libraries(safelaunch_crypto INTERFACE ${CRYPTO_LIBRARY})
