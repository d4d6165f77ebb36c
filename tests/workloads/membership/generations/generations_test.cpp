// When a job starts again, and when it ends: scripts of launches in a world that only writes down what it is
// asked.
#include "workloads/membership/generations/generations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"
#include "workloads/job/plan/generation.hpp"

namespace tandem {
namespace TANDEM_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using End = GenerationResult::End;

GenerationResult ended(End end, bool is_death = false) {
  GenerationResult result;
  result.end = end;
  result.is_death = is_death;
  if (end != End::success) result.message = "rank 1 ended";
  if (is_death) result.failed_rank = 1;
  return result;
}

class ScriptedWorld final : public GenerationWorld {
 public:
  explicit ScriptedWorld(std::vector<GenerationResult> launches) : launches_(std::move(launches)) {}
  GenerationResult launch() override { return launches_.at(launched++); }
  std::optional<ResumePoint> restart_point(GenerationResult&) override { return std::nullopt; }
  Seconds decide_next(const GenerationResult&, Seconds pause) override {
    pauses.push_back(pause.count());
    return pause;
  }
  std::optional<int> wait(Seconds) override { return signal; }
  const std::vector<int>* members() const override { return nullptr; }
  bool has_lost_more() const override { return false; }
  void write_membership(bool as_drawn) override { written.push_back(as_drawn); }
  void notify(const std::string& note) override { notes.push_back(note); }

  std::size_t launched = 0;
  std::vector<double> pauses;
  std::vector<std::string> notes;
  std::vector<bool> written;
  std::optional<int> signal;

 private:
  std::vector<GenerationResult> launches_;
};

/// Two workers and a server.
class Generations : public ::testing::Test {
 protected:
  Generations() {
    platform_.file = "two.xml";
    for (const char* name : {"a", "b"}) {
      auto& host = platform_.hosts.emplace_back();
      host.name = name;
      host.speed = host.device.speed = FlopsPerSecond(1e12);
    }
    experiment_.workload.model = "synthetic";
    experiment_.workload.dataset = "synthetic";
    experiment_.workload.train_samples = 96;
    experiment_.placement.workers = {"a", "b"};
    experiment_.placement.servers = {"a"};
    experiment_.stop.rounds = 100;
    experiment_.recovery.mode = RecoveryMode::restart;
    experiment_.recovery.policy = "restart";
    experiment_.recovery.least = 2;
  }

  GenerationResult launch(ScriptedWorld& world) {
    job_.emplace(experiment_, platform_, folder_.path().string());
    EXPECT_TRUE(begin_generations(*job_));
    return launch_generations(
        *job_, folder_.path().string(), world,
        [](const Experiment&, const platforms::Description&) { return platforms::Network(); });
  }

  testing::TemporaryFolder folder_;
  platforms::Description platform_;
  Experiment experiment_;
  std::optional<Job> job_;
};

TEST_F(Generations, OneIsEnough) {
  ScriptedWorld world({ended(End::success)});
  EXPECT_EQ(launch(world).end, End::success);
  EXPECT_THAT(world.notes, IsEmpty());
  EXPECT_THAT(world.written, IsEmpty());
  EXPECT_EQ(job_->generation()->number(), 0);
}

TEST_F(Generations, ADeathIsFollowedByAnother) {
  ScriptedWorld world({ended(End::environment_error, true), ended(End::success)});
  EXPECT_EQ(launch(world).end, End::success);
  EXPECT_THAT(world.notes,
              ElementsAre("rank 1 ended (worker on 'b'); the job starts again from its beginning as "
                          "generation 1"));
  ASSERT_EQ(job_->generation()->number(), 1);
  EXPECT_EQ(job_->generation()->ended[0].died_on, "b");
  EXPECT_FALSE(job_->is_restarted());
}

TEST_F(Generations, AnotherErrorWouldComeAgain) {
  ScriptedWorld world({ended(End::error)});
  EXPECT_EQ(launch(world).end, End::error);
  EXPECT_EQ(world.launched, 1U);
  EXPECT_THAT(world.written, ElementsAre(false));
}

TEST_F(Generations, ThreeDeathsBeforeTheSameCheckpointAreEnough) {
  ScriptedWorld world(std::vector(4, ended(End::environment_error, true)));
  EXPECT_THAT(launch(world).message, HasSubstr("3 launches in a row ended after round 0"));
  EXPECT_EQ(world.launched, 3U);
  EXPECT_THAT(world.pauses, ElementsAre(1.0, 2.0)) << "they grow";
}

TEST_F(Generations, AreNoMoreThanTheExperimentAllows) {
  experiment_.recovery.restarts = 1;
  ScriptedWorld world(std::vector(3, ended(End::environment_error, true)));
  EXPECT_THAT(launch(world).message, HasSubstr("does not start again after 1 restart (recovery.restarts)"));
  EXPECT_EQ(world.launched, 2U);
}

TEST_F(Generations, ASignalEndsThePause) {
  ScriptedWorld world({ended(End::environment_error, true)});
  world.signal = 15;
  const GenerationResult result = launch(world);
  EXPECT_EQ(result.end, End::signal);
  EXPECT_EQ(result.signal, 15);
  EXPECT_EQ(result.message, "ended by signal 15");
  EXPECT_EQ(world.launched, 1U);
}

TEST_F(Generations, InPlaceAnErrorThatARankReportsEndsTheJob) {
  experiment_.recovery.mode = RecoveryMode::in_place;
  experiment_.transience.lifetime = "exponential";
  experiment_.transience.options = {{"mean", 1000.0}};
  experiment_.checkpoint.policy = "fixed";
  experiment_.checkpoint.options = {{"interval", 10.0}};
  const auto launches_after = [&](bool is_death) {
    Job job(experiment_, platform_, folder_.path().string());
    job.set_generation({});
    ScriptedWorld world({ended(End::environment_error, is_death), ended(End::success)});
    launch_generations(job, folder_.path().string(), world,
                       [](const Experiment&, const platforms::Description&) { return platforms::Network(); });
    return world.launched;
  };
  EXPECT_EQ(launches_after(false), 1U);
  EXPECT_EQ(launches_after(true), 2U);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
