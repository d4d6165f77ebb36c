// Records in files: parts put together are what was recorded, and a job that starts again keeps those of the
// part that stays.
#include "workloads/checkpoint/record_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/records/csv_columns.hpp"

namespace tandem {
namespace TANDEM_FILE {

/// Adds random records of worker 1, or of the server for counts.
void record_more(Journal& journal, Rng& rng) {
  for (auto count = rng.below(4); count > 0; --count)
    journal.steps.push_back({.rank = 1,
                             .step = static_cast<int>(journal.steps.size()),
                             .start = Seconds(rng.uniform()),
                             .samples = 8});
  for (auto count = rng.below(3); count > 0; --count)
    journal.decisions.push_back({1, "worker", "event " + std::to_string(rng.below(99)), ""});
  for (auto count = rng.below(5); count > 0; --count)
    journal.note_applied(static_cast<Rank>(rng.below(3)), static_cast<int>(rng.below(4)), 8);
  // They are in the order of their rounds.
  const std::int64_t last = journal.commits.empty() ? 0 : journal.commits.back().round;
  if (rng.below(2) == 0)
    journal.commits.push_back({.round = last + static_cast<std::int64_t>(rng.below(20))});
  if (rng.below(2) == 0)
    journal.losses.push_back({.rank = 1, .id = static_cast<std::int64_t>(rng.below(99))});
  for (const char* from : {"tier0", "store"})
    cache_record(journal.caches, 2, 0, from).samples += static_cast<std::int64_t>(1 + rng.below(9));
  journal.skipped_steps += static_cast<std::int64_t>(rng.below(2));
  journal.failed_commits += static_cast<std::int64_t>(rng.below(2));
  journal.dropped_samples += static_cast<std::int64_t>(rng.below(9));
  journal.split_samples += static_cast<std::int64_t>(rng.below(9));
}

/// Every list of a journal as text.
std::vector<std::string> lists_of(const Journal& journal) {
  std::vector<std::string> texts;
  visit_lists(journal, [&](const char*, bool, const auto& records) { texts.push_back(to_csv(records)); });
  return texts;
}

void expect_same(const Journal& expected, const Journal& found) {
  EXPECT_EQ(lists_of(expected), lists_of(found));
  EXPECT_EQ(expected.skipped_steps, found.skipped_steps);
  EXPECT_EQ(expected.failed_commits, found.failed_commits);
  EXPECT_EQ(expected.dropped_samples, found.dropped_samples);
  EXPECT_EQ(expected.split_samples, found.split_samples);
}

TEST(PartsOfAJournal, TogetherAreTheJournal) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Journal journal, sum;
    JournalParts parts(journal);
    for (int part = 0; part < 6; ++part) {
      record_more(journal, rng);
      sum.append(parts.take());
    }
    add_counts(sum);
    expect_same(journal, sum);
  }
}

class Recording : public ::testing::Test {
 protected:
  /// Two workers and a server.
  Job job(const std::string& algorithm, int generation, double began_s = 0.0) const {
    Experiment experiment;
    experiment.workload.model = "mlp";
    experiment.workload.dataset = "synthetic";
    experiment.workload.train_samples = 40;
    experiment.workload.test_samples = 10;
    experiment.sync.algorithm = algorithm;
    experiment.placement.workers = {"here", "here"};
    experiment.placement.servers = {"here"};
    experiment.evaluate_every = 10;
    experiment.stop.rounds = 100;
    platforms::Host host;
    host.name = "here";
    platforms::Description platform;
    platform.file = "record_files_test";
    platform.hosts = {host};
    Job job(experiment, platform, folder_.path().string());
    Generation now;
    now.ended.resize(static_cast<std::size_t>(generation));
    now.began = Seconds(began_s);
    job.set_generation(now);
    return job;
  }
  std::vector<std::int64_t> steps_of(const Job& job, Rank rank) const {
    std::vector<std::int64_t> steps;
    for (const auto& mark : record_marks(folder_.path().string(), job.roster().assignment(rank)))
      steps.push_back(mark.steps);
    return steps;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() / "checkpoints"))
      names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  std::string directory() const { return folder_.path().string(); }

  testing::TemporaryFolder folder_;
};

/// Where a disk is full, for example: here something else has the folder's name.
TEST_F(Recording, WhatCannotBeWrittenIsWrittenLater) {
  for (const std::string algorithm : {"bsp", "asp"}) {
    const Job own = job(algorithm, 0);
    Journal journal;
    RecordFiles records(own, 0, journal);
    const auto folder = folder_.path() / "checkpoints", aside = folder_.path() / "aside";
    std::filesystem::rename(folder, aside);
    std::ofstream(folder) << "no folder";
    journal.steps.push_back({.rank = 0});
    EXPECT_FALSE(records.try_save({.round = 10, .steps = 1}));
    EXPECT_THROW(records.save({.round = 20, .steps = 2}), WorldError);
    records.note({.round = 30, .steps = 3}, Seconds(1));
    std::filesystem::remove(folder);
    std::filesystem::rename(aside, folder);
    EXPECT_TRUE(records.try_save({.round = 40, .steps = 4}));
    const std::vector<std::int64_t> marks = steps_of(own, 0);
    EXPECT_EQ(marks, algorithm == "bsp" ? (std::vector<std::int64_t>{1, 2, 4})
                                        : (std::vector<std::int64_t>{1, 2, 3, 4}));
    EXPECT_EQ(records_before(directory(), own.roster().assignment(0), 1).steps.size(), 1U);
    std::filesystem::remove_all(folder);
  }
}

