// main() of test programs that run under mpirun: every rank runs every test; the program fails if one rank
// fails.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

#include "runtime/mpi/mpi_variable.hpp"

int main(int argc, char** argv) {
  tandem::choose_all_reduce_algorithm();
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  // The output of other ranks would mix with rank 0's; only their failures are printed.
  if (rank != 0) delete listeners.Release(listeners.default_result_printer());
  class PrintFailures : public testing::EmptyTestEventListener {
    void OnTestPartResult(const testing::TestPartResult& result) override {
      if (result.failed())
        std::fprintf(stderr, "%s:%d: %s\n", result.file_name(), result.line_number(), result.summary());
    }
  };
  if (rank != 0) listeners.Append(new PrintFailures);
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
