// A rank program for the launcher's tests: succeeds or fails in the way that its first argument names.
#include <mpi.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/launcher/rank_lines.hpp"
#include "runtime/rank/rank_process.hpp"

namespace {

void misbehave(const std::string& how, int rank) {
  if (how == "abort" && rank == 1) tandem::end_job(MPI_COMM_WORLD, 70, "disk full\nreally");
  if (how == "config" && rank == 2) tandem::end_job(MPI_COMM_WORLD, 2, "no such key");
  if (how == "exit" && rank == 1) std::exit(9);
  if (how == "killed" && rank == 2) raise(SIGKILL);
  if (how == "hang") {
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
  }
  if (how == "hang" || how == "wait") std::printf("rank %d is process %d\n", rank, getpid());
  std::fflush(stdout);
  // The other ranks of a failing job, and all ranks of a job that is ended from outside.
  if (how != "well") sleep(100);
}

}  // namespace

int main(int argc, char** argv) {
  tandem::end_with_parent();
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
