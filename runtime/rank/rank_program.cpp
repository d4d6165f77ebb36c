#include "runtime/rank/rank_program.hpp"

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

namespace tandem {

void rank_program(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::fputs(rank_versions().c_str(), stdout);
    end_process(0);
  }
  if (argc == 2 && std::string_view(argv[1]) == "--describe") {
    describe_machine();
    end_process(0);
  }
  if (argc == 3 && std::string_view(argv[1]) == "--guard") {
    machines::guard_machine(argv[2]);
    end_process(0);
  }
  if (!has_ranks_of_one_world()) {
    std::fputs("tandem-rank: srun starts ranks that do not know each other: use srun --mpi=pmix, or mpirun\n",
               stderr);
    end_process(2);
  }
  end_with_parent();
  keep_freed_memory();
  // A file that grows beyond a limit is an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  std::optional<RankSignals> signals(std::in_place);
  choose_all_reduce_algorithm();
  // Threads do input and output, and never call MPI.
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  rank_main(argc, argv, &*signals);
  MPI_Finalize();
  end_process(0);
}

}  // namespace tandem
