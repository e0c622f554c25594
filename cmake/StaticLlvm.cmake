# Links LLVM's static libraries where MLIR's libraries name the shared one, for programs that
# must run where LLVM is not installed. Include it after find_package(MLIR).
get_target_property(configuration LLVMSupport IMPORTED_CONFIGURATIONS)
get_target_property(support LLVMSupport IMPORTED_LOCATION_${configuration})
set_target_properties(LLVM PROPERTIES
  IMPORTED_LOCATION_${configuration} ${support}
  IMPORTED_SONAME_${configuration} ""
  INTERFACE_LINK_LIBRARIES "LLVMCore;LLVMRemarks;LLVMBitstreamReader;LLVMTargetParser;LLVMSupport"
  # LLVMSupport names a solver that nothing here calls.
  INTERFACE_LINK_OPTIONS LINKER:--as-needed)

# commute_link_for_older_systems(TARGET)
# Links what systems with an older compiler and glibc (2.34) lack into the target. Not libgcc,
# whose static form asks for glibc 2.35; the shared one is on every system.
function(commute_link_for_older_systems target)
  target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/OlderGlibc.cpp)
  target_link_options(${target} PRIVATE -static-libstdc++)
endfunction()
