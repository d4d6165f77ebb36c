# Every library that Tandem uses, found once. The Debian package of each stands in packages.txt.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_path(TANDEM_JSON_INCLUDE nlohmann/json.hpp REQUIRED)

find_package(Boost 1.74 QUIET)
find_package(yaml-cpp QUIET)
find_path(TANDEM_CLI11_INCLUDE CLI/CLI.hpp)
find_file(TANDEM_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js)

# SimGrid defines every MPI_* symbol itself: no target may link both it and MPI.
pkg_check_modules(SIMGRID QUIET IMPORTED_TARGET simgrid>=3.32)
if(SIMGRID_FOUND AND Boost_FOUND AND yaml-cpp_FOUND AND TANDEM_CLI11_INCLUDE AND TANDEM_CHART_JS)
  set(TANDEM_SIM_FOUND ON)
else()
  set(TANDEM_SIM_FOUND OFF)
endif()
tandem_decide(SIM "${TANDEM_SIM_FOUND}" "SimGrid 3.32, Boost, yaml-cpp, CLI11 or Chart.js")

set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI QUIET COMPONENTS CXX)
tandem_decide(RUNTIME "${MPI_CXX_FOUND}" "MPI")

if(NOT TANDEM_TORCH STREQUAL "OFF")
  find_package(Torch QUIET)
endif()
tandem_decide(TORCH "${Torch_FOUND}" "libtorch")

if(TANDEM_TESTS)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
endif()
