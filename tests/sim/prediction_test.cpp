// The closed forms of `tandem predict` against the simulation of every message.
#include "workloads/priced/prediction.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "platforms/load.hpp"
#include "platforms/neighbours.hpp"
#include "sim/job_world.hpp"
#include "tests/sim/temporary_platform.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem {
namespace TANDEM_FILE {

struct Case {
  std::string name;
  int workers;
  double within;  ///< relative error
  std::function<void(Experiment&)> change;
  bool unequal = false;  ///< every other worker has a slower device
};
void PrintTo(const Case& value, std::ostream* out) { *out << value.name; }

/// ResNet-18 on GPUs behind links of 1 GB/s: computing and exchanges take about as long.
class Predictions : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr int rounds = 10;

  std::string platform() const {
    std::string body = testing::TemporaryPlatform::star(GetParam().workers + 2, 1e9, 1e-4, "HOST");
    for (int host = 0; body.find("HOST") != std::string::npos; ++host) {
      const char* device = GetParam().unequal && host % 2 == 1 ? "k80" : "t4";
      body.replace(body.find("HOST"), 4, fmt::format("<prop id='device' value='{}'/>", device));
    }
    return body;
  }

  Experiment experiment(const std::string& file) const {
    Experiment made;
    made.platform = file;
    made.workload.math = Experiment::Workload::Math::modelled;
    made.workload.model = "resnet18";
    made.workload.dataset = "synthetic-imagenet";
    made.workload.batch = 32;
    made.checkpoint.at_end = false;
    made.stop.rounds = rounds;
    for (int worker = 0; worker < GetParam().workers; ++worker)
      made.placement.workers.push_back(fmt::format("host-{}", worker + 2));
    made.placement.servers = {"host-0"};
    GetParam().change(made);
    if (made.sync.over == sync::Route::all_reduce) made.placement.servers.clear();
    return made;
  }
};

TEST_P(Predictions, AreThoseOfTheSimulation) {
  const testing::TemporaryPlatform file(platform());
  const testing::TemporaryFolder folder;
  const Experiment made = experiment(file.path());
  const auto description = platforms::load_platform(file.path());
  const auto of_workers = platforms::load_network(file.path(), made.placement.workers);
  const Job job(made, description, folder.path().string(), of_workers);
  const auto found =
      priced::predict(job, platforms::load_network(file.path(), priced::hosts_of_prediction(job)));
  const sim::JobRun run = sim::simulate_job(job, {.network = of_workers});
  EXPECT_EQ(found.rounds, rounds);
  EXPECT_NEAR(found.makespan.count(), run.makespan.count(), GetParam().within * run.makespan.count());
  EXPECT_LE(found.fastest.count() * rounds, 1.02 * run.makespan.count());
  EXPECT_GE(found.slowest.count() * rounds, 0.98 * run.makespan.count());
}

void bsp(Experiment&) {}
void two_servers(Experiment& experiment) { experiment.placement.servers = {"host-0", "host-1"}; }
void after_backward(Experiment& experiment) { experiment.sync.overlap = OverlapMode::none; }
void asp(Experiment& experiment) { experiment.sync.algorithm = "asp"; }
std::function<void(Experiment&)> summed_by(const std::string& collective) {
  return [=](Experiment& experiment) {
    experiment.sync.over = sync::Route::all_reduce;
    experiment.sync.collective = collective;
  };
}
void local_sgd(Experiment& experiment) {
  summed_by("ring")(experiment);
  experiment.sync.algorithm = "local-sgd";
  experiment.sync.options = {{"h", std::int64_t{4}}};
}

INSTANTIATE_TEST_SUITE_P(Jobs, Predictions,
                         ::testing::Values(Case{"bsp_2", 2, 0.02, bsp}, Case{"bsp_8", 8, 0.02, bsp},
                                           Case{"bsp_8_two_servers", 8, 0.02, two_servers},
                                           Case{"bsp_8_after_backward", 8, 0.02, after_backward},
                                           Case{"bsp_6_unequal", 6, 0.02, bsp, true},
                                           Case{"ring_2", 2, 0.02, summed_by("ring")},
                                           Case{"ring_8", 8, 0.02, summed_by("ring")},
                                           Case{"ring_6_unequal", 6, 0.02, summed_by("ring"), true},
                                           Case{"halving_doubling_8", 8, 0.02, summed_by("halving-doubling")},
                                           Case{"double_tree_8", 8, 0.3, summed_by("double-tree")},
                                           Case{"native_8", 8, 0.02, summed_by("native")},
                                           Case{"local_sgd_8", 8, 0.02, local_sgd},
                                           Case{"asp_2", 2, 0.15, asp}, Case{"asp_12", 12, 0.4, asp}),
                         [](const auto& info) { return info.param.name; });

}  // namespace TANDEM_FILE
}  // namespace tandem
