// Overlapping exchanges with backward or forward changes only when a model is available, never its values:
// models are equal bit by bit, and each mode saves the expected time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <ostream>
#include <string>
#include <utility>

#include "tests/sim/training.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::small_experiment;
using testing::Training;

struct Way {
  const char* name;
  sync::Route over;
  OptimizerKind optimizer;
  std::vector<std::string> servers;
  std::string compression = "none";
};
void PrintTo(const Way& value, std::ostream* out) { *out << value.name; }

constexpr std::array overlap_modes = {OverlapMode::none, OverlapMode::backward, OverlapMode::both};

class Overlap : public Training {};

class OverlapOver : public Overlap, public ::testing::WithParamInterface<Way> {
 protected:
  Experiment with(OverlapMode overlap) const {
    Experiment experiment = small_experiment(4);
    experiment.sync.overlap = overlap;
    experiment.sync.over = GetParam().over;
    experiment.sync.collective = "halving-doubling";
    experiment.optimizer.kind = GetParam().optimizer;
    if (GetParam().optimizer != OptimizerKind::sgd) experiment.optimizer.momentum = 0.0;
    experiment.placement.servers = GetParam().servers;
    experiment.sync.compression = GetParam().compression;
    experiment.evaluate_every = 2;
    experiment.placement.evaluator = "host-0";
    return experiment;
  }
};

TEST_P(OverlapOver, TheModelIsTheSame) {
  for (const OverlapMode overlap : overlap_modes) train_apart(with(overlap), to_text(overlap));
  train(with(OverlapMode::backward));
  ASSERT_GT(job_->model().buckets.size(), 2U) << "too few buckets to overlap";
  for (const char* file : {"checkpoints/round_00000002.pt", "checkpoints/round_00000004.pt", "model.pt"}) {
    const auto expected = model_in(".", file);
    for (const OverlapMode overlap : overlap_modes)
      EXPECT_TRUE(model_in(to_text(overlap), file) == expected) << file << " of " << to_text(overlap);
  }
}

