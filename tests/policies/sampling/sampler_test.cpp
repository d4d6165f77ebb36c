// Properties of every sampler, and the closed forms of what they select.
#include "policies/sampling/sampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "policies/vocabulary/rng.hpp"
#include "tests/support/names.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::sampling {
namespace TANDEM_FILE {

constexpr std::int64_t samples = 20'000;

std::unique_ptr<Sampler> make(const std::string& name, std::uint64_t seed = 1,
                              const std::map<std::string, OptionValue>& options = {},
                              std::int64_t count = samples) {
  const auto& entry = samplers().find(name);
  return entry.make.make({.samples = count,
                          .batch = 64,
                          .seed = seed,
                          .options = Options::resolve(name, entry.options, options)});
}

std::vector<float> random_losses(std::uint64_t seed, std::int64_t count = samples) {
  Rng rng(seed);
  std::vector<float> losses(static_cast<std::size_t>(count));
  for (float& loss : losses) loss = static_cast<float>(-std::log(1.0 - rng.uniform()));
  return losses;
}

EpochList listed(const Sampler& sampler, std::int64_t epoch, std::span<const float> losses) {
  EpochList list;
  sampler.list(epoch, {.losses = losses}, list);
  return list;
}

std::vector<std::string> list_samplers() {
  std::vector<std::string> names;
  for (const auto& entry : samplers().entries())
    if (entry.make.make != nullptr) names.push_back(entry.name);
  return names;
}

class Samplers : public ::testing::TestWithParam<std::string> {};

TEST_P(Samplers, ListValidSamplesAndRepeatOnlyWhereTheyMay) {
  const auto losses = random_losses(7);
  const bool may_repeat = samplers().find(GetParam()).make.may_repeat;
  for (const auto seed : testing::seeds(3)) {
    TANDEM_TRACE_SEED(seed);
    const auto sampler = make(GetParam(), seed);
    for (const std::int64_t epoch : {0, 1, 6, 7}) {
      const EpochList list = listed(*sampler, epoch, losses);
      ASSERT_FALSE(list.ids.empty());
      EXPECT_GE(std::ranges::min(list.ids), 0);
      EXPECT_LT(std::ranges::max(list.ids), samples);
      EXPECT_TRUE(list.low.empty() || list.low.size() == list.ids.size());
      EXPECT_TRUE(list.weights.empty() || list.weights.size() == list.ids.size());
      const std::set<SampleId> distinct(list.ids.begin(), list.ids.end());
      if (!may_repeat) {
        EXPECT_EQ(distinct.size(), list.ids.size());
      }
    }
  }
}

TEST_P(Samplers, AreAPureFunctionOfSeedEpochAndLosses) {
  const auto losses = random_losses(3);
  const auto sampler = make(GetParam(), 5);
  const EpochList first = listed(*sampler, 7, losses);
  listed(*sampler, 3, random_losses(4));
  EXPECT_EQ(listed(*sampler, 7, losses).ids, first.ids);
  EXPECT_EQ(listed(*make(GetParam(), 5), 7, losses).ids, first.ids);
  EXPECT_NE(listed(*sampler, 8, losses).ids, first.ids);
  EXPECT_NE(listed(*make(GetParam(), 6), 7, losses).ids, first.ids);
}

TEST_P(Samplers, AreDealtInEqualPartsThatTogetherAreTheList) {
  const auto losses = random_losses(3);
  const EpochList list = listed(*make(GetParam()), 7, losses);
  for (const int workers : {1, 2, 3, 7}) {
    std::vector<EpochList> parts(static_cast<std::size_t>(workers));
    for (int worker = 0; worker < workers; ++worker)
      deal(list, worker, workers, parts[static_cast<std::size_t>(worker)]);
    const std::size_t each = list.ids.size() / static_cast<std::size_t>(workers);
    for (std::size_t i = 0; i < each * parts.size(); ++i) {
      const EpochList& part = parts[i % parts.size()];
      ASSERT_EQ(part.ids.size(), each);
      ASSERT_EQ(part.ids[i / parts.size()], list.ids[i]);
      if (!list.low.empty()) {
        ASSERT_EQ(part.low[i / parts.size()], list.low[i]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Samplers, ::testing::ValuesIn(list_samplers()), testing::catalog_name);

TEST(Shuffled, ListsEverySampleOnce) {
  EpochList list = listed(*make("shuffled"), 4, {});
  std::ranges::sort(list.ids);
  for (std::int64_t i = 0; i < samples; ++i) ASSERT_EQ(list.ids[static_cast<std::size_t>(i)], i);
}

TEST(Chunked, ListsEverySampleOnceAndGroupsWholeChunks) {
  // 150 samples in chunks of 20: the last has 10. Groups of two chunks.
  const auto sampler = make("chunked", 1, {{"chunk", std::int64_t{20}}, {"group", std::int64_t{2}}}, 150);
  const EpochList list = listed(*sampler, 2, {});
  ASSERT_EQ(list.ids.size(), 150U);
  EXPECT_EQ(std::set<SampleId>(list.ids.begin(), list.ids.end()).size(), 150U);
  std::size_t first = 0;
  for (int group = 0; group < 4; ++group) {
    std::set<SampleId> chunks;
    // A group ends when its chunks are complete.
    std::size_t length = 0;
    for (std::size_t i = first; i < list.ids.size() && chunks.size() <= 2; ++i) {
      auto with = chunks;
      with.insert(list.ids[i] / 20);
      if (with.size() > 2) break;
      chunks = with;
      ++length;
    }
    const bool has_last = chunks.contains(7);
    EXPECT_EQ(length, has_last ? 30U : 40U) << "group " << group;
    first += length;
  }
  EXPECT_EQ(first, 150U);
}

TEST(Replacement, TouchesTheExpectedShareOfTheSamples) {
  // N draws touch N (1 - (1 - 1/N)^N) samples, .632 N. The deviation is below 0.003 N.
  const EpochList list = listed(*make("replacement"), 0, {});
  EXPECT_EQ(std::ssize(list.ids), samples);
  const std::set<SampleId> distinct(list.ids.begin(), list.ids.end());
  EXPECT_NEAR(static_cast<double>(distinct.size()) / samples, 1 - std::exp(-1.0), 0.01);
}

TEST(Importance, SelectsTheShareOfTheClosedForm) {
  // 1 / (1 + beta), and all of the first R' = B ceil(R / B) samples.
  const auto losses = random_losses(11);
  for (const double beta : {0.33, 1.0, 3.0}) {
    const auto sampler = make("importance", 1, {{"beta", beta}});
    double listed_samples = 0;
    for (const std::int64_t epoch : {7, 8, 10, 11}) {
      EXPECT_FALSE(listed(*sampler, epoch, losses).low.empty());
      listed_samples += static_cast<double>(listed(*sampler, epoch, losses).ids.size());
    }
    const double prefix = 1024.0 / samples;
    EXPECT_NEAR(listed_samples / (4.0 * samples), prefix + (1 - prefix) / (1 + beta), 0.01) << beta;
  }
}

TEST(Importance, ListsAllSamplesInWarmUpAndReuseEpochs) {
  const auto losses = random_losses(1);
  const auto sampler = make("importance");
  for (const std::int64_t epoch : {0, 1, 4, 6, 9}) {
    const EpochList list = listed(*sampler, epoch, losses);
    EXPECT_EQ(std::ssize(list.ids), samples) << epoch;
    EXPECT_TRUE(list.low.empty());
  }
  EXPECT_LT(std::ssize(listed(*sampler, 5, losses).ids), samples);
}

TEST(Importance, FlagsAreThoseOfASortByTheLossOfEachId) {
  // The iCache release ranks by the loss at the position in the list: defect 1.
  const auto losses = random_losses(21);
  const EpochList list = listed(*make("importance"), 7, losses);
  std::vector<SampleId> sorted = list.ids;
  std::ranges::sort(sorted, [&](SampleId a, SampleId b) {
    const float of_a = losses[static_cast<std::size_t>(a)], of_b = losses[static_cast<std::size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  });
  const auto highs = static_cast<std::size_t>(std::ceil(0.7 * static_cast<double>(sorted.size())));
  const std::set<SampleId> high(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(highs));
  for (std::size_t i = 0; i < list.ids.size(); ++i)
    ASSERT_EQ(list.low[i] == 0, high.contains(list.ids[i])) << "position " << i;
}

TEST(Importance, SelectsTheHardestSamplesMostOften) {
  // In the iCache release, a loss at or above the 99th percentile is never selected: defect 2.
  const auto losses = random_losses(31);
  std::vector<SampleId> order(samples);
  std::iota(order.begin(), order.end(), SampleId{0});
  std::ranges::sort(order, {}, [&](SampleId id) { return losses[static_cast<std::size_t>(id)]; });
  std::vector<int> taken(samples);
  const auto sampler = make("importance", 1, {{"beta", 1.0}, {"history", std::int64_t{64}}});
  int epochs = 0;
  for (std::int64_t epoch = 5; epoch < 95; ++epoch) {
    if (epoch % 3 == 0) continue;
    ++epochs;
    for (const SampleId id : listed(*sampler, epoch, losses).ids) ++taken[static_cast<std::size_t>(id)];
  }
  const auto share = [&](std::size_t from, std::size_t to) {
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += taken[static_cast<std::size_t>(order[i])];
    return sum / (static_cast<double>(to - from) * epochs);
  };
  EXPECT_GT(share(samples - samples / 100, samples), 0.97);
  EXPECT_NEAR(share(samples / 2 - 200, samples / 2 + 200), 0.5, 0.03);
  EXPECT_LT(share(0, samples / 100), 0.03);
}

TEST(Importance, UnvisitedSamplesHaveTheDeclaredLoss) {
  // In the iCache release they have 0, so they are selected least: defect 3.
  std::vector<float> losses = random_losses(41);
  for (std::size_t i = 0; i < 200; ++i) losses[i] = std::numeric_limits<float>::quiet_NaN();
  const auto taken = [&](double unvisited) {
    const auto sampler = make("importance", 1, {{"beta", 3.0}, {"unvisited", unvisited}});
    int count = 0;
    for (const std::int64_t epoch : {5, 7, 8, 10})
      for (const SampleId id : listed(*sampler, epoch, losses).ids) count += id < 200 ? 1 : 0;
    return count;
  };
  EXPECT_GT(taken(50.0), 780);
  EXPECT_LT(taken(0.0), 120);  // the history takes the first 1,024 samples of each epoch
}

TEST(Importance, SaysWhichOptionsKeepItFromSelecting) {
  const auto sampler = make("importance", 1, {{"warm_up", std::int64_t{2}}});
  EXPECT_EQ(sampler->why_selects_none(3), "") << "epoch 2";
  EXPECT_EQ(sampler->why_selects_none(2), "warm_up 2 of 2 epochs");
  EXPECT_EQ(sampler->why_selects_none(1), "warm_up 2 of 1 epoch");
  EXPECT_EQ(make("importance")->why_selects_none(5), "warm_up 5 of 5 epochs");
  EXPECT_EQ(make("importance", 1, {{"warm_up", std::int64_t{3}}})->why_selects_none(4),
            "warm_up 3 and reuse 3 of 4 epochs")
      << "every third epoch has all samples";
  EXPECT_EQ(make("importance", 1, {{"history", samples}})->why_selects_none(9),
            "history 20000 of 20000 samples");
  EXPECT_EQ(make("shuffled")->why_selects_none(1), "");
}

TEST(Importance, RefusesAReuseThatNeverSelects) {
  // The default of the iCache release: defect 4.
  try {
    make("importance", 1, {{"reuse", std::int64_t{1}}});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(
        error.what(),
        "importance: option 'reuse': expected an integer above 1: with 1 every epoch has all samples, so "
        "none is selected, found '1'");
  }
}

/// The mean of weight x value over the list estimates the mean of the values.
void expect_unbiased(const std::string& name, const std::map<std::string, OptionValue>& options) {
  const auto losses = random_losses(51);
  Rng rng(2);
  std::vector<double> values;
  for (std::int64_t id = 0; id < samples; ++id)
    values.push_back(rng.uniform() + losses[static_cast<std::size_t>(id)]);
  const double expected = std::accumulate(values.begin(), values.end(), 0.0) / samples;
  const auto sampler = make(name, 3, options);
  double sum = 0, plain = 0;
  int epochs = 0;
  for (std::int64_t epoch = 5; epoch < 65; ++epoch) {
    if (epoch % 3 == 0) continue;
    const EpochList list = listed(*sampler, epoch, losses);
    ASSERT_EQ(list.weights.size(), list.ids.size());
    double weighted = 0, unweighted = 0;
    for (std::size_t i = 0; i < list.ids.size(); ++i) {
      weighted += static_cast<double>(list.weights[i]) * values[static_cast<std::size_t>(list.ids[i])];
      unweighted += values[static_cast<std::size_t>(list.ids[i])];
    }
    sum += weighted / static_cast<double>(list.ids.size());
    plain += unweighted / static_cast<double>(list.ids.size());
    ++epochs;
  }
  EXPECT_NEAR(sum / epochs, expected, 0.01 * expected) << name;
  EXPECT_GT(plain / epochs, 1.1 * expected) << "without weights the mean is that of harder samples";
}

TEST(Importance, WeightsMakeTheMeanUnbiased) { expect_unbiased("importance", {{"unbiased", true}}); }
TEST(RankExponential, WeightsMakeTheMeanUnbiased) {
  expect_unbiased("rank-exponential", {{"unbiased", true}});
}

TEST(RankExponential, TouchesAndFavoursTheExpectedShares) {
  // s = 100: the top 20 % have .608 of the draws; 0.8 N draws touch .404 N samples.
  const auto losses = random_losses(61);
  std::vector<SampleId> order(samples);
  std::iota(order.begin(), order.end(), SampleId{0});
  std::ranges::sort(order, std::ranges::greater(),
                    [&](SampleId id) { return losses[static_cast<std::size_t>(id)]; });
  const std::set<SampleId> top(order.begin(), order.begin() + samples / 5);
  const EpochList list = listed(*make("rank-exponential"), 3, losses);
  EXPECT_EQ(std::ssize(list.ids), samples * 8 / 10);
  const auto in_top = std::ranges::count_if(list.ids, [&](SampleId id) { return top.contains(id); });
  EXPECT_NEAR(static_cast<double>(in_top) / static_cast<double>(list.ids.size()), 0.608, 0.01);
  const std::set<SampleId> distinct(list.ids.begin(), list.ids.end());
  EXPECT_NEAR(static_cast<double>(distinct.size()) / samples, 0.404, 0.01);
}

TEST(Shade, RepeatsCachedSamplesAtTheBeginning) {
  const auto losses = random_losses(71, 1000);
  const auto sampler = make("shade", 1, {}, 1000);
  EpochList list;
  sampler->list(2, {.losses = losses, .is_cached = [](SampleId id) { return id < 100; }}, list);
  EXPECT_EQ(list.ids.size(), 1000U);
  const auto cached = std::ranges::count_if(list.ids, [](SampleId id) { return id < 100; });
  EXPECT_NEAR(static_cast<double>(cached), 300, 60);  // about 100 of 1,000 draws, three times
  for (std::ptrdiff_t i = 0; i < cached; ++i) EXPECT_LT(list.ids[static_cast<std::size_t>(i)], 100);
}

TEST(Mixing, IsOneForARandomOrderAndLessForChunks) {
  EXPECT_NEAR(mixing(listed(*make("shuffled"), 0, {}).ids, samples, 64), 1.0, 0.01);
  std::vector<SampleId> sorted(samples);
  std::iota(sorted.begin(), sorted.end(), SampleId{0});
  EXPECT_LT(mixing(sorted, samples, 64), 0.05);
  const auto chunked = make("chunked", 1, {{"chunk", std::int64_t{500}}, {"group", std::int64_t{4}}});
  const double quality = mixing(listed(*chunked, 0, {}).ids, samples, 64);
  EXPECT_GT(quality, 0.3);
  EXPECT_LT(quality, 0.7);  // four of 40 chunks at a time: at most ln 4 / ln 16
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sampling
