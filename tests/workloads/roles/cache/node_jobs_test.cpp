// What the policy of a cache node learns of the jobs that share it.
#include "workloads/roles/cache/node_jobs.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policies/cache/text.hpp"
#include "tests/support/cached_job.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem {
namespace TANDEM_FILE {

using Texts = std::vector<std::string>;

class JobsOfANode : public ::testing::Test {
 protected:
  /// Two jobs of one worker each; the policy weighs them, with a measured benefit.
  static Experiment reading() {
    Experiment experiment = testing::cached_experiment("synthetic", 40, 6);
    experiment.placement.workers = {"a"};
    experiment.placement.cache_nodes = {"b"};
    experiment.data.shared = true;
    experiment.data.sampling = "importance";
    experiment.data.cache = "icache";
    experiment.data.cache_options["probe"] = std::int64_t{2};
    experiment.data.cache_capacity = Bytes(4 * 785);
    return experiment;
  }
  Job make_job() const {
    return {reading(), testing::hosts_with_disks("node_jobs_test", {"a", "b"}), folder_.path().string()};
  }
  static Texts texts(const NodeJobs::Changes& changes) {
    Texts all;
    for (const auto& [job, change, epoch] : changes) all.push_back(cache::to_text(change));
    return all;
  }
  /// One batch of a job's worker, which takes as long. Returns the events of the policy.
  Texts batch(NodeJob& job, double duration) {
    Texts events = texts(jobs_.begin_batch(job, 1));
    now_ += duration;
    NodeBatch sent;
    sent.client = job.first_client;
    sent.job = &job;
    sent.epoch = 1;
    sent.probe = job.probe->tag();
    for (const std::string& text : texts(jobs_.note_sent(sent, Seconds(now_)))) events.push_back(text);
    return events;
  }

  testing::TemporaryFolder folder_;
  Job first_ = make_job(), second_ = make_job();
  std::vector<Journal> journals_ = std::vector<Journal>(2);
  std::vector<ServedJob> served_ = {{.job = &first_, .journal = &journals_[0]},
                                    {.job = &second_, .journal = &journals_[1], .first = 2}};
  NodeJobs jobs_{served_, 0, {.begins = true, .ends = true}};
  NodeJob& own_ = jobs_.all()[0];
  NodeJob& other_ = jobs_.all()[1];
  double now_ = 0;
};

TEST_F(JobsOfANode, ThePolicyLearnsOnceThatAJobBegins) {
  EXPECT_FALSE(jobs_.is_alone());
  EXPECT_EQ(texts(jobs_.begin(own_)), (Texts{"job state=starts", "job state=probed benefit=1"}));
  EXPECT_EQ(texts(jobs_.begin(own_)), Texts());
  EXPECT_EQ(texts(jobs_.begin(other_)),
            (Texts{"job job=1 state=starts", "job job=1 state=probed benefit=1"}));
  EXPECT_EQ(texts(jobs_.end(other_)), Texts{"job job=1 state=ends"});
  NodeJobs silent(served_, 0, {});
  EXPECT_EQ(texts(silent.begin(silent.own())), Texts());
}

/// With the cache a step takes 1 s, and without it 4 s.
TEST_F(JobsOfANode, ItsBenefitIsMeasuredFromTheSecondEpoch) {
  jobs_.begin(own_);
  jobs_.begin_epoch(own_);
  EXPECT_EQ(batch(own_, 1), Texts()) << "the cache fills";
  jobs_.begin_epoch(own_);
  Texts events;
  const auto add = [&](const Texts& more) { events.insert(events.end(), more.begin(), more.end()); };
  while (events.empty()) add(batch(own_, 1));
  EXPECT_EQ(events, Texts{"job state=bypasses"});
  while (events.size() == 1) add(batch(own_, 4));
  EXPECT_EQ(events.back(), "job state=probed benefit=0.75");
  while (events.size() == 2) add(batch(own_, 1));
  EXPECT_EQ(events.back(), "job state=returns");
}

TEST_F(JobsOfANode, ItIsMeasuredAgainWhenOtherJobsBeginOrEnd) {
  jobs_.begin(own_);
  jobs_.begin_epoch(own_);
  jobs_.begin_epoch(own_);
  while (batch(own_, 1).empty()) {
  }
  const Texts events = texts(jobs_.begin(other_));
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back(), "job state=returns") << "the probe under way is of no use any more";
  EXPECT_EQ(batch(own_, 1), Texts());
}

}  // namespace TANDEM_FILE
}  // namespace tandem
