// Cache policies that plan with epochs, in jobs: they decide as in a replay without time, every sample of a
// list is delivered once, and losses belong to the sample that was delivered.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/cache/text.hpp"
#include "tests/sim/training.hpp"
#include "tests/support/cache_counts.hpp"
#include "workloads/data/training_replay.hpp"
#include "workloads/records/data_figures.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::cache_sum;
using testing::Change;
using testing::small_experiment;
using testing::Training;

constexpr int samples = 96;

void use_importance(Experiment& experiment) {
  experiment.data.sampling = "importance";
  experiment.data.sampling_options = {
      {"warm_up", std::int64_t{1}}, {"history", std::int64_t{8}}, {"block", std::int64_t{8}}};
}
void use_icache(Experiment& experiment, const std::string& substitution = "any") {
  use_importance(experiment);
  experiment.data.cache = "icache";
  experiment.data.cache_options = {
      {"split", 0.5}, {"package", std::int64_t{4}}, {"substitution", substitution}};
}

const std::vector<Change>& policies() {
  static const std::vector<Change> all = {
      {"icache", [](Experiment& experiment) { use_icache(experiment); }},
      {"icache_nearest", [](Experiment& experiment) { use_icache(experiment, "nearest"); }},
      {"icache_same_class", [](Experiment& experiment) { use_icache(experiment, "same-class"); }},
      {"icache_off", [](Experiment& experiment) { use_icache(experiment, "off"); }},
      {"shade",
       [](Experiment& experiment) {
         use_importance(experiment);
         experiment.data.cache = "shade";
       }},
      {"quiver",
       [](Experiment& experiment) {
         experiment.data.sampling = "shuffled";
         experiment.data.cache = "quiver";
       }},
      {"quiver_chunks",
       [](Experiment& experiment) {
         experiment.data.sampling = "shuffled";
         experiment.data.cache = "quiver";
         experiment.data.cache_options = {{"content", std::string("chunks")}};
       }},
      {"ods", [](Experiment& experiment) {
         experiment.data.sampling = "shuffled";
         experiment.data.cache = "ods";
       }}};
  return all;
}

class Planning : public Training {
 protected:
  Planning() { records_losses_ = true; }
  /// Three epochs in batches of 8, in a cache for a quarter of the samples.
  static Experiment reading(int workers, const Change& policy) {
    Experiment experiment = small_experiment(workers);
    experiment.workload.batch = 8;
    experiment.data.source = DataSource::storage;
    experiment.data.prefetch = 0;
    experiment.data.cache_capacity = Bytes(24 * 785);
    experiment.placement.cache_nodes = {"host-0"};
    experiment.stop = {.epochs = 3.0};
    policy.make(experiment);
    return experiment;
  }
  /// What was trained on in each epoch, sorted.
  static std::map<std::int64_t, std::vector<SampleId>> trained(const Journal& journal) {
    std::map<std::int64_t, std::vector<SampleId>> ids;
    for (const LossRecord& record : journal.losses) ids[record.epoch].push_back(record.id);
    for (auto& [epoch, of_epoch] : ids) std::ranges::sort(of_epoch);
    return ids;
  }
  /// The losses that the list of an epoch knows, as they were recorded.
  static std::vector<float> losses_before(const Journal& journal, std::int64_t epoch) {
    std::vector<float> losses(samples, std::numeric_limits<float>::quiet_NaN());
    std::vector<std::int64_t> of(samples, -1);
    for (const LossRecord& record : journal.losses) {
      const auto index = static_cast<std::size_t>(record.id);
      if (record.epoch >= epoch || record.epoch < of[index]) continue;
      of[index] = record.epoch;
      losses[index] = static_cast<float>(record.loss);
    }
    return losses;
  }
};

class PlanningCaches : public Planning, public ::testing::WithParamInterface<Change> {
 protected:
  void expect_reads_of_replay(const Experiment& experiment);
};

/// Disks are so fast that reads in the background have ended before the next request.
TEST_P(PlanningCaches, OneWorkerReadsAsInAReplayWithoutTime) {
  expect_reads_of_replay(reading(1, GetParam()));
}

