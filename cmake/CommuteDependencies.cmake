# What Commute is built on: MLIR and LLVM 22, libzip, RapidJSON, oneDNN, MPI.

find_package(MLIR REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/mlir)
# MLIR's package file has no version to ask for, so it is checked here.
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR
    "Commute needs MLIR 22, but ${MLIR_DIR} is of LLVM ${LLVM_PACKAGE_VERSION}. "
    "Install libmlir-22-dev or set MLIR_DIR.")
endif()

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

if(COMMUTE_STATIC_LLVM)
  include(${CMAKE_CURRENT_LIST_DIR}/StaticLlvm.cmake)
endif()

separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND ${LLVM_DEFINITIONS})

find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
find_path(RAPIDJSON_INCLUDE_DIR rapidjson/reader.h REQUIRED)
find_path(BOOST_INCLUDE_DIR boost/graph/boykov_kolmogorov_max_flow.hpp REQUIRED)

# Debian's dnnl-config.cmake asks for OpenCL, which the CPU kernels do not need.
find_path(DNNL_INCLUDE_DIR dnnl.h REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_package(MPI REQUIRED COMPONENTS C)
find_package(Threads REQUIRED)
