# Functions to declare Commute's libraries, tools and tests.

# Flags that every target of the project shares.
add_library(CommuteOptions INTERFACE)
# $<BUILD_INTERFACE> keeps the build's own flags out of the exported package.
target_include_directories(CommuteOptions INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_include_directories(CommuteOptions SYSTEM INTERFACE
  ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_definitions(CommuteOptions INTERFACE ${LLVM_DEFINITIONS_LIST})
target_compile_options(CommuteOptions INTERFACE
  $<BUILD_INTERFACE:-Wall -Wextra -Wno-unused-parameter -Wnon-virtual-dtor>
  # Debian's LLVM is built with RTTI and without exceptions.
  $<BUILD_INTERFACE:-fno-exceptions>
  # gcc 12 warns wrongly about "literal" + std::string at -O3, and about the
  # std::move that LLVM's style asks for where an Error becomes an Expected.
  $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>>
  $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Wno-redundant-move>>)
if(COMMUTE_ASSERTIONS)
  # Behind the flags of the build type, which define it.
  target_compile_options(CommuteOptions INTERFACE $<BUILD_INTERFACE:-UNDEBUG>)
endif()
# What of LLVM's headers decides the layout of its classes follows
# LLVM_ENABLE_ABI_BREAKING_CHECKS, which is LLVM's own, and not our NDEBUG. The one
# exception must be as LLVM was built.
if(NOT LLVM_ENABLE_ASSERTIONS)
  set(has_assertions $<OR:$<BOOL:${COMMUTE_ASSERTIONS}>,$<CONFIG:Debug>>)
  target_compile_options(CommuteOptions INTERFACE
    "$<BUILD_INTERFACE:$<${has_assertions}:SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/LlvmStatistic.h>>")
endif()
if(COMMUTE_WARNINGS_AS_ERRORS)
  target_compile_options(CommuteOptions INTERFACE $<BUILD_INTERFACE:-Werror>)
endif()
if(COMMUTE_SANITIZERS)
  target_compile_options(CommuteOptions INTERFACE
    $<BUILD_INTERFACE:-fsanitize=${COMMUTE_SANITIZERS}>
    $<BUILD_INTERFACE:-fno-sanitize-recover=all> $<BUILD_INTERFACE:-fno-omit-frame-pointer>)
  target_link_options(CommuteOptions INTERFACE
    $<BUILD_INTERFACE:-fsanitize=${COMMUTE_SANITIZERS}>)
endif()
# For executables: what the sanitizers do where no environment variable says more.
function(commute_set_sanitizer_defaults target)
  if(COMMUTE_SANITIZERS)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/SanitizerOptions.cpp)
  endif()
endfunction()

if(COMMUTE_BUILD_FUZZERS)
  # Coverage in every library; the fuzz targets alone get libFuzzer's main.
  target_compile_options(CommuteOptions INTERFACE
    $<BUILD_INTERFACE:-fsanitize=fuzzer-no-link>)
endif()

find_program(COMMUTE_MOLD mold)
if(COMMUTE_MOLD)
  target_link_options(CommuteOptions INTERFACE $<BUILD_INTERFACE:-fuse-ld=mold>)
endif()

# One precompiled header for all targets, which have the same flags.
if(COMMUTE_PRECOMPILED_HEADERS)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/Precompiled.cpp CONTENT "")
  add_library(CommutePrecompiled OBJECT ${PROJECT_BINARY_DIR}/Precompiled.cpp)
  target_link_libraries(CommutePrecompiled PRIVATE CommuteOptions)
  target_precompile_headers(CommutePrecompiled PRIVATE
                            ${PROJECT_SOURCE_DIR}/cmake/Precompiled.h)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # A header that is made again is the same file, so that ccache knows it.
    target_compile_options(CommutePrecompiled PRIVATE
                           "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()
function(commute_use_precompiled_headers target)
  if(COMMUTE_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM CommutePrecompiled)
    # The header is compiled as for a library, so executables are as well.
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${target} PRIVATE -fPIC)
    endif()
  endif()
endfunction()

# commute_read_file(RESULT FILE)
# Sets RESULT to the text of a file; CMake runs again when the file changes.
function(commute_read_file result file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# commute_embed_json_files(NAMESPACE FILES FOLDER names...)
# Writes FILES.cpp, which defines getFILES of the header FILES.h: the text of
# FOLDER/NAME.json for each name, as an array of commute::EmbeddedFile.
function(commute_embed_json_files namespace files folder)
  set(texts "")
  foreach(name IN LISTS ARGN)
    commute_read_file(text ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/${name}.json)
    string(APPEND texts "    {\"${name}\", R\"json(${text})json\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${files}.cpp @ONLY CONTENT [[
#include "@files@.h"

llvm::ArrayRef<commute::EmbeddedFile> @namespace@::get@files@() {
  static constexpr EmbeddedFile files[] = {
@texts@  };
  return files;
}
]])
endfunction()

# commute_add_library(NAME sources... [WITHOUT_MLIR] [DEPENDS targets...]
#                     [LINK libraries...])
# A static library CommuteNAME, installed and exported with the package. What is
# linked without MLIR cannot use the precompiled header of MLIR.
function(commute_add_library name)
  cmake_parse_arguments(ARG "WITHOUT_MLIR" "" "DEPENDS;LINK" ${ARGN})
  set(target Commute${name})
  add_library(${target} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_library(Commute::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(${target} PUBLIC CommuteOptions ${ARG_LINK})
  if(NOT ARG_WITHOUT_MLIR)
    commute_use_precompiled_headers(${target})
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${target} ${ARG_DEPENDS})
  endif()
  install(TARGETS ${target} EXPORT CommuteTargets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# commute_add_tool(NAME sources... LINK libraries...)
# An executable in build/bin, installed.
function(commute_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE CommuteOptions ${ARG_LINK})
  commute_use_precompiled_headers(${name})
  commute_set_sanitizer_defaults(${name})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# commute_add_unittest(NAME sources... [WITHOUT_MLIR] LINK libraries...)
# A GoogleTest program in build/unittests, run by ctest.
function(commute_add_unittest name)
  cmake_parse_arguments(ARG "WITHOUT_MLIR" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE CommuteOptions ${ARG_LINK}
                        GTest::gmock GTest::gtest_main)
  if(NOT ARG_WITHOUT_MLIR)
    commute_use_precompiled_headers(${name})
  endif()
  commute_set_sanitizer_defaults(${name})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unittests)
  add_test(NAME ${name} COMMAND ${name})
endfunction()

# commute_add_doc(FILE.td name generator-options...)
# Writes docs/generated/NAME.md of the build tree; `make docs` copies it into
# the source tree.
add_custom_target(commute-docs)
function(commute_add_doc td_file name)
  set(LLVM_TARGET_DEFINITIONS ${td_file})
  tablegen(MLIR ${name}.md ${ARGN})
  set(output ${PROJECT_BINARY_DIR}/docs/${name}.md)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_BINARY_DIR}/${name}.md ${output}
    DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/${name}.md)
  add_custom_target(commute-doc-${name} DEPENDS ${output})
  add_dependencies(commute-docs commute-doc-${name})
endfunction()
