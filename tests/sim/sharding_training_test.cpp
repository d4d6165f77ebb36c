// Models sharded over servers by every policy: the same model as with one shard, bit by bit, traffic
// according to the shards' loads, and the cost of servers co-located with workers.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <ostream>

#include "tests/sim/training.hpp"
#include "tests/support/server_log.hpp"
#include "workloads/job/check/run_description.hpp"
#include "workloads/records/metrics.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::small_experiment;
using testing::Training;

struct Sharded {
  std::string name;
  std::string policy;
  std::size_t shards;
  std::map<std::string, OptionValue> options = {};
};
void PrintTo(const Sharded& value, std::ostream* out) { *out << value.name; }

std::vector<Sharded> every_sharding() {
  std::vector<Sharded> all;
  for (const std::string& policy : sharding::catalog().names()) {
    std::string name = policy;
    std::replace(name.begin(), name.end(), '-', '_');
    all.push_back({name + "_on_three", policy, 3});
    // More shards than the small model has tensors.
    all.push_back({name + "_on_nine", policy, 9});
  }
  all.push_back({"split_of_some", "split", 3, {{"large", std::int64_t{500}}}});
  return all;
}

class ShardedTraining : public Training, public ::testing::WithParamInterface<Sharded> {
 protected:
  /// Places the shards on hosts without workers, reusing them if necessary.
  static Experiment sharded(Experiment experiment) {
    experiment.sync.sharding = GetParam().policy;
    experiment.sync.sharding_options = GetParam().options;
    experiment.placement.servers.clear();
    for (std::size_t shard = 0; shard < GetParam().shards; ++shard)
      experiment.placement.servers.push_back("host-" + std::to_string(9 - shard % 5));
    return experiment;
  }

  void expect_as_on_one_shard(const Experiment& experiment) {
    train_apart(experiment, "one");
    train_apart(sharded(experiment), "several");
    const testing::TemporaryPlatform file(testing::TemporaryPlatform::star(10, 1e8, 1e-4));
    job_ = std::make_unique<Job>(experiment, platforms::load_platform(file.path()), directory_.string());
    const auto one = model_in("one"), several = model_in("several");
    EXPECT_TRUE(one == several) << "the models differ by " << distance(one, several);
    EXPECT_GT(distance(one, initial_model(job_->replica_plan())), 1e-4F);
  }
};

TEST_P(ShardedTraining, GivesTheModelOfOneShard) { expect_as_on_one_shard(small_experiment(3)); }

TEST_P(ShardedTraining, OfModelChangesGivesTheModelOfOneShard) {
  Experiment experiment = small_experiment(2);
  experiment.sync.algorithm = "slowmo";
  experiment.sync.options = {{"h", std::int64_t{2}}};
  expect_as_on_one_shard(experiment);
}

using LongShardedTraining = ShardedTraining;

/// Running statistics are averaged by the shard that holds them.
TEST_P(LongShardedTraining, WithStatisticsGivesTheModelOfOneShard) {
  Experiment experiment = small_experiment(2);
  experiment.workload.model = "resnet32";
  experiment.workload.train_samples = 8;
  experiment.workload.batch = 4;
  experiment.workload.bucket_bytes = Bytes(1 << 20);
  experiment.stop.rounds = 2;
  expect_as_on_one_shard(experiment);
}

/// For each push, every server receives and sends the part that it holds.
TEST_P(ShardedTraining, MovesTheBytesThatTheShardsHold) {
  Experiment experiment = small_experiment(3);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  const Journal journal = train(sharded(experiment), true);
  const RunInfo info = describe_run(*job_, "simulated");
  const auto& bytes = info.sharding.at("bytes");
  const auto figures = server_figures(info, journal, makespan_);
  ASSERT_EQ(figures.size(), GetParam().shards);
  constexpr std::int64_t pushes = 3 * 5;
  std::size_t shard = 0;
  std::int64_t sum = 0;
  for (const auto& [rank, of_server] : figures) {
    const auto held = bytes.at(shard++).get<std::int64_t>();
    EXPECT_EQ(of_server.bytes_received, pushes * held) << rank;
    EXPECT_EQ(of_server.bytes_sent, pushes * held) << rank;
    sum += held;
  }
  EXPECT_EQ(sum, job_->model().bytes().count());
  std::int64_t sent = 0;
  for (const auto& step : journal.steps) sent += step.bytes_sent;
  EXPECT_EQ(sent, pushes * sum);
}

