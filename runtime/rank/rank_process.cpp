#include "runtime/rank/rank_process.hpp"

#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "runtime/launcher/rank_lines.hpp"
#include "runtime/machines/remote_shell.hpp"

namespace tandem {

namespace {

/// A user who starts the printed command does not see lines for the launcher.
void print_for_launcher(const std::string& line) {
  if (std::getenv(launch_variable) == nullptr) return;
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

}  // namespace

bool has_ranks_of_one_world() {
  const char* const tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  const bool by_srun = tasks != nullptr && std::atoi(tasks) > 1;
  return !by_srun || std::getenv("PMIX_NAMESPACE") != nullptr ||
         std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
}

void end_with_parent() {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before the call.
  if (getppid() != parent) std::_Exit(1);
}

void keep_freed_memory() {
  constexpr int mebibyte = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, 32 * mebibyte);
  mallopt(M_TRIM_THRESHOLD, 512 * mebibyte);
}

void end_job(MPI_Comm communicator, int exit_code, const std::string& message) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", failure_line({rank, machines::this_machine_name(), message}).c_str());
  std::fflush(stderr);
  MPI_Abort(communicator, exit_code);
  std::_Exit(exit_code);
}

void print_note(const std::string& note) {
  std::printf("note: %s\n", note.c_str());
  std::fflush(stdout);
}

void print_status(const std::string& text) { print_for_launcher(status_line(text)); }

void print_progress(double fraction, double& last) {
  if (fraction < 1.0 && fraction - last < 0.001) return;
  last = fraction;
  print_for_launcher(progress_line(fraction));
}

}  // namespace tandem
