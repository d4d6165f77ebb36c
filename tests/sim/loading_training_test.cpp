// Prefetching batches on a GPU while it still computes: the same samples in the same order, requested at the
// same times, and steps that are shorter by the hidden time. A processor does not prefetch.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/training.hpp"
#include "tests/support/cache_counts.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::small_experiment;
using testing::Training;

constexpr const char* gpu = "<prop id='tandem:gpu' value='0'/>";

class Loading : public Training {
 protected:
  static Experiment from(DataSource source) {
    Experiment experiment = small_experiment(2);
    experiment.workload.batch = 16;  // a third of a shard
    experiment.data.source = source;
    if (source == DataSource::storage) experiment.placement.cache_nodes = {"host-0"};
    return experiment;
  }
  using Operations = std::map<Rank, std::vector<OperationRecord>>;
  static Operations work_of(const Journal& journal, const std::string& work) {
    Operations found;
    for (const auto& operation : journal.operations)
      if (operation.work == work) found[operation.rank].push_back(operation);
    return found;
  }
  static std::map<Rank, std::size_t> steps_of(const Journal& journal) {
    std::map<Rank, std::size_t> steps;
    for (const auto& step : journal.steps) ++steps[step.rank];
    return steps;
  }
};

class LoadingFrom : public Loading, public ::testing::WithParamInterface<DataSource> {};

TEST_P(LoadingFrom, TheModelIsTheSame) {
  Experiment experiment = from(GetParam());
  train_apart(experiment, "processors");
  host_properties_ = gpu;
  train_apart(experiment, "ahead");
  experiment.data.prefetch = 0;
  train(experiment);
  for (const char* folder : {"processors", "ahead"}) EXPECT_TRUE(model_in(folder) == final_model()) << folder;
}

TEST_P(LoadingFrom, DecodingIsThePartAfterTheBatchHasArrived) {
  price_ = [](Rank, const Work& work) { return Seconds(work.kind == Work::Kind::decode ? 0.002 : 0.001); };
  for (const StepRecord& step : train(from(GetParam())).steps) {
    const Seconds load = step.phases[static_cast<std::size_t>(Phase::load)];
    EXPECT_NEAR(step.decoding.count(), 0.002, 1e-9) << step.step;
    // Later batches of a store have been requested in advance.
    if (GetParam() == DataSource::storage && step.step == 0) {
      EXPECT_GT(load, step.decoding + Seconds(1e-6)) << step.step;
    } else {
      EXPECT_NEAR(load.count(), step.decoding.count(), 1e-9) << step.step;
    }
  }
}

std::string name_of_test(const ::testing::TestParamInfo<DataSource>& source) { return to_text(source.param); }
INSTANTIATE_TEST_SUITE_P(Sources, LoadingFrom, ::testing::Values(DataSource::storage), name_of_test);
INSTANTIATE_TEST_SUITE_P(LongSources, LoadingFrom, ::testing::Values(DataSource::memory), name_of_test);

/// One worker with 10 rounds.
class LoadingOfOne : public Loading {
 protected:
  static constexpr int rounds = 10;
  static constexpr double decode = 0.002, backward = 0.003;

  static Experiment of_one(int prefetch) {
    Experiment experiment = small_experiment(1);
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.data.prefetch = prefetch;
    experiment.stop.rounds = rounds;
    return experiment;
  }
  double makespan(int prefetch, const std::string& properties) {
    host_properties_ = properties;
    price_ = [](Rank, const Work& work) {
      if (work.kind == Work::Kind::decode) return Seconds(decode);
      return Seconds(work.kind == Work::Kind::backward ? backward : 0.001);
    };
    return train_apart(of_one(prefetch), std::to_string(prefetch) + (properties.empty() ? "" : "gpu"))
        .count();
  }
};

TEST_F(LoadingOfOne, BackwardHidesAllButTheFirstBatch) {
  const double whole = makespan(0, gpu);
  EXPECT_NEAR(whole - makespan(1, gpu), (rounds - 1) * decode, 1e-7);
  EXPECT_EQ(whole, makespan(0, ""));
}

