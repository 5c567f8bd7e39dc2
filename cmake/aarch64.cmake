# Cross-compiles for 64-bit ARM with Debian's compiler and arm64 packages (docs/packaging.md):
# -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)  # else CPack names that of the machine that builds

# Libraries come from /usr/lib/aarch64-linux-gnu, as the compiler says; pkg-config has to be told.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)

# The build runs two programs that it has built: embed_profiles, and safelaunch, which writes its manual and its
# completions. Their libraries are where the loader looks for them, so qemu needs no -L.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
