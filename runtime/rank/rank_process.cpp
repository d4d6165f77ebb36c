#include "runtime/rank/rank_process.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "runtime/launcher/rank_lines.hpp"

namespace tandem {

void end_with_parent() {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before the call.
  if (getppid() != parent) std::_Exit(1);
}

void end_job(MPI_Comm communicator, int exit_code, const std::string& message) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", failure_line({rank, host.data(), message}).c_str());
  std::fflush(stderr);
  MPI_Abort(communicator, exit_code);
  std::_Exit(exit_code);
}

void print_note(const std::string& note) {
  std::printf("note: %s\n", note.c_str());
  std::fflush(stdout);
}

void print_status(const std::string& text) {
  std::printf("%s\n", status_line(text).c_str());
  std::fflush(stdout);
}

void print_progress(double fraction, double& last) {
  if (fraction < 1.0 && fraction - last < 0.001) return;
  last = fraction;
  std::printf("%s\n", progress_line(fraction).c_str());
  std::fflush(stdout);
}

}  // namespace tandem
