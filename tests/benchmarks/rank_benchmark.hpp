// The main function of MPI benchmarks: started without mpirun, the program runs itself under mpirun, once per
// number of ranks, with the flags that jobs use.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runtime/launcher/launcher.hpp"
#include "runtime/rank/rank_process.hpp"

namespace tandem {

/// Launches on this machine, with the program's own arguments. Returns the first exit code that is not 0, or
/// 0.
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
    const LaunchResult result = launch({.ranks = ranks, .program = program}, events);
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
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }
  try {
    if (!is_rank) return launch_each(numbers_of_ranks(), argc, argv);
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
