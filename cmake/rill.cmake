# Build settings that every target shares, and rill_add_library: one library per folder of src/.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(RILL_CCACHE ccache)
if(RILL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The setting and the option let it keep what was compiled with a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${RILL_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${RILL_CCACHE})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()

# One answer everywhere: a product and a sum fuse only where the code says std::fma (docs/numerics.md, rule 1).
add_compile_options(-ffp-contract=off)

if(RILL_DEVELOPER_MODE)
  add_compile_options(-Wall -Wextra -Wconversion -Werror)
  # gcc 12 sees impossible paths through std::string and std::vector when it inlines deeply.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wshadow=local -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
  endif()
endif()

if(RILL_SANITIZE)
  add_compile_options(-fsanitize=${RILL_SANITIZE} -fno-omit-frame-pointer)
  if(RILL_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  add_link_options(-fsanitize=${RILL_SANITIZE})
endif()

# The folders that read values out of bytes. The others are built without the checks of null and misaligned pointers, which
# double the compile time; the address sanitizer reports the use of a null pointer too.
set(RILL_BYTE_FOLDERS "^(base|tensor|quant|format|ops|kernels|audio|codec|session|model)")

# rill_unity(TARGET SIZE): SIZE files are compiled together, since the headers that they share are most of what the
# compiler reads. Names in their unnamed namespaces have to differ.
function(rill_unity target size)
  set_target_properties(${target} PROPERTIES UNITY_BUILD "${RILL_UNITY}" UNITY_BUILD_BATCH_SIZE ${size})
endfunction()
# Folders whose files use the same names.
set(RILL_SEPARATE_FOLDERS "^(audio|base|codec|measure|ops|verify)$")

# rill_add_library(NAME SOURCES ... DEPENDS ...): the static library rill_NAME of the folder that calls it.
# DEPENDS are the libraries of lower rows (docs: HACKING.md); they are all that the folder may include.
function(rill_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;DEPENDS")
  add_library(rill_${name} STATIC ${ARG_SOURCES})
  target_include_directories(rill_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(rill_${name} PUBLIC ${ARG_DEPENDS})
  if(NOT name MATCHES "${RILL_SEPARATE_FOLDERS}")
    rill_unity(rill_${name} 5)
  endif()
  if(RILL_NOEXCEPT)
    target_compile_options(rill_${name} PRIVATE -fno-exceptions -fno-rtti)
  endif()
  if(RILL_SANITIZE MATCHES "undefined" AND NOT name MATCHES "${RILL_BYTE_FOLDERS}")
    target_compile_options(rill_${name} PRIVATE -fno-sanitize=null,alignment)
  endif()
endfunction()

# rill_test_settings(TARGET): how the tests' own code is compiled.
function(rill_test_settings target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE RILL_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
                                               RILL_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                               RILL_VAD_WEIGHTS="${RILL_VAD_WEIGHTS}")
  if(RILL_SANITIZE)
    # Instrumented and optimised it takes twice as long to compile. The library may be built without RTTI, which the
    # check of virtual calls needs.
    target_compile_options(${target} PRIVATE -O0)
    if(RILL_SANITIZE MATCHES "undefined")
      target_compile_options(${target} PRIVATE -fno-sanitize=vptr,null,alignment)
    endif()
  endif()
  # Optimising the tests' own code takes longer than it saves.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# rill_add_test(NAME SOURCES ... DEPENDS ... [LABELS ...] [PER_ISA]): a GoogleTest program and its ctest entry.
# PER_ISA adds a run for each kernel tier of the build's processor (skipped where the host lacks it).
function(rill_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "PER_ISA" "" "SOURCES;DEPENDS;LABELS")
  add_executable(${name} ${ARG_SOURCES})
  rill_test_settings(${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest_main)
  if(TARGET rill_test_headers)
    target_precompile_headers(${name} REUSE_FROM rill_test_headers)
  endif()
  # testing::TempDir() of its own: the same program runs at the same time with other kernels.
  set(temporary ${CMAKE_CURRENT_BINARY_DIR}/temporary)
  file(MAKE_DIRECTORY ${temporary}/${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "TEST_TMPDIR=${temporary}/${name}/" LABELS "${ARG_LABELS}")
  if(ARG_PER_ISA)
    foreach(isa IN LISTS RILL_ISA_TIERS)
      file(MAKE_DIRECTORY ${temporary}/${name}.${isa})
      add_test(NAME ${name}.${isa} COMMAND ${name})
      set_tests_properties(${name}.${isa} PROPERTIES LABELS "per_isa;${ARG_LABELS}"
                           ENVIRONMENT "RILL_ISA=${isa};TEST_TMPDIR=${temporary}/${name}.${isa}/")
    endforeach()
  endif()
endfunction()
