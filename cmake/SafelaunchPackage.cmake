# What `cmake --install` copies beside the executables, and the packages that `cpack` makes of all of it: a .deb and a
# tarball (docs/packaging.md).
install(FILES README.md README.zh-CN.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples profiles DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_VENDOR "the developers of safelaunch")
set(CPACK_PACKAGE_CONTACT "The developers of safelaunch <developers@safelaunch.invalid>" CACHE STRING
    "Who answers for a package")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "starts distributed training jobs, and names the rank that hangs")
set(CPACK_PACKAGE_FILE_NAME ${PROJECT_NAME}-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS python3)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"safelaunch stands in front of a distributed training command (torchrun,
deepspeed, accelerate, or plain workers), and watches its ranks until
their first collective. It stops a job that hangs, names the rank and the
cause, and starts it again with settings that avoid the cause. A healthy
job runs as if it were not there.")
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/deb/prepare.cmake)
set(CPACK_SAFELAUNCH_DEB_FILES ${PROJECT_SOURCE_DIR}/packaging/deb)
include(CPack)
