// A server serves in the order of arrival: equal workers make equal progress, however busy the server is.
#include "tests/support/fair_service.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/catalog.hpp"
#include "tests/sim/training.hpp"

namespace tandem {
namespace {

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

std::vector<std::string> algorithms_with_a_server() {
  std::vector<std::string> names = sync::catalog().names();
  for (const auto* without : {"sequential", "d-psgd", "ad-psgd", "group-average"}) std::erase(names, without);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Algorithms, FairService,
                         ::testing::Combine(::testing::ValuesIn(algorithms_with_a_server()),
                                            ::testing::Values(0.5, 1.0, 1.5, 2.0, 4.0)),
                         [](const auto& info) {
                           std::string name = std::get<0>(info.param);
                           std::erase(name, '-');
                           return name + "AtLoad" +
                                  std::to_string(static_cast<int>(10 * std::get<1>(info.param)));
                         });

}  // namespace
}  // namespace tandem