void PlanningCaches::expect_reads_of_replay(const Experiment& experiment) {
  const Journal journal = train(experiment);
  const DataPlan& data = job_->data();
  const auto& sampler = sampling::samplers().find(experiment.data.sampling);
  const auto list = sampler.make.make(
      {.samples = samples,
       .batch = 8,
       .seed = experiment.seed,
       .options = Options::resolve(sampler.name, sampler.options, experiment.data.sampling_options)});
  const auto& policy = cache::catalog().find(experiment.data.cache);
  TrainingReplaySetting setting;
  setting.manifest = data.manifest();
  setting.epochs = 3;
  setting.batch = 8;
  setting.tiers = data.cache_tiers();
  setting.policy = &policy;
  setting.policy_options = Options::resolve(policy.name, policy.options, experiment.data.cache_options);
  setting.idle_room = experiment.data.cache_capacity;
  setting.seed = experiment.seed;
  setting.jobs = {list.get()};
  if (sampler.make.needs_losses)
    setting.losses = [&](int, std::int64_t epoch, std::span<float> losses) {
      std::ranges::copy(losses_before(journal, epoch), losses.begin());
    };
  std::int64_t not_read = 0;
  for (const EpochReads& epoch : replay_training(setting)) {
    SCOPED_TRACE(epoch.epoch);
    const auto expect = [&](const char* from, const SampleCount& count) {
      EXPECT_EQ(cache_sum(journal, from, epoch.epoch).samples, count.samples) << from;
      EXPECT_EQ(cache_sum(journal, from, epoch.epoch).bytes, count.bytes) << from;
    };
    expect("tier0", epoch.ledger.local);
    expect("substituted", epoch.ledger.substituted);
    expect("store", epoch.ledger.storage);
    expect("background", epoch.ledger.read_in_background());
    expect("wasted", epoch.ledger.wasted);
    EXPECT_EQ(epoch.omitted + epoch.repeated, 0);
    not_read += epoch.ledger.local.samples + epoch.ledger.substituted.samples;
  }
  EXPECT_GT(not_read, 0);
}

/// A fresh policy decides the same when it gets what was recorded.
TEST_P(PlanningCaches, RecordedDecisionsReplay) {
  const Journal journal = train(reading(2, GetParam()));
  const auto policy = job_->data().make_cache_policy();
  std::set<std::string> events;
  for (const DecisionRecord& record : journal.decisions) {
    if (record.side != "cache") continue;
    events.insert(record.event.substr(0, record.event.find(' ')));
    cache::Decisions decisions;
    cache::replay_event(*policy, record.event, decisions);
    ASSERT_EQ(cache::to_text(decisions), record.decisions) << record.event;
  }
  EXPECT_TRUE(events.contains("want") && events.contains("arrived") && events.contains("epoch") &&
              events.contains("job"));
  EXPECT_EQ(events.contains("importance"), job_->data().needs_losses());
  EXPECT_EQ(events.contains("idle"), job_->data().cache_factory().needs.idle);
}

/// The sampler of SHADE knows what the cache holds when an epoch begins.
const Change shade_of_cached = {"shade_of_cached", [](Experiment& experiment) {
                                  experiment.data.sampling = "shade";
                                  experiment.data.cache = "shade";
                                }};

/// Each policy with its first options, or the others.
std::vector<Change> policies_of(bool first_options) {
  std::vector<Change> all = policies();
  std::erase_if(all, [&](const Change& policy) {
    const bool is_first = policy.name.find('_') == std::string::npos;
    return is_first != first_options;
  });
  return all;
}

std::string name_of_change(const ::testing::TestParamInfo<Change>& each) { return each.param.name; }
INSTANTIATE_TEST_SUITE_P(Policies, PlanningCaches, ::testing::ValuesIn(policies_of(true)), name_of_change);
INSTANTIATE_TEST_SUITE_P(Cached, PlanningCaches, ::testing::Values(shade_of_cached), name_of_change);
INSTANTIATE_TEST_SUITE_P(LongOptions, PlanningCaches, ::testing::ValuesIn(policies_of(false)),
                         name_of_change);

struct Variant {
  int nodes;     ///< one for both workers, or one each
  int prefetch;  ///< batches that are requested in advance
  bool is_real = true;
};

class PlanningCachesOfTwo : public Planning,
                            public ::testing::WithParamInterface<std::tuple<Change, Variant>> {
 protected:
  /// The lists of the three epochs, of which each worker has an equal part.
  std::vector<std::vector<SampleId>> lists(const Journal& journal) const {
    std::vector<std::vector<SampleId>> all;
    const DataPlan& data = job_->data();
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      const auto losses = data.lists().model_losses() ? std::vector<float>() : losses_before(journal, epoch);
      auto& ids = all.emplace_back(data.lists().of(epoch, losses, data.deals().first_list())->ids);
      ids.resize(ids.size() / 2 * 2);
    }
    return all;
  }
  /// Though samples change places, workers ask for each of an epoch once, and get it once.
  static void expect_each_once(const Journal& journal, const Experiment& experiment) {
    RunInfo info;
    info.experiment = experiment;
    const Coverage coverage = coverage_of(info, journal);
    ASSERT_GE(coverage.epochs.size(), 3U);
    // Of a fourth one, only what was requested in advance is known.
    for (const EpochCoverage& epoch : std::span(coverage.epochs).first(3)) {
      EXPECT_EQ(epoch.omitted, 0) << epoch.epoch;
      EXPECT_EQ(epoch.repeated, 0) << epoch.epoch;
    }
    for (const DeliveryRecord& record : journal.deliveries)
      EXPECT_EQ(record.distinct_bytes, record.bytes) << record.epoch;
  }
};

