// The arithmetic of synchronisation algorithms in real runs: the model of a run under mpirun follows from its
// records and from the update that is published. tests/sim has a row for every algorithm.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>

#include "tests/cli/command.hpp"
#include "tests/cli/rank_world.hpp"
#include "tests/support/fair_service.hpp"
#include "tests/support/names.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/published_rules.hpp"
#include "workloads/job/plan/data_plan.hpp"
#include "workloads/job/plan/replica_plan.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/records/result_directory.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

struct Case {
  std::string algorithm;
  sync::Route over;
  bool cancels = false;  ///< with option cancel
};
void PrintTo(const Case& value, std::ostream* out) {
  *out << value.algorithm << " over " << to_text(value.over) << (value.cancels ? " with cancel" : "");
}

class PublishedRuns : public ::testing::TestWithParam<Case> {
 protected:
  /// Runs the job on four emulated boards of different speeds, and returns what its result directory has.
  FinishedJob play(const PublishedRule& published, sync::Route over, bool cancels) {
    const std::string net = (line_.folder() / "net.pt").string();
    EXPECT_EQ(line_.shell("'" + build_folder() + "/bin/script_file' " + net + " tanh").exit_code, 0);
    std::string options;
    for (const auto& [name, value] : published.options)
      options += (options.empty() ? "" : ", ") + name + ": " + tandem::to_text(value);
    line_.write("job.yaml",
                "platform: " + source_folder() +
                    "/platforms/mixed_lab.xml\n"
                    "workload: {model: " +
                    net + ", dataset: synthetic, math: real, train_samples: 96, test_samples: 50, batch: " +
                    std::to_string(PublishedJob::batch) +
                    ", bucket_bytes: 512B}\n"
                    "placement: {workers: [node-1, node-2, node-4, node-6], servers: [server]}\n"
                    "sync: {algorithm: " +
                    published.algorithm + ", over: " + tandem::to_text(over) + ", options: {" + options +
                    "}}\noptimizer: {learning_rate: " + std::to_string(PublishedJob::rate) +
                    "}\nstop: {rounds: " + std::to_string(PublishedJob::rounds) + "}\n");
    // A step is stopped in its long forward pass.
    const std::string slow_steps =
        cancels ? " --set workload.measured_step=20ms --set run.slowdown_probability=0.3" : "";
    const auto run =
        run_in_shared_world(line_, "job.yaml --decisions --losses --operations --out measured" + slow_steps,
                            build_folder() + "/bin/served_rank");
    EXPECT_EQ(run.exit_code, 0) << run.output;
    return finished_job((line_.folder() / "measured").string(), over);
  }

  FinishedJob finished_job(const std::string& directory, sync::Route over) {
    Results results = read_results(directory);
    const Experiment& experiment = results.info.experiment;
    dataset_ = load_dataset(dataset_setting(experiment));
    const auto learner = make_learner(
        plan_replica(experiment, dataset_->info(), /*sample_losses=*/true).learner, host_device());
    FinishedJob job{.over = over,
                    .journal = std::move(results.journal),
                    .model = learner->description(),
                    .dataset = dataset_.get(),
                    .first = {learner->model().begin(), learner->model().end()},
                    .last = load_checkpoint(directory + "/model.pt", learner->description()).values};
    for (Rank rank = 0; rank < std::ssize(results.info.roles); ++rank) {
      const std::string role = role_of(results.info, rank);
      if (role == "worker") job.workers.push_back(rank);
      if (role == "server" && over == sync::Route::server) job.servers.push_back(rank);
    }
    ShardPiece all;
    all.elements = job.model.elements();
    job.shards = {{all}};
    return job;
  }

  CommandLine line_{"real"};
  std::shared_ptr<const Dataset> dataset_;
};

TEST_P(PublishedRuns, GiveTheModelOfTheRun) {
  auto rules = published_rules();
  const auto published = std::ranges::find(rules, GetParam().algorithm, &PublishedRule::algorithm);
  ASSERT_NE(published, rules.end());
  if (GetParam().cancels) published->options["cancel"] = true;
  const FinishedJob job = play(*published, GetParam().over, GetParam().cancels);
  expect_published(job, *published);
  EXPECT_EQ(cancelled_steps(job.journal) > 0, GetParam().cancels);
}

/// Of each kind: on arrival, of the first gradients, of local steps, sums without a server, and pairs.
INSTANTIATE_TEST_SUITE_P(
    LongKinds, PublishedRuns,
    ::testing::Values(Case{"asp", sync::Route::server}, Case{"dc-asgd-adaptive", sync::Route::server},
                      Case{"k-sync", sync::Route::server}, Case{"k-sync", sync::Route::server, true},
                      Case{"esync", sync::Route::server}, Case{"easgd-async", sync::Route::server},
                      Case{"fedavg", sync::Route::server}, Case{"ssp-cached", sync::Route::server},
                      Case{"bsp", sync::Route::all_reduce}, Case{"slowmo", sync::Route::all_reduce},
                      Case{"ad-psgd", sync::Route::peers}),
    [](const auto& instance) {
      const Case& one = instance.param;
      return letters_of(one.algorithm) + "Over" + letters_of(to_text(one.over)) +
             (one.cancels ? "WithCancel" : "");
    });

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
