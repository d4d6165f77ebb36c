// Non-finite gradients, produced by TorchScript files: where the job stops, which updates are skipped, and
// how they are counted.
#include <cmath>
#include <ostream>

#include "policies/vocabulary/check.hpp"
#include "tests/sim/training.hpp"
#include "tests/workloads/learner/script_modules.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

/// A network of two layers; the first one has a tensor with a finite value and a non-finite gradient: the
/// square root at zero.
void save_rooted(const std::string& path) {
  ScriptFile()
      .layer("first", {{"weight", {20, 784}}, {"root", {1}}})
      .layer("last", {{"weight", {10, 20}}, {"bias", {10}}})
      .save(path,
            "    x = torch.relu(torch.linear(torch.flatten(x, 1), self.first.weight))\n"
            "    x = x + torch.sqrt(self.first.root * 0.0)\n"
            "    return torch.linear(x, self.last.weight, self.last.bias)\n");
}

/// A linear network whose third training step, on any worker, gives only non-finite values.
void save_third_step_bad(const std::string& path) {
  ScriptFile()
      .buffer("steps", torch::zeros({}, torch::kLong))
      .layer("last", {{"weight", {10, 784}}, {"bias", {10}}})
      .save(path,
            "    x = torch.flatten(x, 1)\n"
            "    if self.training:\n"
            "        self.steps = self.steps + 1\n"
            "        if int(self.steps) == 3:\n"
            "            x = x * float('inf')\n"
            "    return torch.linear(x, self.last.weight, self.last.bias)\n");
}

struct Way {
  std::string name;
  std::string algorithm;
  sync::Route over;
  UpdateSide update_at = UpdateSide::server;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class NonFinite : public Training, public ::testing::WithParamInterface<Way> {
 protected:
  Experiment experiment(void (*save)(const std::string&), OnNonFinite setting) {
    const std::string path = (directory_ / "net.pt").string();
    save(path);
    Experiment made = small_experiment(2);
    made.workload.model = path;
    made.workload.non_finite = setting;
    made.workload.bucket_bytes = Bytes(64);
    made.optimizer.momentum = 0.0;
    made.sync.algorithm = GetParam().algorithm;
    made.sync.over = GetParam().over;
    made.optimizer.update_at = GetParam().update_at;
    if (made.sync.algorithm == "local-sgd") made.sync.options = {{"h", std::int64_t{2}}};
    if (made.sync.over == sync::Route::all_reduce) made.placement.servers.clear();
    return made;
  }
  void expect_stopped(const Experiment& wanted, const std::vector<std::string>& words) {
    try {
      train(wanted);
      FAIL() << "the job did not stop";
    } catch (const WorldError& error) {
      for (const auto& word : words)
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << word << " in " << error.what();
    }
  }
  /// Whether each bucket of the model has changed since the start.
  std::vector<bool> changed() const {
    const auto start = initial_model(job_->replica_plan()), end = final_model();
    std::vector<bool> result;
    for (const auto& bucket : job_->model().buckets) {
      const auto at = static_cast<std::ptrdiff_t>(bucket.offset);
      result.push_back(
          !std::equal(start.begin() + at, start.begin() + at + bucket.elements(), end.begin() + at));
    }
    return result;
  }
  bool steps_by_itself() const { return GetParam().algorithm == "local-sgd"; }
};

TEST_P(NonFinite, StopsTheJobAndNamesTheTensor) {
  expect_stopped(experiment(save_rooted, OnNonFinite::stop),
                 {"rank 0", "worker on 'host-1'", "step 0", "the gradient of 'first.root'", "non_finite"});
}

TEST_P(NonFinite, NamesTheStep) {
  expect_stopped(experiment(save_third_step_bad, OnNonFinite::stop), {"rank 0", "step 2", "'last."});
}

TEST_P(NonFinite, SkipsTheUpdateFromItsBucketOn) {
  const Journal journal = train(experiment(save_rooted, OnNonFinite::skip));
  const std::vector<bool> buckets = changed();
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_EQ(buckets[0], !steps_by_itself()) << "the last layer; local steps are skipped";
  EXPECT_FALSE(buckets[1]);
  EXPECT_EQ(journal.skipped_steps, static_cast<std::int64_t>(journal.steps.size()));
  const auto recorded =
      std::count_if(journal.decisions.begin(), journal.decisions.end(), [](const auto& record) {
        return record.decisions == "skip" && record.event.find("'first.root'") != std::string::npos;
      });
  EXPECT_EQ(recorded, journal.skipped_steps);
}

/// The other steps are unaffected.
TEST_P(NonFinite, ANonFiniteLossSkipsTheWholeStep) {
  const Journal journal = train(experiment(save_third_step_bad, OnNonFinite::skip));
  EXPECT_EQ(journal.skipped_steps, 2);
  for (const auto& step : journal.steps) EXPECT_EQ(std::isfinite(step.loss), step.step != 2);
  const auto found = final_model();
  for (const float value : found) EXPECT_TRUE(std::isfinite(value));
  // The models of workers with local steps diverge: one worker on all samples ends with another model.
  if (steps_by_itself()) return;
  Experiment sound = experiment(
      [](const std::string& path) {
        ScriptFile()
            .layer("last", {{"weight", {10, 784}}, {"bias", {10}}})
            .save(path, "    return torch.linear(torch.flatten(x, 1), self.last.weight, self.last.bias)\n");
      },
      OnNonFinite::stop);
  job_ = std::make_unique<Job>(sound, job_->spec().platform, directory_.string());
  expect_close(found, sequential_model(4), 1e-5F);
}

TEST_P(NonFinite, ReachesTheModelIfIgnored) {
  const Journal journal = train(experiment(save_third_step_bad, OnNonFinite::ignore));
  EXPECT_EQ(journal.skipped_steps, 0);
  for (const float value : final_model()) EXPECT_TRUE(std::isnan(value));
}

std::string name_of_test(const ::testing::TestParamInfo<Way>& instance) { return instance.param.name; }
INSTANTIATE_TEST_SUITE_P(Variants, NonFinite,
                         ::testing::Values(Way{"BspOverAServer", "bsp", sync::Route::server},
                                           Way{"LocalSgd", "local-sgd", sync::Route::server}),
                         name_of_test);
INSTANTIATE_TEST_SUITE_P(LongVariants, NonFinite,
                         ::testing::Values(Way{"BspOfWorkersOverAServer", "bsp", sync::Route::server,
                                               UpdateSide::workers},
                                           Way{"BspOverAllReduce", "bsp", sync::Route::all_reduce}),
                         name_of_test);

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
