// The main function of MPI benchmarks: started without mpirun, the program runs itself under mpirun, once per
// number of ranks, with the flags that jobs use; with --hosts=a,b once, with a rank on each of these
// machines.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/launcher/launcher.hpp"
#include "runtime/mpi/mpi_variable.hpp"
#include "runtime/rank/rank_process.hpp"

namespace tandem {

/// The values of an argument such as "--hosts=" a,b; empty without it.
inline std::vector<std::string> list_of(int argc, char** argv, std::string_view option) {
  std::vector<std::string> values;
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]).starts_with(option)) {
      std::istringstream list(argv[i] + option.size());
      for (std::string value; std::getline(list, value, ',');) values.push_back(value);
    }
  return values;
}

/// Launches with the program's own arguments. Returns the first exit code that is not 0, or 0.
inline int launch_each(const std::vector<int>& numbers_of_ranks, int argc, char** argv) {
  std::vector<std::string> program = {std::filesystem::read_symlink("/proc/self/exe").string()};
  program.insert(program.end(), argv + 1, argv + argc);
  LaunchEvents events;
  events.output = [](const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  events.error = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  for (const int ranks : numbers_of_ranks) {
    const LaunchResult result =
        launch({.ranks = ranks, .program = program, .hosts = list_of(argc, argv, "--hosts=")}, events);
    if (result.exit_code == 0) continue;
    std::fprintf(stderr, "%s\n", result.message.c_str());
    return result.exit_code;
  }
  return 0;
}

/// Calls `numbers_of_ranks` if started without mpirun, else `run_rank` in every rank, with MPI initialised.
/// An exception of the former ends the program, of the latter the job.
inline int rank_benchmark(int argc, char** argv, const std::function<std::vector<int>()>& numbers_of_ranks,
                          const std::function<void()>& run_rank) {
  const bool is_rank = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
  if (is_rank) {
    end_with_parent();
    keep_freed_memory();
    choose_all_reduce_algorithm();
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }
  try {
    const auto hosts = list_of(argc, argv, "--hosts=");
    if (!is_rank)
      return launch_each(
          hosts.empty() ? numbers_of_ranks() : std::vector<int>{static_cast<int>(hosts.size())}, argc, argv);
    run_rank();
  } catch (const std::exception& error) {
    if (is_rank) end_job(MPI_COMM_WORLD, 70, error.what());
    std::fprintf(stderr, "%s: %s\n", std::filesystem::path(argv[0]).filename().c_str(), error.what());
    return 2;
  }
  MPI_Finalize();
  return 0;
}

}  // namespace tandem