/// Also if pushes reach shards in different orders; empty shards take part in every round.
class ShardedAlgorithms : public ShardedTraining {
 protected:
  void expect_sound(const std::string& algorithm) {
    Experiment experiment = small_experiment(3);
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.sync.algorithm = algorithm;
    experiment.evaluate_every = 2;
    experiment.placement.workers = {"host-1", "host-1", "host-2"};
    experiment.placement.evaluator = "host-0";
    const Journal journal = train(sharded(experiment));
    std::map<Rank, testing::ServerLog> logs;
    for (const auto& record : journal.decisions)
      if (record.side == "server") logs[record.rank].push_back({record.event, record.decisions});
    ASSERT_EQ(logs.size(), GetParam().shards);
    for (const auto& [rank, log] : logs) testing::ServerLaws::expect_kept(log, 3, true);
    EXPECT_GE(journal.evaluations.size(), 2U);
  }
};
TEST_P(ShardedAlgorithms, Asp) { expect_sound("asp"); }
TEST_P(ShardedAlgorithms, Esync) { expect_sound("esync"); }
TEST_P(ShardedAlgorithms, Easgd) { expect_sound("easgd"); }

std::string name_of_case(const ::testing::TestParamInfo<Sharded>& instance) { return instance.param.name; }
/// Whole tensors and empty shards, and tensors that are split.
bool is_in_every_check(const Sharded& sharded) {
  return sharded.name == "balanced_on_nine" || sharded.name == "split_of_some";
}
std::vector<Sharded> shardings(bool in_every_check) {
  std::vector<Sharded> all = every_sharding();
  std::erase_if(all, [&](const Sharded& one) { return is_in_every_check(one) != in_every_check; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Some, ShardedTraining, ::testing::ValuesIn(shardings(true)), name_of_case);
INSTANTIATE_TEST_SUITE_P(Some, ShardedAlgorithms, ::testing::ValuesIn(shardings(true)), name_of_case);
INSTANTIATE_TEST_SUITE_P(LongOthers, ShardedTraining, ::testing::ValuesIn(shardings(false)), name_of_case);
INSTANTIATE_TEST_SUITE_P(LongOthers, ShardedAlgorithms, ::testing::ValuesIn(shardings(false)), name_of_case);
INSTANTIATE_TEST_SUITE_P(LongAll, LongShardedTraining, ::testing::ValuesIn(every_sharding()), name_of_case);

class CoLocated : public Training, public ::testing::WithParamInterface<int> {};

/// A shard next to each of p workers: push and pull each move (p - 1) / p of the model, and the notes, over
/// every link in each direction. So does a ring, but with p - 1 latencies instead of one.
TEST_P(CoLocated, CostsAsMuchAsARingExceptForLatency) {
  const int p = GetParam();
  Experiment experiment = small_experiment(p);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.workload.model = "synthetic";
  experiment.workload.synthetic_parameters = 120'000 * p;
  experiment.placement.servers = experiment.placement.workers;
  price_ = [](Rank, const Work& work) { return Seconds(work.kind == Work::Kind::forward ? 1.0 : 0.0); };
  const Journal journal = train(experiment);
  constexpr double latency = 1e-4, bandwidth = 1e8, part = 4 * 120'000.0 + sizeof(Note);
  const double expected = 2 * (latency + (p - 1.0) * part / bandwidth);
  ASSERT_EQ(journal.steps.size(), static_cast<std::size_t>(5 * p));
  for (const auto& step : journal.steps)
    EXPECT_NEAR(step.phases[static_cast<std::size_t>(Phase::exchange)].count(), expected, 1e-5 * expected);
}

INSTANTIATE_TEST_SUITE_P(Workers, CoLocated, ::testing::Values(2, 3, 4, 7));

/// With fewer shards than workers, the shards' links are the bottleneck: each carries one part per worker.
class OwnHosts : public Training, public ::testing::WithParamInterface<int> {};

TEST_P(OwnHosts, CostFollowsFromTheirLinks) {
  const int shards = GetParam();
  Experiment experiment = small_experiment(4);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.workload.model = "synthetic";
  experiment.workload.synthetic_parameters = 120'000;
  experiment.placement.servers.clear();
  for (int shard = 0; shard < shards; ++shard)
    experiment.placement.servers.push_back("host-" + std::to_string(9 - shard));
  price_ = [](Rank, const Work& work) { return Seconds(work.kind == Work::Kind::forward ? 1.0 : 0.0); };
  const Journal journal = train(experiment);
  constexpr double latency = 1e-4, bandwidth = 1e8;
  const double part = 4 * 120'000.0 / shards + sizeof(Note);
  const double expected = 2 * (latency + std::max(4, shards) * part / bandwidth);
  ASSERT_EQ(journal.steps.size(), 5U * 4U);
  for (const auto& step : journal.steps)
    EXPECT_NEAR(step.phases[static_cast<std::size_t>(Phase::exchange)].count(), expected, 1e-5 * expected);
}

INSTANTIATE_TEST_SUITE_P(Shards, OwnHosts, ::testing::Values(1, 2, 4, 5));

/// A tensor of 4 MB before eight of 1 kB, in one bucket: the link of the busiest shard is the bottleneck, and
/// carries its share of the model for each worker and direction.
class BusiestShardOf : public Training, public ::testing::WithParamInterface<Sharded> {};

TEST_P(BusiestShardOf, BoundsTheExchange) {
  constexpr int workers = 4;
  Experiment experiment = small_experiment(workers);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.workload.model = "synthetic";
  experiment.workload.synthetic_tensors = {"4MB"};
  experiment.workload.synthetic_tensors.insert(experiment.workload.synthetic_tensors.end(), 8, "1kB");
  experiment.workload.bucket_bytes = Bytes(0);
  experiment.sync.sharding = GetParam().policy;
  experiment.placement.servers.clear();
  for (std::size_t shard = 0; shard < GetParam().shards; ++shard)
    experiment.placement.servers.push_back("host-" + std::to_string(9 - shard));
  price_ = [](Rank, const Work& work) { return Seconds(work.kind == Work::Kind::forward ? 1.0 : 0.0); };
  const Journal journal = train(experiment);
  const RunInfo info = describe_run(*job_, "simulated");
  const double share = info.sharding.at("busiest").at("bytes").at("share");
  const double pushed = share * static_cast<double>(job_->model().bytes().count()) + sizeof(Note);
  constexpr double latency = 1e-4, bandwidth = 1e8;
  const double expected = 2 * (latency + workers * pushed / bandwidth);
  ASSERT_EQ(journal.steps.size(), 5U * workers);
  for (const auto& step : journal.steps)
    EXPECT_NEAR(step.phases[static_cast<std::size_t>(Phase::exchange)].count(), expected, 1e-5 * expected);
  const bool is_whole = GetParam().policy == "balanced";
  EXPECT_EQ(std::ranges::any_of(info.warnings,
                                [](const std::string& text) { return text.find("busiest") != text.npos; }),
            is_whole);
}

INSTANTIATE_TEST_SUITE_P(All, BusiestShardOf,
                         ::testing::Values(Sharded{"even_on_two", "even", 2},
                                           Sharded{"even_on_four", "even", 4},
                                           Sharded{"balanced_on_two", "balanced", 2},
                                           Sharded{"balanced_on_four", "balanced", 4}),
                         name_of_case);

}  // namespace TANDEM_FILE
}  // namespace tandem
