// A server serves in the order of arrival: equal workers make equal progress, however busy the server is.
#include "tests/support/fair_service.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/catalog.hpp"
#include "tests/sim/training.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::fair_difference;
using testing::pushes_by_worker;
using testing::small_experiment;
using testing::Training;

constexpr int workers = 6;
constexpr double step_s = 0.1;

/// An algorithm, and the time that the server needs for the pushes of all workers relative to that of a step.
class FairService : public Training, public ::testing::WithParamInterface<std::tuple<std::string, double>> {
 protected:
  Journal train_equal_workers(std::int64_t rounds) {
    const auto& [algorithm, load] = GetParam();
    Experiment experiment = small_experiment(workers);
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.sync.algorithm = algorithm;
    if (algorithm == "adsp") experiment.sync.options["period_s"] = 1.0;
    experiment.stop.rounds = rounds;
    // A message takes much less time than a step.
    price_ = [this, push_s = load * step_s / workers](Rank rank, const Work& work) {
      const bool is_worker = rank < workers;
      const auto buckets = static_cast<double>(job_->model().buckets.size());
      switch (work.kind) {
        case Work::Kind::forward:
          return Seconds(step_s / 2);
        case Work::Kind::backward:
          return Seconds(step_s / 2 / buckets);
        case Work::Kind::reduce:
        case Work::Kind::update:
          return Seconds(is_worker ? 0 : push_s / 2);
        default:
          return Seconds(0);
      }
    };
    return train(experiment);
  }
};

TEST_P(FairService, EqualWorkersMakeEqualProgress) {
  const Journal journal = train_equal_workers(25);
  const std::vector<int> pushes = pushes_by_worker(journal, workers);
  const auto [fewest, most] = std::ranges::minmax(pushes);
  EXPECT_LE(most - fewest, fair_difference(std::get<std::string>(GetParam()), most))
      << ::testing::PrintToString(pushes);
  EXPECT_GE(fewest, 6) << ::testing::PrintToString(pushes);
  for (const auto& pushed : journal.staleness)
    EXPECT_LE(pushed.staleness, 2 * workers)
        << "worker " << pushed.rank << ", " << pushed.pushes << " pushes";
}

const std::vector<std::string> of_each_kind = {"bsp",       "k-sync",     "k-batch-sync", "lb-bsp",
                                               "local-sgd", "esync",      "asp",          "ssp",
                                               "rennala",   "ringmaster", "adsp",         "easgd-async"};

std::vector<std::string> others_with_a_server() {
  std::vector<std::string> names = sync::catalog().names();
  for (const auto* without : {"sequential", "d-psgd", "ad-psgd", "group-average"}) std::erase(names, without);
  for (const std::string& tested : of_each_kind) std::erase(names, tested);
  return names;
}

std::string name_of_test(const ::testing::TestParamInfo<std::tuple<std::string, double>>& info) {
  std::string name = std::get<0>(info.param);
  std::erase(name, '-');
  return name + "AtLoad" + std::to_string(static_cast<int>(10 * std::get<1>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(Saturated, FairService,
                         ::testing::Combine(::testing::ValuesIn(of_each_kind), ::testing::Values(2.0)),
                         name_of_test);
INSTANTIATE_TEST_SUITE_P(LongLoads, FairService,
                         ::testing::Combine(::testing::ValuesIn(of_each_kind),
                                            ::testing::Values(0.5, 1.0, 1.5, 4.0)),
                         name_of_test);
INSTANTIATE_TEST_SUITE_P(LongAlgorithms, FairService,
                         ::testing::Combine(::testing::ValuesIn(others_with_a_server()),
                                            ::testing::Values(0.5, 1.0, 1.5, 2.0, 4.0)),
                         name_of_test);

}  // namespace TANDEM_FILE
}  // namespace tandem