TEST_F(Recording, OfAllGenerationsIsCutAndReadAgain) {
  const auto record = [&](int generation, double began_s, int first, int last) {
    const Job own = job("bsp", generation, began_s);
    Journal journal;
    RecordFiles files(own, 1, journal);
    for (int step = first; step < last; ++step) {
      journal.steps.push_back({.rank = 1, .step = step, .start = Seconds(step - first)});
      if ((step + 1) % 10 == 0) files.save({.round = step + 1, .steps = step + 1});
    }
  };
  record(0, 0.0, 0, 35);
  const Job any = job("bsp", 2);
  const RankAssignment& worker = any.roster().assignment(1);
  EXPECT_EQ(steps_of(any, 1), (std::vector<std::int64_t>{10, 20, 30}));
  EXPECT_TRUE(steps_of(any, 0).empty()) << "those of another rank";
  keep_records(directory(), worker, [](const RecordMark& mark) { return mark.steps <= 20; });
  EXPECT_EQ(files(), (std::vector<std::string>{"round_00000010.worker_1.0-0.records"}));
  record(1, 100.0, 20, 40);
  const Journal all = records_before(directory(), worker, 2);
  ASSERT_EQ(all.steps.size(), 40U);
  for (std::size_t i = 0; i < all.steps.size(); ++i) {
    const auto step = static_cast<double>(i);
    EXPECT_EQ(all.steps[i].step, static_cast<int>(i));
    EXPECT_EQ(all.steps[i].start, Seconds(i < 20 ? step : 100.0 + step - 20.0));
  }
  EXPECT_EQ(records_before(directory(), worker, 1).steps.size(), 20U);
  remove_record_files(directory());
  EXPECT_TRUE(files().empty());
}

/// Exchanges that servers know of, between two states.
TEST_F(Recording, OfAsynchronousWorkersIsKeptBetweenStates) {
  const Job own = job("asp", 0);
  Journal journal;
  RecordFiles records(own, 1, journal);
  for (int step = 1; step <= 14; ++step) {
    journal.steps.push_back({.rank = 1, .step = step - 1});
    records.note({.round = step, .steps = step}, Seconds(0.1 * step));
  }
  const std::vector<std::int64_t> steps = steps_of(own, 1);
  EXPECT_GE(steps.size(), 12U) << "the last file is a quarter of a second old";
  for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i], static_cast<std::int64_t>(i) + 1);
  EXPECT_EQ(files(),
            (std::vector<std::string>{"round_00000010.worker_1.0-0.records", "worker_1.0-1.records"}));
  keep_records(directory(), own.roster().assignment(1),
               [](const RecordMark& mark) { return mark.steps <= 7; });
  EXPECT_EQ(steps_of(own, 1).back(), 7);
  EXPECT_EQ(records_before(directory(), own.roster().assignment(1), 1).steps.size(), 7U);
}

TEST_F(Recording, NeedsAGeneration) {
  Job own = job("bsp", 0);
  Job other(own.spec().experiment, own.spec().platform, directory());
  Journal journal;
  RecordFiles records(other, 1, journal);
  records.save({.round = 10, .steps = 10});
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "checkpoints"));
}

TEST_F(Recording, IncompleteOrOtherFilesAreRefused) {
  const Job own = job("bsp", 0);
  Journal journal;
  journal.steps.resize(5);
  RecordFiles(own, 1, journal).save({.round = 10, .steps = 10});
  const std::string path = directory() + "/checkpoints/" + files().front();
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_THROW(record_marks(directory(), own.roster().assignment(1)), ConfigError);
  std::ofstream(path, std::ios::trunc) << "something else\n";
  EXPECT_THROW(record_marks(directory(), own.roster().assignment(1)), ConfigError);
}

/// As servers do that share a model.
TEST(AnnouncedCheckpoint, IsWrittenBySeveralRanksAtTheSameTime) {
  const testing::TemporaryFolder folder;
  const std::string directory = folder.path().string();
  std::filesystem::create_directories(directory + "/checkpoints");
  constexpr int times = 300;
  const auto announce = [&] {
    for (int time = 0; time < times; ++time) write_announced(directory, {.round = 50, .samples = 1600});
  };
  auto other = std::async(std::launch::async, announce);
  EXPECT_NO_THROW(announce());
  EXPECT_NO_THROW(other.get());
  std::filesystem::create_directories(directory + "/checkpoints/round_00000050.pt");
  const auto found = announced_in(directory);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().samples, 1600);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
