// Commits that come too late or take too long for the machines, with the figures of the hand computation.
#include "workloads/job/check/commit_warnings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "workloads/job/check/job_description.hpp"
#include "workloads/job/plan/commit_machines.hpp"
#include "workloads/job/plan/fates_of_job.hpp"

namespace tandem {
namespace TANDEM_FILE {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Two workers whose steps compute for a second; a commit of a worker writes two vectors of 50 MB to a disk
/// of 50 MB/s, and takes 2 s.
class CommitWarnings : public ::testing::Test {
 protected:
  CommitWarnings() {
    platform_.file = "two.xml";
    for (const char* name : {"a", "b"}) {
      auto& host = platform_.hosts.emplace_back();
      host.name = name;
      host.speed = host.device.speed = FlopsPerSecond(1e12);
      host.device.memory_rate = BytesPerSecond(1e10);
      host.device.has_one_speed = true;
      host.disks = {{"disk", BytesPerSecond(1e8), BytesPerSecond(5e7)}};
    }
    auto& workload = experiment_.workload;
    workload.model = "synthetic";
    workload.dataset = "synthetic";
    workload.train_samples = 96;
    workload.batch = 1;
    workload.synthetic_parameters = 12'500'000;
    workload.synthetic_forward = workload.synthetic_backward = Flops(5e11);
    experiment_.sync.over = sync::Route::all_reduce;
    experiment_.placement.workers = {"a", "b"};
    experiment_.stop.rounds = 100;
    experiment_.checkpoint.policy = "fixed";
    experiment_.checkpoint.options = {{"interval", 10.0}};
    experiment_.recovery.mode = RecoveryMode::restart;
    experiment_.recovery.policy = "restart";
  }
  void live(double mean_s) {
    experiment_.transience.lifetime = "exponential";
    experiment_.transience.options = {{"mean", mean_s}};
  }
  std::vector<std::string> warnings() const { return warnings_of_commits(Job(experiment_, platform_, "")); }

  platforms::Description platform_;
  Experiment experiment_;
};

TEST_F(CommitWarnings, LifetimesMuchShorterThanTheWorkBetweenTwoCommits) {
  live(10.0);
  EXPECT_THAT(warnings(), IsEmpty()) << "e^-2 of the segments are done";
  live(5.0);
  // Two machines, 10 s of work: e^-4, and (e^4 - 1) / 0.4 s.
  EXPECT_THAT(warnings(), ElementsAre(AllOf(HasSubstr("than the 10.0 s of work between two commits"),
                                            HasSubstr("with 2 workers"), HasSubstr("probability of 0.018"),
                                            HasSubstr("takes 134 s on average"),
                                            HasSubstr("(checkpoint.options.interval)"))));
  experiment_.transience.time_scale = 2.0;
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("probability of 0.00034"))) << "machines live half as long";
  experiment_.transience.time_scale = 1.0;
  experiment_.checkpoint.options = {{"interval", 2.0}};
  EXPECT_THAT(warnings(), IsEmpty());
  experiment_.checkpoint.options = {{"interval", 10.0}, {"unit", std::string("seconds")}};
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("takes 134 s on average")));
}

/// 50 MB over links of 50 MB/s.
TEST_F(CommitWarnings, TheWorkBetweenTwoCommitsHasExchanges) {
  live(10.0);
  platform_.links = {{"cable", BytesPerSecond(5e7), Seconds(0), "SPLITDUPLEX"},
                     {"switch", BytesPerSecond(1e12), Seconds(0), "FATPIPE"}};
  // Two workers sum 50 MB in 1 s, half of which overlaps the backward pass: e^-3.
  EXPECT_THAT(warnings(),
              ElementsAre(AllOf(HasSubstr("than the 15.0 s of work"), HasSubstr("probability of 0.05"))));
  experiment_.sync.overlap = OverlapMode::none;
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("than the 20.0 s of work")));
  experiment_.sync.compression = "top-k";
  EXPECT_THAT(warnings(), IsEmpty()) << "fewer bytes, of which nothing is known here";
  experiment_.sync.compression = "none";
  // The server gets 50 MB of the worker on the other host, and sends as much.
  experiment_.sync.over = sync::Route::server;
  experiment_.placement.servers = {"a"};
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("than the 30.0 s of work")));
  experiment_.sync.overlap = OverlapMode::backward;
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("than the 25.0 s of work")));
  experiment_.sync.algorithm = "asp";
  live(5.0);
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("than the 10.0 s of work"))) << "an update every second";
}

TEST_F(CommitWarnings, NameTheLineOfTheirKey) {
  live(5.0);
  const Locate locate = [](const std::string& path) {
    return Origin{"two.yaml:7", "variants.a." + path, path != "transience.notice"};
  };
  const auto located = [&] { return warnings_of_commits(Job(experiment_, platform_, "", {}, locate)); };
  EXPECT_THAT(located(), ElementsAre(::testing::StartsWith("two.yaml:7: machines live much shorter")));
  live(1000.0);
  experiment_.stop.rounds = 0;
  experiment_.stop.epochs = 0.1875;
  EXPECT_THAT(located(), ElementsAre(::testing::StartsWith(
                             "two.yaml:7: variants.a.checkpoint.options.interval: expected at most 9")));
}

