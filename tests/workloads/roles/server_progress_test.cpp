// Scripts of ServerProgress and RecordedCommits: what pushes and updates count.
#include "workloads/roles/server/server_progress.hpp"

#include <gtest/gtest.h>

#include "workloads/checkpoint/saved_state.hpp"
#include "workloads/roles/server/recorded_commits.hpp"

namespace tandem {
namespace TANDEM_FILE {
namespace {

StopRule after_rounds(int rounds) {
  Experiment::Stop limits;
  limits.rounds = rounds;
  return {limits, 100, false};
}

TEST(ServerProgress, ARoundIsOnePushOfEachWorker) {
  const StopRule stop = after_rounds(2);
  ServerProgress progress({.workers = 2, .is_alone = true}, stop);
  progress.count_push(0, {.samples = 4, .local_steps = 1});
  EXPECT_FALSE(progress.is_between_rounds());
  EXPECT_EQ(progress.round_of_update(true), 0);
  progress.count_push(1, {.samples = 6, .local_steps = 2});
  EXPECT_TRUE(progress.is_between_rounds());
  EXPECT_EQ(progress.rounds(), 1);
  // The update belongs to the round that its last push has ended.
  EXPECT_EQ(progress.round_of_update(true), 0);
  EXPECT_EQ(progress.round_of_update(false), 1);
  progress.count_update();
  EXPECT_EQ(progress.rounds(), 1);
  EXPECT_EQ(progress.version(), 1);
  EXPECT_EQ(progress.samples_by_worker(), (std::vector<std::int64_t>{4, 6}));
  EXPECT_DOUBLE_EQ(progress.fraction_done(Seconds(0)), 0.5);
}

TEST(ServerProgress, WhereUpdatesAreRoundsPushesCountNone) {
  const StopRule stop = after_rounds(2);
  ServerProgress progress({.workers = 2, .counts_updates = true}, stop);
  progress.count_push(0, {.samples = 4});
  progress.count_push(1, {.samples = 4});
  progress.count_push(0, {.samples = 4});
  EXPECT_EQ(progress.rounds(), 0);
  EXPECT_TRUE(progress.is_between_rounds());
  EXPECT_EQ(progress.round_of_update(true), 0);
  progress.count_update();
  EXPECT_EQ(progress.rounds(), 1);
}

TEST(ServerProgress, SeveralServersKnowTheLastRoundAlike) {
  Experiment::Stop limits;
  limits.rounds = 10;
  limits.seconds = Seconds(5);
  limits.epochs = 1;
  const StopRule stop(limits, 8, false);
  const Progress late = {.rounds = 1, .samples = 8, .now = Seconds(7)};
  const auto is_last = [&](bool is_alone, bool is_lockstep, const Progress& reached) {
    return ServerProgress({.workers = 1, .is_alone = is_alone, .is_lockstep = is_lockstep}, stop)
        .is_last_round(reached);
  };
  EXPECT_TRUE(is_last(true, false, late));
  EXPECT_FALSE(is_last(false, false, late));
  EXPECT_TRUE(is_last(false, true, late));
  EXPECT_FALSE(is_last(false, true, {.rounds = 1, .samples = 7, .now = Seconds(7)}));
  EXPECT_TRUE(is_last(false, false, {.rounds = 10, .samples = 0, .now = Seconds(0)}));
}

TEST(ServerProgress, ContinuesWhereAJobIsResumedWithAnotherPolicy) {
  const StopRule stop = after_rounds(10);
  ServerProgress first({.workers = 2}, stop);
  for (const int worker : {0, 1, 0}) first.count_push(worker, {.samples = 4, .local_steps = 1});
  first.count_update();
  first.grant(0, 16, 3);
  first.grant(0, 0, 0);
  SavedState state;
  first.serialise(state, Seconds(50));

  state.restore_known();
  ServerProgress next({.workers = 2}, stop);
  next.serialise(state, Seconds(0));
  EXPECT_EQ(next.rounds(), 1);
  EXPECT_EQ(next.samples(), 12);
  EXPECT_EQ(next.worker(0).batch, 16);
  EXPECT_EQ(next.worker(0).local_steps, 3);
  EXPECT_EQ(next.since_begin(Seconds(2)), Seconds(52));
  EXPECT_EQ(next.version_of_policy(3), 3);
  next.begin_policy();
  EXPECT_EQ(next.version_of_policy(3), 2);
  EXPECT_EQ(next.time_of_policy(Seconds(2)), Seconds(2));
  next.begin_worker(0);
  EXPECT_EQ(next.worker(0).batch, 0);
  EXPECT_EQ(next.worker(0).pushes, 2);
}

TEST(ServerProgress, KnowsWhetherTheLastUpdateWasMadeWhenTheJobEnded) {
  const StopRule stop = after_rounds(1);
  ServerProgress progress({.workers = 1}, stop);
  progress.stop_after_update(false);
  progress.stop_if(true);
  EXPECT_TRUE(progress.is_stopping());
  EXPECT_FALSE(progress.has_stopped());
  progress.stop_if(false);
  EXPECT_TRUE(progress.is_stopping());
  progress.stop_after_update(false);
  EXPECT_TRUE(progress.has_stopped());
}

std::int64_t of_all(const RecordedCommits& commits) {
  return commits.up_to([](int) { return true; });
}

TEST(RecordedCommits, AreThoseThatAllMembersKnow) {
  RecordedCommits commits(2, false);
  commits.on_push(0, 4);
  commits.on_push(1, 2);
  EXPECT_EQ(of_all(commits), 2);
  commits.on_push(1, 6);
  EXPECT_EQ(of_all(commits), 4);
  EXPECT_EQ(commits.up_to([](int worker) { return worker == 1; }), 6);
}

TEST(RecordedCommits, OfOneThatIsAnnouncedInAdvanceOnlyTheOneBeforeIsSure) {
  RecordedCommits commits(1, true);
  commits.on_push(0, 4);
  EXPECT_EQ(of_all(commits), 0);
  commits.on_push(0, 8);
  EXPECT_EQ(of_all(commits), 4);
  commits.on_push(0, 8);
  EXPECT_EQ(of_all(commits), 4);
}

TEST(RecordedCommits, OfANewcomerNothingCountsBeforeItHasPushed) {
  RecordedCommits commits(2, false);
  commits.on_push(0, 4);
  commits.on_push(1, 4);
  commits.begin(1);
  commits.on_push(0, 8);
  EXPECT_EQ(of_all(commits), 8);
  commits.on_push(1, 6);
  EXPECT_EQ(of_all(commits), 6);
}

}  // namespace
}  // namespace TANDEM_FILE
}  // namespace tandem
