// The conformance suite on MPI. Each scenario has the first ranks of the program to itself, the others wait.
#include "tests/conformance/conformance.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include "runtime/mpi_context.hpp"

namespace tandem {
namespace {

class Conformance : public testing::TestWithParam<conformance::Scenario> {};

void run(const conformance::Scenario& scenario, const MpiSetting& setting) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  ASSERT_LE(scenario.ranks, size) << "start with more ranks";
  MPI_Comm members = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < scenario.ranks ? 0 : MPI_UNDEFINED, rank, &members);
  if (members != MPI_COMM_NULL) {
    try {
      MpiContext context(members, setting);
      scenario.body(context);
    } catch (const std::exception& error) {
      // The other ranks may wait for this one for ever.
      ADD_FAILURE() << error.what();
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_free(&members);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_P(Conformance, Native) { run(GetParam(), {}); }

TEST_P(Conformance, EmulatedDeviceAndDisk) {
  run(GetParam(), {.emulated = [](const Work&) { return Seconds(0.001); },
                   .emulated_disk = [](int, Bytes, bool) { return Seconds(0.002); }});
}

INSTANTIATE_TEST_SUITE_P(Mpi, Conformance, testing::ValuesIn(conformance::scenarios()),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

}  // namespace
}  // namespace tandem
