// Commits of workers that depart and join while they exchange without servers, in closed form: negligible
// network, steps of a second, and a second for each vector of the model's size that is written.
#include "tests/sim/member_commits.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "workloads/checkpoint/commit_members.hpp"
#include "workloads/checkpoint/state_files.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

TEST_F(MemberCommits, OfAllWhileNobodyDeparts) {
  Experiment experiment = large();
  depart_at(experiment, "1000 remove a");
  const Journal journal = train(experiment);
  EXPECT_EQ(rounds_of(journal), (Rounds{4, 8, 12}));
  EXPECT_EQ(sizes_of(journal), (Sizes{9, 9, 9}));
  for (const auto& commit : journal.commits) EXPECT_NEAR(commit.blocked.count(), 3.0, 1e-3);
  expect_makespan(13 + 3 * 3);
}

/// Round 5 ends after 8 s, round 8 after 11 s, and the second commit after 14 s.
TEST_F(MemberCommits, OfThoseThatAreLeft) {
  Experiment experiment = large();
  depart_at(experiment, "9.5 remove c");
  const Journal journal = train(experiment);
  EXPECT_EQ(rounds_of(journal), (Rounds{4, 8, 12}));
  EXPECT_EQ(sizes_of(journal), (Sizes{9, 7, 7}));
  EXPECT_EQ(journal.failed_commits, 0);
  expect_makespan(13 + 3 * 3);
}

/// The next worker decides about the commits after it, and writes the model.
TEST_F(MemberCommits, OfThoseThatAreLeftByTheFirst) {
  Experiment experiment = large();
  depart_at(experiment, "9.5 remove a");
  const Journal journal = train(experiment);
  EXPECT_EQ(rounds_of(journal), (Rounds{4, 8, 12}));
  EXPECT_EQ(sizes_of(journal), (Sizes{9, 7, 7}));
  for (const auto& commit : journal.commits) EXPECT_NEAR(commit.blocked.count(), 3.0, 1e-3);
  expect_makespan(13 + 3 * 3);
}

/// Each worker writes from 4 s to 6 s, the first one to 7 s.
TEST_F(MemberCommits, DoNotCountIfOneDepartsWhileItWrites) {
  for (const char* who : {"5 remove c", "5 remove a", "4.5 remove c; 5.5 remove d", "6.5 remove a"}) {
    SCOPED_TRACE(who);
    Experiment experiment = large();
    depart_at(experiment, who);
    const auto ends = commits_apart(experiment, who);
    ASSERT_EQ(ends.size(), 2U);
    EXPECT_EQ(ends.begin()->first, 8);
    EXPECT_EQ(ends.rbegin()->first, 12);
  }
  Experiment experiment = large();
  depart_at(experiment, "5 remove c");
  const Journal journal = train(experiment);
  EXPECT_EQ(journal.failed_commits, 1);
  EXPECT_EQ(sizes_of(journal), (Sizes{7, 7}));
  expect_makespan(13 + 3 * 3);
}

/// All had written it: it counts.
TEST_F(MemberCommits, CountIfOneDepartsAfterAllHaveWritten) {
  Experiment experiment = large();
  depart_at(experiment, "7.5 remove c");
  const Journal journal = train(experiment);
  EXPECT_EQ(rounds_of(journal), (Rounds{4, 8, 12}));
  EXPECT_EQ(sizes_of(journal), (Sizes{9, 7, 7}));
  EXPECT_EQ(journal.failed_commits, 0);
}

/// A departure before the round of a commit has ended: the others do the round again, and commit after it.
TEST_F(MemberCommits, FollowARoundThatIsDoneAgain) {
  Experiment experiment = large();
  depart_at(experiment, "3.5 remove a");
  const Journal journal = train(experiment);
  EXPECT_EQ(rounds_of(journal), (Rounds{4, 8, 12}));
  EXPECT_EQ(sizes_of(journal), (Sizes{7, 7, 7}));
  EXPECT_EQ(journal.failed_commits, 0);
}

