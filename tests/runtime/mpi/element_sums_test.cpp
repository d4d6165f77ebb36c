// MPI's own sums and gathers of more elements than MPI is given at once.
#include "runtime/mpi/element_sums.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/runtime/mpi/mpi_world.hpp"

namespace tandem {
namespace TANDEM_FILE {

void wait(MPI_Request request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }

std::byte byte_of(int rank, std::size_t index) {
  return static_cast<std::byte>((17 * static_cast<std::size_t>(rank) + 3 * index) % 256);
}

TEST(ElementSums, GatherMessagesOfAnySize) {
  const ElementSums sums(1000);
  for (const std::size_t bytes : {0U, 1U, 999U, 1000U, 1001U, 2000U, 12345U}) {
    std::vector<std::byte> all(bytes * static_cast<std::size_t>(world_size()), std::byte{77});
    const auto own = std::span(all).subspan(bytes * static_cast<std::size_t>(world_rank()), bytes);
    for (std::size_t at = 0; at < bytes; ++at) own[at] = byte_of(world_rank(), at);
    sums.start(MPI_COMM_WORLD, all, collectives::byte_element, wait);
    for (int rank = 0; rank < world_size(); ++rank)
      for (std::size_t at = 0; at < bytes; ++at)
        ASSERT_EQ(all[static_cast<std::size_t>(rank) * bytes + at], byte_of(rank, at)) << bytes << ' ' << at;
  }
}

TEST(ElementSums, AddVectorsOfAnySize) {
  const ElementSums sums(1000);
  for (const std::size_t count : {0U, 999U, 1000U, 1001U, 4321U}) {
    std::vector<float> sum(count);
    std::iota(sum.begin(), sum.end(), static_cast<float>(world_rank()));
    sums.start(MPI_COMM_WORLD, std::as_writable_bytes(std::span(sum)), collectives::float_element, wait);
    const int ranks = world_size();
    for (std::size_t at = 0; at < count; ++at)
      ASSERT_EQ(sum[at], static_cast<float>(ranks * static_cast<int>(at) + ranks * (ranks - 1) / 2));
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
