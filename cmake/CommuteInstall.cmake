# Install rules and the exported package: find_package(Commute) gives the
# libraries as Commute::Archive, Commute::Dialect, ...

include(CMakePackageConfigHelpers)

install(TARGETS CommuteOptions EXPORT CommuteTargets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/commute
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.def")
install(DIRECTORY ${PROJECT_BINARY_DIR}/include/commute
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.inc" PATTERN "CMakeFiles" EXCLUDE)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Commute)
install(EXPORT CommuteTargets NAMESPACE Commute:: DESTINATION ${package_dir})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/CommuteConfig.cmake.in
  ${PROJECT_BINARY_DIR}/CommuteConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/CommuteConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/CommuteConfig.cmake
              ${PROJECT_BINARY_DIR}/CommuteConfigVersion.cmake
        DESTINATION ${package_dir})

# Of the command line: schemas of --json, manual pages, completion.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/schemas
        DESTINATION ${CMAKE_INSTALL_DATADIR}/commute COMPONENT texts)
install(CODE "execute_process(
    COMMAND ${CMAKE_COMMAND} -DTOOL=$<TARGET_FILE:commute>
            \"-DPREFIX=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\"
            -P ${PROJECT_SOURCE_DIR}/cmake/InstallTexts.cmake
    COMMAND_ERROR_IS_FATAL ANY)" COMPONENT texts)