/// The newcomer in the first slot has the first worker's duties.
TEST_F(MemberCommits, IncludeNewcomers) {
  Experiment experiment = large();
  experiment.recovery.policy = "replace";
  depart_at(experiment, "1.5 remove a; 8.5 add a; 10 remove b");
  const Journal journal = train(experiment);
  EXPECT_EQ(rounds_of(journal), (Rounds{4, 8, 12}));
  EXPECT_EQ(sizes_of(journal), (Sizes{7, 7, 7}));
  EXPECT_EQ(std::ranges::count(journal.membership, "joined", &MembershipRecord::event), 5);
}

/// Training continues while they are written, and the departure of one that writes is noticed at once.
TEST_F(MemberCommits, InTheBackground) {
  Experiment experiment = large();
  experiment.checkpoint.mode = CommitMode::background;
  const auto undisturbed = commits_apart(experiment, "undisturbed");
  EXPECT_EQ(undisturbed.size(), 3U);
  for (const char* events : {"5.5 remove c", "5.5 remove a"}) {
    SCOPED_TRACE(events);
    depart_at(experiment, events);
    const auto ends = commits_apart(experiment, events);
    ASSERT_EQ(ends.size(), 2U);
    EXPECT_EQ(ends.begin()->first, 8);
  }
  // The next one is due when this one is still being written by the one that departs.
  commit_every(experiment, 1);
  experiment.stop.rounds = 8;
  depart_at(experiment, "2.5 remove c");
  const Journal journal = train(experiment);
  EXPECT_GE(journal.failed_commits, 1);
  ASSERT_FALSE(journal.commits.empty());
  EXPECT_EQ(journal.commits.back().round, 8);
  EXPECT_EQ(sizes_of(journal).back(), 7.0);
}

/// The last commit of the job is given up when one departs during it.
TEST_F(MemberCommits, AtTheEndOfTheJob) {
  Experiment experiment = large();
  experiment.stop.rounds = 4;
  EXPECT_EQ(commits_apart(experiment, "undisturbed").size(), 1U);
  for (const char* events : {"5 remove c", "5 remove a"}) {
    SCOPED_TRACE(events);
    depart_at(experiment, events);
    EXPECT_TRUE(commits_apart(experiment, events).empty());
  }
}

// ---- Files ----

TEST_F(MemberCommits, LeaveTheFilesOfTheLastOnes) {
  Experiment experiment = job();
  commit_every(experiment, 2);
  experiment.checkpoint.keep = 2;
  experiment.stop.rounds = 13;
  experiment.evaluate_every = 3;
  experiment.placement.evaluator = "host-0";
  depart_at(experiment, "2.5 remove a; 4.5 remove d");
  const Journal journal = train(experiment);
  EXPECT_EQ(rounds_of(journal), (Rounds{2, 4, 6, 8, 10, 12}));
  const std::set<std::int64_t> last = {10, 12};
  EXPECT_EQ(files(".members"), last);
  EXPECT_EQ(files(".worker_1.state"), last);
  EXPECT_EQ(files(".worker_2.state"), last);
  EXPECT_EQ(files(".pt"), (std::set<std::int64_t>{3, 6, 9, 10, 12}));
  // Those of the absent are removed with the commits.
  EXPECT_EQ(files(".worker_0.state"), std::set<std::int64_t>{});
  EXPECT_EQ(files(".worker_3.state"), std::set<std::int64_t>{});
  const ResumePoint point = find_resume_point(*job_, directory_.string(), {});
  EXPECT_EQ(point.round, 12);
  EXPECT_EQ(point.members, (std::vector<int>{1, 2}));
  EXPECT_EQ(progress_at(*job_, point).samples, 24 * (4 * 2 + 3 * 2 + 2 * 8));
}

TEST_F(MemberCommits, WithoutTheListOfWorkersAreNone) {
  Experiment experiment = job();
  commit_every(experiment, 2);
  experiment.checkpoint.keep = 0;
  experiment.stop.rounds = 7;
  depart_at(experiment, "2.5 remove a");
  train(experiment);
  std::filesystem::remove(members_path(directory_.string(), 6));
  const ResumePoint point = find_resume_point(*job_, directory_.string(), {});
  EXPECT_EQ(point.round, 4);
  ASSERT_EQ(point.passed_over.size(), 1U);
  EXPECT_NE(point.passed_over.front().find("the checkpoint of round 6 cannot be used"), std::string::npos);
  std::filesystem::remove(state_path(directory_.string(), 4, job_->roster().assignment(2)));
  EXPECT_EQ(find_resume_point(*job_, directory_.string(), {}).round, 2);
}

