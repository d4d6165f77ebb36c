// tandem-rank: one rank of a job, as mpirun starts it. SIGINT and SIGTERM keep their default: the rank ends
// and mpirun ends the others.
#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <optional>
#include <string_view>

#include "runtime/machines/guard_machine.hpp"
#include "runtime/mpi/mpi_variable.hpp"
#include "runtime/process/end_process.hpp"
#include "runtime/rank/describe.hpp"
#include "runtime/rank/rank_main.hpp"
#include "runtime/rank/rank_process.hpp"
#include "runtime/rank/versions.hpp"

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::fputs(tandem::rank_versions().c_str(), stdout);
    tandem::end_process(0);
  }
  if (argc == 2 && std::string_view(argv[1]) == "--describe") {
    tandem::describe_machine();
    tandem::end_process(0);
  }
  if (argc == 3 && std::string_view(argv[1]) == "--guard") {
    tandem::machines::guard_machine(argv[2]);
    tandem::end_process(0);
  }
  if (!tandem::has_ranks_of_one_world()) {
    std::fputs("tandem-rank: srun starts ranks that do not know each other: use srun --mpi=pmix, or mpirun\n",
               stderr);
    tandem::end_process(2);
  }
  tandem::end_with_parent();
  tandem::keep_freed_memory();
  // A file that grows beyond a limit is an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  std::optional<tandem::RankSignals> signals(std::in_place);
  tandem::choose_all_reduce_algorithm();
  // Threads do input and output, and never call MPI.
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  tandem::rank_main(argc, argv, &*signals);
  MPI_Finalize();
  tandem::end_process(0);
}
