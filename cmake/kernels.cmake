# Per-tier compiler flags live here and nowhere else, next to the tiers' meaning in src/base/cpu_features.h.

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(RILL_ISA_TIERS scalar avx2 avx512 avx512vnni)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(RILL_ISA_TIERS scalar neon)
else()
  set(RILL_ISA_TIERS scalar)
endif()

set(RILL_ISA_FLAGS_scalar "")
set(RILL_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(RILL_ISA_FLAGS_avx512 -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512vl -mavx512dq)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 warns about the "undefined" operands of its own AVX-512 intrinsics.
  list(APPEND RILL_ISA_FLAGS_avx512 -Wno-uninitialized -Wno-maybe-uninitialized)
endif()
set(RILL_ISA_FLAGS_avx512vnni ${RILL_ISA_FLAGS_avx512} -mavx512vnni)
set(RILL_ISA_FLAGS_neon -march=armv8.2-a+dotprod+fp16)

# rill_add_kernels(target FAMILY family ISAS scalar avx2 ...): adds <family>/<family>_<isa>.cc for the tiers that this
# processor family has, each with its own flags.
function(rill_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "FAMILY" "ISAS")
  foreach(isa IN LISTS ARG_ISAS)
    if(isa IN_LIST RILL_ISA_TIERS)
      set(source ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_FAMILY}/${ARG_FAMILY}_${isa}.cc)
      target_sources(${target} PRIVATE ${source})
      set(options -O2 ${RILL_ISA_FLAGS_${isa}})
      if(RILL_SANITIZE AND NOT isa STREQUAL "scalar")
        # Unrolled vector code: address checks as calls, and the undefined-behaviour checks left to the scalar tier,
        # or one file compiles for minutes.
        list(APPEND options -fno-sanitize=undefined)
        if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
          list(APPEND options --param=asan-instrumentation-with-call-threshold=0)
        endif()
      endif()
      # Optimised in every build type: the kernels' own tests run under the sanitizers too.
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${options}")
    endif()
  endforeach()
endfunction()
