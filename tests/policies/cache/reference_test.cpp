// Every eviction order against a slow and obvious model of its definition, decision by decision.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "policies/vocabulary/rng.hpp"
#include "tests/policies/cache/one_by_one.hpp"
#include "tests/policies/cache/reference_models.hpp"

namespace tandem::cache {
namespace TANDEM_FILE {

std::string text_of(const std::vector<SampleId>& ids) {
  std::ostringstream text;
  for (const SampleId id : ids) text << ' ' << id;
  return text.str();
}

class AgainstTheModel : public ::testing::TestWithParam<testing::ReferenceEntry> {
 protected:
  static void expect_same_decisions(std::uint64_t first_seed, std::uint64_t last_seed);
};

void AgainstTheModel::expect_same_decisions(std::uint64_t first_seed, std::uint64_t last_seed) {
  constexpr int requests = 300;
  for (std::uint64_t seed = first_seed; seed <= last_seed; ++seed) {
    Rng rng(seed);
    const bool unit = GetParam().unit || seed % 2 == 0;
    const auto capacity = static_cast<std::int64_t>(unit ? 1 + rng.below(40) : 1 + rng.below(300));
    const std::uint64_t ids = 5 + rng.below(60), largest = 1 + rng.below(40);
    const auto policy = testing::make_policy(GetParam().name, Bytes(capacity));
    const auto model = GetParam().make(capacity);
    std::map<SampleId, std::int64_t> sizes;
    for (int request = 0; request < requests; ++request) {
      const auto id = static_cast<SampleId>(rng.uniform() * rng.uniform() * static_cast<double>(ids));
      const auto drawn = static_cast<std::int64_t>(1 + rng.below(largest));
      const std::int64_t size = unit ? 1 : sizes.emplace(id, drawn).first->second;
      const testing::Access own = testing::access(*policy, id, Bytes(size));
      const testing::ModelAccess expected = model->access(id, size);
      ASSERT_TRUE(own.is_hit == expected.is_hit && own.keeps == expected.keeps &&
                  own.evicted == expected.evicted)
          << "seed " << seed << ", request " << request << " for " << id << " of " << size
          << " bytes, capacity " << capacity << ": hit " << own.is_hit << expected.is_hit << ", keeps "
          << own.keeps << expected.keeps << ", evicted" << text_of(own.evicted) << " and"
          << text_of(expected.evicted);
    }
  }
}

using LongAgainstTheModel = AgainstTheModel;

TEST_P(AgainstTheModel, DecidesTheSameOnTwoHundredTraces) { expect_same_decisions(1, 200); }

TEST_P(LongAgainstTheModel, DecidesTheSameOnAThousandTraces) { expect_same_decisions(201, 1000); }

std::string name_of_model(const ::testing::TestParamInfo<testing::ReferenceEntry>& entry) {
  std::string name = entry.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Orders, AgainstTheModel, ::testing::ValuesIn(testing::reference_models()),
                         name_of_model);

INSTANTIATE_TEST_SUITE_P(LongOrders, LongAgainstTheModel, ::testing::ValuesIn(testing::reference_models()),
                         name_of_model);

}  // namespace TANDEM_FILE
}  // namespace tandem::cache
