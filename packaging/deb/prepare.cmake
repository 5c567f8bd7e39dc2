# Makes of the installed files what Debian's policy asks for, before CPack packs them into a .deb. Other packages stay
# as `cmake --install` leaves them.
if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()

file(GLOB_RECURSE manual ${CPACK_TEMPORARY_DIRECTORY}/*/safelaunch.1)
string(REGEX REPLACE "/share/man/.*" "" prefix ${manual})
set(doc ${prefix}/share/doc/${CPACK_PACKAGE_NAME})

# Not file(INSTALL), which puts CPack's DESTDIR before a path once more.
configure_file(${CPACK_SAFELAUNCH_DEB_FILES}/copyright ${doc}/copyright COPYONLY)
configure_file(${CPACK_SAFELAUNCH_DEB_FILES}/changelog ${doc}/changelog.Debian COPYONLY)
execute_process(COMMAND gzip -9n ${manual} ${doc}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)

# Debian's zsh looks for completions of packages here.
file(MAKE_DIRECTORY ${prefix}/share/zsh/vendor-completions)
file(RENAME ${prefix}/share/zsh/site-functions/_safelaunch ${prefix}/share/zsh/vendor-completions/_safelaunch)
file(REMOVE_RECURSE ${prefix}/share/zsh/site-functions)
