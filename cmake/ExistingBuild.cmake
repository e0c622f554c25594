# For `pip install .`: takes the module and the tool of a build tree of this source tree,
# brought up to date, instead of compiling everything a second time. Sets
# COMMUTE_HAS_EXISTING_BUILD if such a build tree has a module for this Python.

set(COMMUTE_EXISTING_BUILD build/release CACHE STRING
    "The build tree, relative to the sources, that pip install takes its files from; OFF: none")
set(COMMUTE_HAS_EXISTING_BUILD OFF)
if(NOT COMMUTE_EXISTING_BUILD)
  return()
endif()

get_filename_component(existing ${COMMUTE_EXISTING_BUILD} ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
set(module python/commute/_commute.${SKBUILD_SOABI}${CMAKE_SHARED_MODULE_SUFFIX})
if(NOT EXISTS ${existing}/${module} OR NOT EXISTS ${existing}/CMakeCache.txt)
  message(STATUS "${existing} has no module for this Python: everything is compiled")
  return()
endif()
# A build tree that was copied or moved belongs to other sources.
load_cache(${existing} READ_WITH_PREFIX existing_ CMAKE_HOME_DIRECTORY)
file(REAL_PATH ${PROJECT_SOURCE_DIR} sources)
file(REAL_PATH "${existing_CMAKE_HOME_DIRECTORY}" sources_of_existing)
if(NOT sources STREQUAL sources_of_existing)
  message(STATUS "${existing} is a build of ${sources_of_existing}: everything is compiled")
  return()
endif()

message(STATUS "commute is taken from the build tree ${existing}")
set(COMMUTE_HAS_EXISTING_BUILD ON)
# scikit-build-core asks for targets of these names.
foreach(target _commute commute)
  add_custom_target(${target}
    COMMAND ${CMAKE_COMMAND} --build ${existing} --target ${target}
    USES_TERMINAL VERBATIM)
endforeach()
# Not at once in the same build tree.
add_dependencies(commute _commute)

install(DIRECTORY python/commute DESTINATION . COMPONENT python
        FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed"
        PATTERN "__pycache__" EXCLUDE)
install(PROGRAMS ${existing}/${module} DESTINATION commute COMPONENT python)
install(PROGRAMS ${existing}/bin/commute DESTINATION commute/bin COMPONENT python)
