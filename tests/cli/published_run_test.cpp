// The arithmetic of synchronisation algorithms in real runs: the model of a run under mpirun follows from its
// records and from the update that is published. tests/sim has a row for every algorithm.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>

#include "tests/cli/command.hpp"
#include "tests/cli/rank_world.hpp"
#include "tests/support/fair_service.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/published_rules.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/job/plan/replica_plan.hpp"
#include "workloads/job/plan/shard_layout.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/records/result_directory.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

struct Case {
  std::string algorithm;
  sync::Route over;
  bool cancels = false;  ///< with option cancel
  /// Two servers decide in the order of the first one.
  bool in_one_order = false;
};
void PrintTo(const Case& value, std::ostream* out) {
  *out << value.algorithm << " over " << to_text(value.over) << (value.cancels ? " with cancel" : "")
       << (value.in_one_order ? " in one order" : "");
}

class LongPublishedRuns : public ::testing::Test {
 protected:
  /// Runs the job on four emulated boards of different speeds, and returns what its result directory has.
  FinishedJob play(const PublishedRule& published, const Case& one) {
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
                    "placement: {workers: [node-1, node-2, node-4, node-6], servers: " +
                    (one.in_one_order ? "[server, server]}\n" : "[server]}\n") +
                    "sync: {algorithm: " + published.algorithm + ", over: " + tandem::to_text(one.over) +
                    (one.in_one_order ? ", decides: first-server" : "") + ", options: {" + options +
                    "}}\noptimizer: {learning_rate: " + std::to_string(PublishedJob::rate) +
                    "}\nstop: {rounds: " + std::to_string(PublishedJob::rounds) + "}\n");
    // A step is stopped in its long forward pass.
    const std::string slow_steps =
        one.cancels ? " --set workload.measured_step=20ms --set run.slowdown_probability=0.3" : "";
    const auto run =
        run_in_shared_world(line_, "job.yaml --decisions --losses --operations --out measured" + slow_steps,
                            build_folder() + "/bin/served_rank");
    EXPECT_EQ(run.exit_code, 0) << run.output;
    return finished_job((line_.folder() / "measured").string(), one.over);
  }

  FinishedJob finished_job(const std::string& directory, sync::Route over) {
    Results results = read_results(directory);
    const Experiment& experiment = results.info.experiment;
    dataset_ = load_dataset(ResolvedExperiment(experiment).dataset);
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
    const ResolvedExperiment chosen(experiment);
    job.shards = lay_out_shards(job.model, chosen.sharding.make(),
                                std::max(1, static_cast<int>(job.servers.size())), chosen.sharding.options());
    return job;
  }

  CommandLine line_{"real"};
  std::shared_ptr<const Dataset> dataset_;
};

/// Of each kind: on arrival, of the first gradients, of local steps, sums without a server, and pairs. In one
/// test: ranks are started once for all jobs of as many ranks.
TEST_F(LongPublishedRuns, GiveTheModelsOfTheRuns) {
  for (const Case& one : {Case{"asp", sync::Route::server}, Case{"dc-asgd-adaptive", sync::Route::server},
                          Case{"k-sync", sync::Route::server, true},
                          Case{"k-sync", sync::Route::server, true, true}, Case{"esync", sync::Route::server},
                          Case{"easgd-async", sync::Route::server}, Case{"fedavg", sync::Route::server},
                          Case{"ssp-cached", sync::Route::server}, Case{"bsp", sync::Route::all_reduce},
                          Case{"slowmo", sync::Route::all_reduce}, Case{"ad-psgd", sync::Route::peers}}) {
    SCOPED_TRACE(::testing::PrintToString(one));
    std::filesystem::remove_all(line_.folder() / "measured");
    auto rules = published_rules();
    const auto published = std::ranges::find(rules, one.algorithm, &PublishedRule::algorithm);
    ASSERT_NE(published, rules.end());
    if (one.cancels) published->options["cancel"] = true;
    const FinishedJob job = play(*published, one);
    expect_published(job, *published);
    if (one.in_one_order) expect_common_decisions(job);
    EXPECT_EQ(cancelled_steps(job.journal) > 0, one.cancels);
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
