// What a profile tells of hosts that it knows by name or by kind.
#include "workloads/profile.hpp"

#include <gtest/gtest.h>

#include <string>

#include "workloads/cost_model.hpp"

namespace tandem {
namespace {

/// On one machine, hosts that were not calibrated by name are as fast as those of their kind.
TEST(Profile, KnowsHostsByNameAndByKind) {
  Profile profile;
  const auto add = [&](const std::string& host, const std::string& kind, double ratio) {
    profile.hosts.push_back({.host = host, .ratio = ratio, .spread = 0.0, .raw_s = {}, .kind = kind});
  };
  add("a", "h200", 1.0);
  add("b", "processor", 30.0);
  add("c", "processor", 40.0);
  const auto ratio = [&](const std::string& host, const std::string& kind) {
    const auto* const entry = profile.host_entry(host, kind);
    return entry == nullptr ? 0.0 : entry->ratio_of(Work::Kind::forward);
  };
  EXPECT_EQ(ratio("a", "h200"), 1.0);
  EXPECT_EQ(ratio("other", "h200"), 1.0);
  EXPECT_EQ(ratio("c", "processor"), 40.0);
  EXPECT_EQ(ratio("other", "processor"), 30.0);
  EXPECT_EQ(ratio("a", "processor"), 30.0) << "a cache node there, say";
  EXPECT_EQ(ratio("a", "a100"), 0.0);
}

/// Of one machine with GPUs: the processor's ranks take the processor's time.
TEST(Profile, PricesWorkByTheKindOfItsHost) {
  ModelDescription model;
  model.name = "mlp";
  Profile profile;
  profile.compute = {
      {"mlp", Work::Kind::forward, -1, 10, 0, 1e-3, 0.0, {1e-3}, 3e-3},
      {"mlp", Work::Kind::update, -1, 0, 1000, 2e-3, 0.0, {2e-3}, 2e-3},
  };
  profile.hosts = {{.host = "gpu", .ratio = 1.0, .spread = 0.0, .raw_s = {}, .kind = "h200"},
                   {.host = "",
                    .ratio = 7.0,
                    .spread = 0.0,
                    .raw_s = {},
                    .kind = "processor",
                    .works = {{Work::Kind::update, 20.0, 1.0}, {Work::Kind::forward, 50.0, 0.25}}}};
  const platforms::Device device{"d", FlopsPerSecond(1e9), BytesPerSecond(1e9), Seconds(0), false};
  const CostModel gpu(model, device, &profile, "gpu", {}, "h200");
  const CostModel processor(model, device, &profile, "processor", {}, "processor");
  const Work forward{.kind = Work::Kind::forward, .samples = 10};
  const Work update{.kind = Work::Kind::update, .bytes = Bytes(1000)};
  EXPECT_NEAR(gpu.price(forward).count(), 1e-3, 1e-12);
  EXPECT_NEAR(processor.price(forward).count(), 50e-3, 1e-12);
  EXPECT_NEAR(processor.price(update).count(), 40e-3, 1e-12);
  EXPECT_NEAR(processor.first_extra(forward).count(), 0.5e-3, 1e-12);
  Rng random = Rng::stream(1, "draw");
  EXPECT_NEAR(processor.draw(update, random).count(), 40e-3, 1e-12);
}

}  // namespace
}  // namespace tandem
