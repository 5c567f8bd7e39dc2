# The compiler options of all our code. Libraries of others come in as system headers, without our warnings.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without the sloppiness ccache keeps nothing that uses a precompiled header; and what it has not yet, it would
  # preprocess once more, if it did not take the compiler's own list of headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 ${CCACHE})
endif()

option(SAFELAUNCH_UNITY "Compile the sources of a room many at a time: a cold build takes a quarter of the time" OFF)
if(SAFELAUNCH_UNITY)
  # GCC takes a batch for a header, and warns of unnamed namespaces in it. It also tidies its memory again and again while
  # it compiles one: to let it use up to 1 GiB first saves a fifth of the time.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>
                      $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576>)
endif()

option(SAFELAUNCH_PRECOMPILE "Compile the headers that nearly every source includes only once" OFF)
if(SAFELAUNCH_PRECOMPILE)
  # ccache asks for it.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
                      "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

set(SAFELAUNCH_WARNINGS
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror=unused-result
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)  # GCC 12 sees ghosts in std::variant, optimised or instrumented

add_library(safelaunch_options INTERFACE)
target_compile_options(safelaunch_options INTERFACE
  ${SAFELAUNCH_WARNINGS} -ffunction-sections -fdata-sections)
target_include_directories(safelaunch_options INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)

option(SAFELAUNCH_WERROR "Treat warnings as errors" OFF)
if(SAFELAUNCH_WERROR)
  list(APPEND SAFELAUNCH_WARNINGS -Werror)
  target_compile_options(safelaunch_options INTERFACE -Werror)
endif()

set(SAFELAUNCH_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=…: address,undefined or thread")
if(SAFELAUNCH_SANITIZE)
  target_compile_options(safelaunch_options INTERFACE -fsanitize=${SAFELAUNCH_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(safelaunch_options INTERFACE -fsanitize=${SAFELAUNCH_SANITIZE})
endif()

# The executable links everything but the C library statically, so that one file can be copied to a cluster's
# login node and starts quickly. The C library stays shared, because name resolution needs it.
target_link_options(safelaunch_options INTERFACE -Wl,--gc-sections)
# What is tested is linked in half the time, where this linker is there (Debian 13 has it in a package of its own).
find_program(SAFELAUNCH_GOLD ld.gold)
if(SAFELAUNCH_GOLD AND CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT SAFELAUNCH_SANITIZE)
  target_link_options(safelaunch_options INTERFACE -fuse-ld=gold)
endif()
option(SAFELAUNCH_STATIC_LIBGCC "Link libgcc statically: a quicker start, but GCC 12's asks for glibc 2.35" ON)
if(NOT SAFELAUNCH_SANITIZE)
  target_link_options(safelaunch_options INTERFACE -static-libstdc++)
  if(SAFELAUNCH_STATIC_LIBGCC AND NOT SAFELAUNCH_GLIBC)
    target_link_options(safelaunch_options INTERFACE -static-libgcc)
  endif()
endif()

# An older C library to link with, so that the executables run where that one, or 2.28, is all there is. What they ask
# of a newer one is compiled into each.
set(SAFELAUNCH_GLIBC "" CACHE PATH "A folder with an older C library to link with (packaging/glibc/fetch)")
if(SAFELAUNCH_GLIBC)
  add_link_options(--sysroot=${SAFELAUNCH_GLIBC} -B${SAFELAUNCH_GLIBC}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}
                   -L${SAFELAUNCH_GLIBC}/lib/${CMAKE_LIBRARY_ARCHITECTURE}
                   -L${SAFELAUNCH_GLIBC}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
  add_library(safelaunch_newer_glibc STATIC ${PROJECT_SOURCE_DIR}/packaging/glibc/newer.cc)
  target_compile_options(safelaunch_newer_glibc PRIVATE ${SAFELAUNCH_WARNINGS})
  target_link_libraries(safelaunch_options INTERFACE safelaunch_newer_glibc pthread dl)
  target_link_options(safelaunch_options INTERFACE -Wl,--undefined=__libc_single_threaded)
endif()