std::string name_of_test(const ::testing::TestParamInfo<Way>& way) {
  std::string name = way.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(
    Ways, OverlapOver,
    ::testing::Values(Way{"shards", sync::Route::server, OptimizerKind::adam, {"host-0", "host-5"}},
                      Way{"all-reduce", sync::Route::all_reduce, OptimizerKind::sgd, {}},
                      // Of two stages.
                      Way{"power-sgd", sync::Route::all_reduce, OptimizerKind::sgd, {}, "power-sgd"}),
    name_of_test);
INSTANTIATE_TEST_SUITE_P(
    LongWays, OverlapOver,
    ::testing::Values(Way{"server", sync::Route::server, OptimizerKind::sgd, {"host-0"}},
                      Way{"all-reduce with Adam", sync::Route::all_reduce, OptimizerKind::adam, {}},
                      Way{"top-k", sync::Route::all_reduce, OptimizerKind::adam, {}, "top-k"},
                      Way{"fp16", sync::Route::all_reduce, OptimizerKind::sgd, {}, "fp16"}),
    name_of_test);

/// An exchange lasts until the forward pass has got the last bucket.
TEST_F(Overlap, CacheNodesLearnOfTheEndOfAnExchangeInTheNextStep) {
  Experiment experiment = small_experiment(2);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.data.source = DataSource::storage;
  experiment.data.cache = "hoard";
  experiment.data.cache_capacity = Bytes(1000000);
  experiment.data.background = BackgroundReads::while_computing;
  experiment.placement.cache_nodes = {"host-0"};
  experiment.stop.rounds = 3;
  experiment.sync.overlap = OverlapMode::both;
  const Journal journal = train(experiment, true);
  std::vector<Seconds> notices, steps;
  for (const OperationRecord& operation : journal.operations)
    if (operation.kind == "send" && operation.channel == "phases" && operation.rank == 0)
      notices.push_back(operation.start);
  for (const StepRecord& step : journal.steps)
    if (step.rank == 0) steps.push_back(step.start);
  ASSERT_EQ(steps.size(), 3U);
  ASSERT_EQ(notices.size(), 7U) << "begins and ends of three exchanges, and the end of the worker";
  for (std::size_t step = 0; step + 1 < steps.size(); ++step) {
    EXPECT_LT(notices[2 * step], steps[step + 1]);
    EXPECT_GT(notices[2 * step + 1], steps[step + 1]);
  }
}

/// One worker and one server, 4 buckets of 1 ms each way. A pass over a bucket takes less time.
class OverlapOfOne : public Overlap {
 protected:
  static constexpr int rounds = 10;
  static constexpr double pass = 0.0005;

  double makespan(OverlapMode overlap) {
    Experiment experiment = small_experiment(1);
    experiment.sync.overlap = overlap;
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.workload.model = "synthetic";
    experiment.workload.synthetic_buckets = 4;
    experiment.workload.synthetic_parameters = 4 * 25'000;  // 100 kB per bucket at 100 MB/s
    experiment.stop.rounds = rounds;
    price_ = [](Rank, const Work& work) {
      const int buckets = work.bucket < 0 ? 4 : 1;
      const bool passes = work.kind == Work::Kind::forward || work.kind == Work::Kind::backward;
      return Seconds(passes ? pass * buckets : 0.0);
    };
    return train_apart(experiment, to_text(overlap)).count();
  }
};

TEST_F(OverlapOfOne, BackwardHidesAllPassesButTheFirst) {
  EXPECT_NEAR(makespan(OverlapMode::none) - makespan(OverlapMode::backward), rounds * 3 * pass, 1e-9);
}

TEST_F(OverlapOfOne, ForwardHidesAllPassesButTheLast) {
  EXPECT_NEAR(makespan(OverlapMode::backward) - makespan(OverlapMode::both), (rounds - 1) * 3 * pass, 1e-9);
}

/// Three workers of one GPU each at 10 Gb/s with a ring, 212 million parameters in DDP's buckets, and 0.403 s
/// of computing per step, a third of it forward.
class OverlappedRing : public Overlap {
 protected:
  static constexpr int buckets = 34;
  static constexpr std::int64_t parameters = 212'000'000, whole = 25 << 18, first = 1 << 18;
  static constexpr double compute = 0.403, ring = 2.0 * 2 / 3 * 212e6 * 4 / 1.25e9;

  static double share_of(int bucket) {
    const std::int64_t rest = parameters - first - 32 * whole;
    return static_cast<double>(bucket == 0 ? first : bucket == buckets - 1 ? rest : whole) / 212e6;
  }

  double step(OverlapMode overlap) {
    platform_ = testing::TemporaryPlatform::star(10, 1.25e9, 1e-5);
    price_ = [](Rank, const Work& work) {
      const double part = work.bucket < 0 ? 1.0 : share_of(work.bucket);
      if (work.kind == Work::Kind::forward) return Seconds(part * compute / 3);
      return Seconds(work.kind == Work::Kind::backward ? part * compute * 2 / 3 : 0.0);
    };
    Experiment experiment = small_experiment(3);
    experiment.sync.overlap = overlap;
    experiment.sync.over = sync::Route::all_reduce;
    experiment.sync.collective = "ring";
    experiment.placement.servers = {};
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.workload.model = "synthetic";
    experiment.workload.synthetic_buckets = 0;
    experiment.workload.bucket_bytes = Bytes(4 * whole);
    experiment.workload.first_bucket_bytes = Bytes(4 * first);
    experiment.workload.synthetic_parameters = parameters;
    const auto until = [&](int rounds) {
      experiment.stop.rounds = rounds;
      return train_apart(experiment, to_text(overlap) + std::to_string(rounds)).count();
    };
    return (until(4) - until(2)) / 2;
  }
};

TEST_F(OverlappedRing, IsBetweenIdealAndNoOverlap) {
  const double ideal = compute / 3 + ring, apart = compute + ring;
  EXPECT_NEAR(ideal, 1.039, 5e-4);
  EXPECT_NEAR(apart, 1.308, 5e-4);
  const double overlapped = step(OverlapMode::backward);
  EXPECT_GE(overlapped, ideal - 1e-6);
  EXPECT_LE(overlapped, ideal + 0.02);
  // Four steps of a ring have four latencies of 10 us per bucket.
  EXPECT_NEAR(step(OverlapMode::none), apart, buckets * 4 * 1.1e-5);
}

class StepDurations : public Overlap, public ::testing::WithParamInterface<OverlapMode> {};

/// A bucket takes longer on the network than a pass over it, so that exchanges continue after backward.
TEST_P(StepDurations, IncludeOnlyDecodeForwardAndBackward) {
  constexpr double decode = 0.002, forward = 0.001, backward = 0.003;
  Experiment experiment = small_experiment(2);
  experiment.sync.overlap = GetParam();
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.workload.model = "synthetic";
  experiment.workload.synthetic_buckets = 4;
  experiment.workload.synthetic_parameters = 4 * 250'000;  // 1 MB per bucket at 100 MB/s
  price_ = [](Rank rank, const Work& work) {
    const double factor = rank == 0 ? 1.0 : 2.0;  // each worker reports its own duration
    if (work.kind == Work::Kind::decode) return Seconds(factor * decode);
    if (work.kind == Work::Kind::forward) return Seconds(factor * forward * (work.bucket < 0 ? 4 : 1));
    if (work.kind == Work::Kind::backward) return Seconds(factor * backward);
    return Seconds(0.0007);
  };
  const Journal journal = train(experiment);
  ASSERT_EQ(job_->model().buckets.size(), 4U);
  std::map<bool, int> pushes;
  for (const auto& decision : journal.decisions)
    if (const auto at = decision.event.find("duration="); at != std::string::npos) {
      const bool is_fast = decision.event.find("worker=0") != std::string::npos;
      EXPECT_NEAR(std::stod(decision.event.substr(at + 9)),
                  (is_fast ? 1.0 : 2.0) * (decode + 4 * forward + 4 * backward), 1e-8)
          << decision.event;
      ++pushes[is_fast];
    }
  EXPECT_EQ(pushes, (std::map<bool, int>{{false, 5}, {true, 5}}));
}

INSTANTIATE_TEST_SUITE_P(Overlaps, StepDurations, ::testing::ValuesIn(overlap_modes));

}  // namespace TANDEM_FILE
}  // namespace tandem