/// Workers that do not see the parts of others learn which commits are complete from the first one.
TEST_F(MemberCommits, OutOfSightLeaveTheLastCompleteOne) {
  Experiment experiment = job();
  commit_every(experiment, 2);
  experiment.stop.rounds = 9;
  experiment.checkpoint.keep = 1;
  files_apart_ = true;
  depart_at(experiment, "4.5 remove a");
  const Journal journal = train(experiment);
  EXPECT_EQ(rounds_of(journal), (Rounds{2, 4, 6, 8}));
  for (const char* ending : {".worker_1.state", ".worker_2.state", ".worker_3.state", ".members"})
    EXPECT_TRUE(files(ending).contains(8)) << ending;
  EXPECT_FALSE(files(".worker_1.state").contains(4));
  EXPECT_EQ(find_resume_point(*job_, directory_.string(), {}).round, 8);
}

// ---- Resumed jobs ----

class ResumedMembers : public MemberCommits, public ::testing::WithParamInterface<std::string> {};

/// A worker whose slot was empty begins as a newcomer does: the job ends as one in which a newcomer comes
/// right after the commit. Each has all samples: otherwise the others would have begun their next step with
/// samples of the deal before it came.
TEST_P(ResumedMembers, ContinueAsWithNewcomers) {
  for (const char* who : {"c", "a"}) {
    SCOPED_TRACE(who);
    Experiment experiment = small_steps(job(GetParam()));
    experiment.data.split = "replicated";
    commit_every(experiment, 2);
    experiment.stop.rounds = 3;
    depart_at(experiment, std::string("0.5 remove ") + who);
    const std::string first = std::string("first-") + who;
    const auto ends = commits_apart(experiment, first);
    ASSERT_TRUE(ends.contains(2));
    Experiment whole = experiment;
    whole.stop.rounds = 7;
    whole.recovery.policy = "replace";
    depart_at(whole,
              std::string("0.5 remove ") + who + "; " + std::to_string(ends.at(2) + 0.3) + " add " + who);
    const std::string all = std::string("whole-") + who;
    train_apart(whole, all);
    Experiment resumed = whole;
    depart_at(resumed, "1000000 remove a");
    resumes_ = directory_ / first;
    const std::string rest = std::string("resumed-") + who;
    train_apart(resumed, rest);
    resumes_.clear();
    const std::string expected = contents(all + "/model.pt");
    EXPECT_GT(expected.size(), 1000U);
    EXPECT_TRUE(contents(rest + "/model.pt") == expected);
  }
}

std::string name_of_algorithm(const ::testing::TestParamInfo<std::string>& test) { return named(test.param); }
INSTANTIATE_TEST_SUITE_P(Bsp, ResumedMembers, ::testing::Values("bsp"), name_of_algorithm);
/// One of each kind of state: models of workers, an outer optimiser, a centre, a model of each.
INSTANTIATE_TEST_SUITE_P(LongAlgorithms, ResumedMembers,
                         ::testing::Values("local-sgd", "slowmo", "easgd", "d-psgd"), name_of_algorithm);

/// What the three that were left had not used is dealt to the four of the resumed job.
TEST_F(MemberCommits, OfThoseThatAreLeftContinueTheEpoch) {
  Experiment experiment = job("bsp");
  experiment.workload.batch = 1;
  experiment.optimizer.learning_rate = 0.002;
  commit_every(experiment, 6);
  experiment.stop.rounds = 7;
  depart_at(experiment, "0.5 remove c");
  ASSERT_TRUE(commits_apart(experiment, "first").contains(6));
  experiment.stop.rounds = 6 + (96 - 6 * 3) / 4;
  depart_at(experiment, "1000000 remove a");
  resumes_ = directory_ / "first";
  records_losses_ = true;
  std::set<std::int64_t> ids;
  const Journal journal = train(experiment);
  for (const auto& loss : journal.losses) ids.insert(loss.id);
  EXPECT_EQ(journal.losses.size(), 76U);
  EXPECT_EQ(ids.size(), 76U);
}

