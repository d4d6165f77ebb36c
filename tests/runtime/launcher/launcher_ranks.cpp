// A rank program for the launcher's tests: succeeds or fails in the way that its first argument names.
#include <mpi.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/launcher/rank_lines.hpp"
#include "runtime/process/signals.hpp"
#include "runtime/rank/rank_process.hpp"

namespace {

sigset_t set_of_notice() {
  sigset_t notice;
  sigemptyset(&notice);
  sigaddset(&notice, tandem::end_signal);
  return notice;
}

void misbehave(const std::string& how, int rank) {
  if (how == "abort" && rank == 1) tandem::end_job(MPI_COMM_WORLD, 70, "disk full\nreally");
  if (how == "config" && rank == 2) tandem::end_job(MPI_COMM_WORLD, 2, "no such key");
  if (how == "exit" && rank == 1) std::exit(9);
  if (how == "killed" && rank == 2) raise(SIGKILL);
  if (how == "hang") {
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
  }
  const bool heeds = how == "heed" || how == "hesitate";
  if (how == "hang" || how == "wait" || heeds) std::printf("rank %d is process %d\n", rank, getpid());
  std::fflush(stdout);
  int arrived = 0;
  const sigset_t notice = set_of_notice();
  if (heeds && sigwait(&notice, &arrived) == 0 && how == "heed") return;
  // The other ranks of a failing job, and all ranks of a job that is ended from outside.
  if (how != "well") sleep(100);
}

}  // namespace

int main(int argc, char** argv) {
  tandem::end_with_parent();
  // Also in the threads that MPI starts.
  const sigset_t notice = set_of_notice();
  sigprocmask(SIG_BLOCK, &notice, nullptr);
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    std::printf("%s\nhello\n%s\n", tandem::progress_line(0.25).c_str(), tandem::progress_line(1.0).c_str());
  if (rank == 0) std::fprintf(stderr, "a warning\n");
  MPI_Barrier(MPI_COMM_WORLD);
  misbehave(argc > 1 ? argv[1] : "well", rank);
  MPI_Finalize();
}