/// One machine, 10 s of work: e^-2, which is no reason for a warning; and one life, whatever its name.
TEST_F(CommitWarnings, WorkersOfOneMachineLiveAndDepartTogether) {
  live(5.0);
  for (auto& host : platform_.hosts) host.properties["tandem:machine"] = "m";
  EXPECT_THAT(warnings(), IsEmpty());
  const Job job(experiment_, platform_, "");
  EXPECT_EQ(machines_that_stop(job).size(), 1U) << "for a checkpointing policy";
  const auto fates = fates_of(job);
  fates->arrive({0, 1}, 0.0);
  fates->arrive({1, 1}, 0.0);
  const auto first = fates->next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->occupant.slot, 0U);
  fates->depart(0, first->time);
  EXPECT_EQ(fates->next(), (lifetimes::Departure{first->time, {1, 1}, first->how}));
  platform_.hosts.back().properties["tandem:lifetime"] = "never";
  EXPECT_THROW(Job(experiment_, platform_, ""), ConfigError) << "one machine with two lifetimes";
}

TEST_F(CommitWarnings, OtherLifetimesHaveNoClosedForm) {
  experiment_.transience.lifetime = "weibull";
  experiment_.transience.options = {{"shape", 1.0}, {"scale", 5.0}};
  EXPECT_THAT(warnings(),
              ElementsAre(AllOf(HasSubstr("probability of 0.018;"), Not(HasSubstr("on average")))));
}

/// One failure in 24 h of a machine is assumed: 86,400 s.
TEST_F(CommitWarnings, LifetimesThatThePolicyDoesNotKnow) {
  live(14400.0);
  for (const char* policy : {"young", "daly", "optimal"}) {
    experiment_.checkpoint.policy = policy;
    experiment_.checkpoint.options = {};
    EXPECT_THAT(warnings(), ElementsAre(AllOf(HasSubstr(policy), HasSubstr("commits too seldom"),
                                              HasSubstr("checkpoint.options.mtbf_s: 14400"))));
    experiment_.checkpoint.options = {{"mtbf_s", 14400.0}};
    EXPECT_THAT(warnings(), IsEmpty());
    experiment_.checkpoint.options = {{"prior_hours", 4.0}};
    EXPECT_THAT(warnings(), IsEmpty());
    experiment_.checkpoint.options = {{"prior_hours", 0.5}};
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("commits too often")));
  }
  experiment_.checkpoint.policy = "hazard";
  experiment_.checkpoint.options = {};
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(CommitWarnings, ANoticeShorterThanACommit) {
  live(1000.0);
  experiment_.checkpoint.policy = "on-warning";
  experiment_.checkpoint.options = {};
  experiment_.transience.notice = Seconds(1.5);
  EXPECT_THAT(warnings(),
              ElementsAre(AllOf(HasSubstr("announced to depart 1.50 s before (transience.notice)"),
                                HasSubstr("a commit takes"))));
  experiment_.transience.notice = Seconds(5.0);
  EXPECT_THAT(warnings(), IsEmpty());
  experiment_.checkpoint.options = {{"cost_s", 6.0}};
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("a commit takes 6.00 s")));
}

TEST_F(CommitWarnings, NoCommitBeforeTheEndOfTheEpochs) {
  experiment_.stop.rounds = 0;
  experiment_.stop.epochs = 0.1875;  // 18 of 96 samples, two per round
  EXPECT_THAT(warnings(), ElementsAre(AllOf(HasSubstr("checkpoint.options.interval: expected at most 9"),
                                            HasSubstr("found '10'"))));
  experiment_.checkpoint.options = {{"interval", 9.0}};
  EXPECT_THAT(warnings(), IsEmpty());
}

/// GPUs that exchange as no DDP does.
TEST_F(CommitWarnings, ARingOfGpusIsNoDdp) {
  EXPECT_THAT(notes_of(Job(experiment_, platform_, "")), IsEmpty());
  for (auto& host : platform_.hosts) host.device.is_gpu = true;
  EXPECT_THAT(notes_of(Job(experiment_, platform_, "")),
              ElementsAre(AllOf(HasSubstr("DistributedDataParallel"), HasSubstr("sync.preset: ddp"),
                                HasSubstr("25 MiB"), HasSubstr("this job by Tandem's ring in 1 bucket ("),
                                HasSubstr("and workload.synthetic_buckets"))));
  experiment_.workload.synthetic_buckets = 0;
  EXPECT_THAT(notes_of(Job(experiment_, platform_, "")),
              ElementsAre(AllOf(HasSubstr("in buckets of 1MiB"), HasSubstr("and workload.bucket_bytes"))));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