/// The state of the last round of the job before does not end the next one, also not for a newcomer that gets
/// it.
TEST_P(ResumedMembers, ContinueAfterTheEndOfTheJobBefore) {
  Experiment experiment = small_steps(job(GetParam()));
  experiment.recovery.policy = "replace";
  experiment.transience.start = Seconds(0);
  commit_every(experiment, 3);
  experiment.stop.rounds = 3;
  depart_at(experiment, "1000000 remove a");
  ASSERT_TRUE(commits_apart(experiment, "first").contains(3));
  experiment.stop.rounds = 7;
  depart_at(experiment, "0.5 remove a; 0.6 add a");
  resumes_ = directory_ / "first";
  EXPECT_GE(train_apart(experiment, "resumed").count(), 4.0);
  resumes_.clear();
}

/// Workers measure their steps anew, as the coordinator expects. Otherwise they would take the longest
/// rounds.
TEST_F(MemberCommits, OfACoordinatorAreResumed) {
  for (const char* algorithm : {"esync", "esync-published"}) {
    SCOPED_TRACE(algorithm);
    Experiment experiment = small_steps(job(algorithm));
    commit_every(experiment, 2);
    experiment.stop.rounds = 3;
    depart_at(experiment, "0.5 remove c");
    const std::string first = std::string("first-") + algorithm;
    ASSERT_TRUE(commits_apart(experiment, first).contains(2));
    experiment.stop.rounds = 7;
    depart_at(experiment, "1000000 remove a");
    resumes_ = directory_ / first;
    EXPECT_LT(train_apart(experiment, std::string("resumed-") + algorithm).count(), 5 * 12);
    resumes_.clear();
  }
}

/// A newcomer that is the first worker removes the files of commits that it has no part in.
TEST_F(MemberCommits, OfEarlierWorkersAreRemovedByNewcomers) {
  Experiment experiment = job();
  commit_every(experiment, 2);
  experiment.checkpoint.keep = 2;
  experiment.stop.rounds = 13;
  experiment.recovery.policy = "replace";
  depart_at(experiment, "0.5 remove a; 4.5 add a; 4.6 remove d");
  train(experiment);
  const std::set<std::int64_t> last = {10, 12};
  for (const char* ending : {".members", ".pt", ".worker_0.state", ".worker_1.state", ".worker_2.state"})
    EXPECT_EQ(files(ending), last) << ending;
  EXPECT_EQ(files(".worker_3.state"), std::set<std::int64_t>{});
}

// ---- Random departures ----

/// With every second seed, messages take a large part of a step.
class RandomMemberCommits : public MemberCommits,
                            public ::testing::WithParamInterface<std::tuple<std::string, std::uint64_t>> {};

TEST_P(RandomMemberCommits, AreWholeAndAsRecorded) {
  const auto [algorithm, seed] = GetParam();
  platform_ = TemporaryPlatform::star(5, seed % 2 == 0 ? 3e6 : 1e12, seed % 2 == 0 ? 0.01 : 1e-7);
  // Writing takes half a step.
  for (std::size_t at; (at = platform_.find("50MBps")) != std::string::npos;)
    platform_.replace(at, std::string("50MBps").size(), "0.5MBps");
  Experiment experiment = random_departures(algorithm, seed);
  experiment.stop.rounds = 15;
  commit_every(experiment, 2);
  const Journal journal = train(experiment);
  EXPECT_EQ(journal.counted_rounds, 15);
  for (const auto& commit : journal.commits) {
    EXPECT_EQ(commit.round % 2, 0);
    EXPECT_TRUE(std::filesystem::exists(checkpoint_path(directory_.string(), commit.round)));
  }
  expect_whole_commits(journal);
}

const std::vector<Seeded> some = {{"bsp", 3}, {"d-psgd", 2}, {"esync", 4}, {"group-average", 6}};
INSTANTIATE_TEST_SUITE_P(Algorithms, RandomMemberCommits, ::testing::ValuesIn(some), name_of_seeded);
INSTANTIATE_TEST_SUITE_P(LongAlgorithms, RandomMemberCommits, ::testing::ValuesIn(all_seeded_but(some)),
                         name_of_seeded);

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