/// Every sample of a list is trained on once, and messages have the sizes of what is in them.
TEST_P(PlanningCachesOfTwo, EverySampleOfAListIsDeliveredOnce) {
  const auto& [policy, variant] = GetParam();
  Experiment experiment = reading(2, policy);
  experiment.data.prefetch = variant.prefetch;
  if (variant.nodes == 2) experiment.placement.cache_nodes = {"host-3", "host-4"};
  records_losses_ = variant.is_real;
  if (!variant.is_real) experiment.workload.math = Experiment::Workload::Math::modelled;
  const Journal journal = train(experiment, true);
  const DataPlan& data = job_->data();
  const auto ids = trained(journal);
  std::int64_t trained_on = 0, batches = 0, losses = 0;
  std::int64_t epoch = 0;
  for (auto& listed : lists(journal)) {
    const auto part = std::ssize(listed) / 2;
    trained_on += std::ssize(listed);
    batches += 2 * ((part + 7) / 8);
    if (data.needs_losses() && epoch < 2) losses += part * (data.may_replace() ? 12 : 4);
    std::ranges::sort(listed);
    if (variant.is_real) {
      EXPECT_EQ(ids.at(epoch), listed) << epoch;
    }
    ++epoch;
  }
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> sent;
  for (const OperationRecord& record : journal.operations) {
    if (record.kind != "send") continue;
    auto& [messages, bytes] = sent[record.channel];
    ++messages;
    bytes += record.bytes;
  }
  if (variant.prefetch == 0) {
    EXPECT_EQ(sent["requests"], std::pair(batches + 2, trained_on * 8));
    EXPECT_EQ(sent["batches"], std::pair(batches, trained_on * (data.may_replace() ? 793 : 785)));
  }
  if (experiment.data.sampling == "shuffled") expect_each_once(journal, experiment);
  EXPECT_EQ(sent["losses"].second, losses);
  EXPECT_EQ(sent["loss-tables"].second, 2 * losses);
  EXPECT_EQ(sent["importance"].second, data.needs_losses() ? 2 * variant.nodes * samples * 4 : 0);
}

class ListsOfCached : public Planning, public ::testing::WithParamInterface<std::tuple<const char*, bool>> {};

/// Two workers with a node each, in both maths: the lists repeat what the nodes hold, so more comes from
/// caches than with lists that do not know it.
TEST_P(ListsOfCached, RepeatWhatCachesHold) {
  const auto& [cache, is_real] = GetParam();
  records_losses_ = is_real;
  Experiment experiment = reading(2, {"", [](Experiment& each) { each.data.sampling = "shade"; }});
  experiment.data.cache = cache;
  experiment.placement.cache_nodes = {"host-3", "host-4"};
  if (!is_real) experiment.workload.math = Experiment::Workload::Math::modelled;
  const Journal journal = train(experiment, true);
  for (std::int64_t epoch = 1; epoch < 3; ++epoch) {
    const auto hits = cache_sum(journal, "tier0", epoch).samples;
    // A quarter of the samples is in each cache, three times as often in the list, half of them elsewhere.
    EXPECT_GT(hits, 30) << epoch;
    EXPECT_EQ(hits + cache_sum(journal, "store", epoch).samples, 96) << epoch;
  }
  std::int64_t sent = 0;
  for (const OperationRecord& record : journal.operations)
    if (record.kind == "send" && record.channel == "losses") sent += record.bytes;
  // Twice, a worker sends 48 losses and a bit for each of 96 samples.
  EXPECT_EQ(sent, 2 * (48 * 4 + 96 / 8));
}

using Lists = std::tuple<const char*, bool>;
std::string name_of_lists(const ::testing::TestParamInfo<Lists>& info) {
  return std::string(std::get<0>(info.param)) + (std::get<1>(info.param) ? "" : "modelled");
}
INSTANTIATE_TEST_SUITE_P(Caches, ListsOfCached,
                         ::testing::Values(Lists("shade", true), Lists("minio", false)), name_of_lists);
INSTANTIATE_TEST_SUITE_P(LongCaches, ListsOfCached,
                         ::testing::Values(Lists("minio", true), Lists("shade", false)), name_of_lists);

std::string name_of_two(const ::testing::TestParamInfo<std::tuple<Change, Variant>>& info) {
  const auto& [policy, variant] = info.param;
  return policy.name + std::to_string(variant.nodes) + "ahead" + std::to_string(variant.prefetch) +
         (variant.is_real ? "" : "modelled");
}

INSTANTIATE_TEST_SUITE_P(Policies, PlanningCachesOfTwo,
                         ::testing::Combine(::testing::ValuesIn(policies_of(true)),
                                            ::testing::Values(Variant{1, 2}, Variant{2, 0},
                                                              Variant{2, 0, false})),
                         name_of_two);
INSTANTIATE_TEST_SUITE_P(LongVariants, PlanningCachesOfTwo,
                         ::testing::Combine(::testing::ValuesIn(policies_of(true)),
                                            ::testing::Values(Variant{1, 0}, Variant{2, 2})),
                         name_of_two);
INSTANTIATE_TEST_SUITE_P(LongOptions, PlanningCachesOfTwo,
                         ::testing::Combine(::testing::ValuesIn(policies_of(false)),
                                            ::testing::Values(Variant{1, 0}, Variant{2, 0}, Variant{1, 2},
                                                              Variant{2, 2}, Variant{2, 0, false})),
                         name_of_two);

}  // namespace TANDEM_FILE
}  // namespace tandem