TEST_F(LoadingOfOne, AProcessorLoadsWhenAStepBegins) { EXPECT_EQ(makespan(0, ""), makespan(1, "")); }

TEST_F(LoadingOfOne, LoadingBelongsToTheStepInWhichItRuns) {
  host_properties_ = gpu;
  std::vector<int> steps;
  price_ = [&](Rank, const Work& work) {
    if (work.kind == Work::Kind::decode) {
      EXPECT_TRUE(work.concurrent);
      steps.push_back(work.step);
    }
    return Seconds(0.001);
  };
  train(of_one(1));
  std::vector<int> expected = {0};
  for (int step = 0; step < rounds; ++step) expected.push_back(step);
  EXPECT_EQ(steps, expected);
}

TEST_F(Loading, TheNextBatchIsLoadedBeforeBackwardEnds) {
  host_properties_ = gpu;
  const Journal journal = train(from(DataSource::memory), true);
  const int last = static_cast<int>(job_->model().buckets.size()) - 1;
  auto decodes = work_of(journal, "decode");
  ASSERT_EQ(decodes.size(), 2U) << "workers";
  for (auto& [rank, passes] : work_of(journal, "backward")) {
    std::erase_if(passes, [&](const OperationRecord& pass) { return pass.bucket != last; });
    ASSERT_EQ(passes.size(), 5U) << "steps";
    ASSERT_EQ(decodes[rank].size(), passes.size() + 1);
    for (std::size_t step = 0; step < passes.size(); ++step) {
      EXPECT_GE(decodes[rank][step + 1].start, passes[step].start) << "step " << step;
      EXPECT_LT(decodes[rank][step + 1].start, passes[step].end) << "step " << step;
    }
  }
}

class LoadingFromStorage : public Loading, public ::testing::WithParamInterface<double> {};

/// Whether or not batches arrive in time: as many are requested as on processors, and one more is decoded
/// than is used.
TEST_P(LoadingFromStorage, MakesNoMoreRequests) {
  host_properties_ = gpu;
  price_ = [](Rank, const Work& work) {
    return Seconds(work.kind == Work::Kind::backward ? GetParam() : 0.0001);
  };
  const Journal journal = train(from(DataSource::storage), true);
  EXPECT_EQ(testing::cache_sum(journal, "").samples, 2 * 16 * (5 + 1));
  const auto decodes = work_of(journal, "decode");
  for (const auto& [rank, steps] : steps_of(journal)) EXPECT_EQ(decodes.at(rank).size(), steps + 1);
  const int last = static_cast<int>(job_->model().buckets.size()) - 1;
  std::map<Rank, std::size_t> step;
  for (const auto& [rank, passes] : work_of(journal, "backward"))
    for (const OperationRecord& pass : passes) {
      if (GetParam() == 0.0 || pass.bucket != last) continue;
      EXPECT_LT(decodes.at(rank).at(++step[rank]).start, pass.end) << "the batch had arrived in time";
    }
}

INSTANTIATE_TEST_SUITE_P(InTimeAndLate, LoadingFromStorage, ::testing::Values(0.01, 0.0));

/// The size of the next batch is known only after the exchange.
TEST_F(Loading, ABatchOfVariableSizeIsNotPrefetched) {
  host_properties_ = gpu;
  Experiment experiment = from(DataSource::memory);
  experiment.sync.algorithm = "lb-bsp";
  experiment.placement.workers = {"host-1", "host-1", "host-1", "host-2"};  // three share two cores
  experiment.stop.rounds = 8;
  const Journal journal = train(experiment, true);
  const auto decodes = work_of(journal, "decode");
  for (const auto& [rank, steps] : steps_of(journal)) EXPECT_EQ(decodes.at(rank).size(), steps);
  std::set<int> sizes;
  for (const auto& step : journal.steps) sizes.insert(step.samples);
  EXPECT_GT(sizes.size(), 1U);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
