// A streamed copy writes exactly the requested bytes, at any alignment.
#include "runtime/mpi/streamed_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tandem {
namespace TANDEM_FILE {

constexpr std::byte untouched{0xee};

TEST(StreamedCopy, CopiesAnySizeFromAnyAddressToAnyAddress) {
  std::vector<std::byte> from(512);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i % 199);
  for (std::size_t size = 0; size <= 260; ++size)
    for (std::size_t to_offset = 0; to_offset < 64; to_offset += 3)
      for (const std::size_t from_offset : {0, 1, 16, 47}) {
        std::vector<std::byte> to(512, untouched);
        streamed_copy(to.data() + to_offset, from.data() + from_offset, size);
        std::vector<std::byte> expected(512, untouched);
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(from_offset), size,
                    expected.begin() + static_cast<std::ptrdiff_t>(to_offset));
        ASSERT_EQ(to, expected) << size << " bytes from " << from_offset << " to " << to_offset;
      }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
