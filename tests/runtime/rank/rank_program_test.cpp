// The parts of tandem-rank that need neither MPI nor a job: serialised journals, the command line, and the
// choice between direct and staged GPU messages.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/cuda_aware.hpp"
#include "runtime/rank/rank_options.hpp"
#include "workloads/records/journal_bytes.hpp"

namespace tandem {
namespace TANDEM_FILE {

/// Every field of every record differs from its default.
Journal random_journal(unsigned seed) {
  std::mt19937 random(seed);
  const auto number = [&random] { return static_cast<int>(random() % 100000U) + 1; };
  const auto text = [&random, &number] {
    return std::string(random() % 40U, 'x') + '\0' + std::to_string(number());
  };
  const auto time = [&number] { return Seconds(number() / 7.0); };
  Journal journal;
  journal.keep_decisions = true;
  journal.missed_deadlines = number();
  journal.dropped_samples = number();
  journal.skipped_steps = number();
  journal.split_samples = number();
  journal.cpu_wait = time();
  journal.other_load = 0.25;
  for (auto i = random() % 20U; i > 0; --i) {
    StepRecord step{
        .rank = number(), .step = number(), .round = number(), .version = number(), .start = time()};
    for (auto& phase : step.phases) phase = time();
    step.samples = number();
    step.loss = number() / 3.0;
    step.bytes_sent = number() * 5'000'000'000LL;
    step.bytes_received = number();
    journal.steps.push_back(step);
    journal.evaluations.push_back({number(), number(), time(), time(), number() / 9.0, number() / 9.0});
    journal.commits.push_back({number(), time(), time(), time(), number()});
    journal.decisions.push_back({number(), text(), text(), text()});
    journal.caches.push_back({number(), number(), text(), number(), number(), time(), time()});
    journal.staleness.push_back({number(), number(), number(), number()});
    journal.operations.push_back(
        {number(), text(), number(), text(), text(), number(), number(), number(), time(), time()});
    journal.gpus.push_back({number(), time(), number(), number(), 0.5, number(), number(), text()});
  }
  return journal;
}

void expect_equal(const Journal& expected, const Journal& found) {
  EXPECT_EQ(expected.keep_decisions, found.keep_decisions);
  EXPECT_EQ(expected.missed_deadlines, found.missed_deadlines);
  EXPECT_EQ(expected.dropped_samples, found.dropped_samples);
  EXPECT_EQ(expected.skipped_steps, found.skipped_steps);
  EXPECT_EQ(expected.split_samples, found.split_samples);
  EXPECT_EQ(expected.cpu_wait, found.cpu_wait);
  EXPECT_EQ(expected.other_load, found.other_load);
  ASSERT_EQ(expected.steps.size(), found.steps.size());
  ASSERT_EQ(expected.evaluations.size(), found.evaluations.size());
  ASSERT_EQ(expected.commits.size(), found.commits.size());
  ASSERT_EQ(expected.decisions.size(), found.decisions.size());
  ASSERT_EQ(expected.caches.size(), found.caches.size());
  ASSERT_EQ(expected.staleness.size(), found.staleness.size());
  ASSERT_EQ(expected.operations.size(), found.operations.size());
  for (std::size_t i = 0; i < expected.steps.size(); ++i) {
    const auto tie = [](const StepRecord& r) {
      return std::tuple(r.rank, r.step, r.round, r.version, r.start, r.phases, r.samples, r.loss,
                        r.bytes_sent, r.bytes_received);
    };
    EXPECT_TRUE(tie(expected.steps[i]) == tie(found.steps[i]));
  }
  for (std::size_t i = 0; i < expected.evaluations.size(); ++i) {
    const auto tie = [](const EvaluationRecord& r) {
      return std::tuple(r.round, r.samples, r.checkpoint_time, r.time, r.accuracy, r.loss);
    };
    EXPECT_TRUE(tie(expected.evaluations[i]) == tie(found.evaluations[i]));
  }
  for (std::size_t i = 0; i < expected.commits.size(); ++i) {
    const auto tie = [](const CommitRecord& r) {
      return std::tuple(r.round, r.started, r.ended, r.blocked, r.bytes, r.by_servers);
    };
    EXPECT_TRUE(tie(expected.commits[i]) == tie(found.commits[i]));
  }
  for (std::size_t i = 0; i < expected.decisions.size(); ++i) {
    const auto tie = [](const DecisionRecord& r) { return std::tuple(r.rank, r.side, r.event, r.decisions); };
    EXPECT_TRUE(tie(expected.decisions[i]) == tie(found.decisions[i]));
  }
  for (std::size_t i = 0; i < expected.caches.size(); ++i) {
    const auto tie = [](const CacheRecord& r) {
      return std::tuple(r.rank, r.epoch, r.from, r.samples, r.bytes, r.blocked, r.reading);
    };
    EXPECT_TRUE(tie(expected.caches[i]) == tie(found.caches[i]));
  }
  for (std::size_t i = 0; i < expected.staleness.size(); ++i) {
    const auto tie = [](const StalenessRecord& r) {
      return std::tuple(r.rank, r.staleness, r.pushes, r.samples);
    };
    EXPECT_TRUE(tie(expected.staleness[i]) == tie(found.staleness[i]));
  }
  for (std::size_t i = 0; i < expected.operations.size(); ++i) {
    const auto tie = [](const OperationRecord& r) {
      return std::tuple(r.rank, r.kind, r.peer, r.channel, r.work, r.bucket, r.bytes, r.samples, r.start,
                        r.end);
    };
    EXPECT_TRUE(tie(expected.operations[i]) == tie(found.operations[i]));
  }
  ASSERT_EQ(expected.gpus.size(), found.gpus.size());
  for (std::size_t i = 0; i < expected.gpus.size(); ++i) {
    const auto tie = [](const GpuRecord& r) {
      return std::tuple(r.rank, r.time, r.clock_mhz, r.memory_clock_mhz, r.power_w, r.temperature_c,
                        r.memory_bytes, r.limits);
    };
    EXPECT_TRUE(tie(expected.gpus[i]) == tie(found.gpus[i]));
  }
}

TEST(JournalWire, RoundTripsEveryField) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const Journal journal = random_journal(seed);
    expect_equal(journal, journal_from_bytes(to_bytes(journal)));
  }
}

TEST(JournalWire, NanStaysNan) {
  Journal journal;
  journal.steps.push_back({.loss = std::nan("")});
  EXPECT_TRUE(std::isnan(journal_from_bytes(to_bytes(journal)).steps.front().loss));
}

TEST(JournalWire, RefusesTruncatedAndTooLongData) {
  auto bytes = to_bytes(random_journal(3));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(journal_from_bytes(std::span(bytes).first(size)), WorldError) << size;
  bytes.push_back(std::byte{0});
  EXPECT_THROW(journal_from_bytes(bytes), WorldError);
}

RankOptions parse(std::vector<std::string> words) {
  words.insert(words.begin(), "tandem-rank");
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return parse_rank_options(static_cast<int>(words.size()), pointers.data());
}

TEST(RankOptions, AreParsed) {
  const auto options = parse({"d/job.json", "--out", "d", "--repetition", "3", "--command",
                              "tandem run --x y", "--trace", "--operations"});
  EXPECT_EQ(options.document, "d/job.json");
  EXPECT_EQ(options.out, "d");
  EXPECT_EQ(options.repetition, 3);
  EXPECT_EQ(options.command, "tandem run --x y");
  EXPECT_TRUE(options.trace);
  EXPECT_TRUE(options.operations);
  EXPECT_FALSE(options.decisions);
  EXPECT_EQ(parse({"--calibrate", "p.json", "--out=d", "j"}).calibrate, "p.json");
}

TEST(RankOptions, InvalidOptionsAreRefused) {
  EXPECT_THROW(parse({"job.json"}), ConfigError);
  EXPECT_THROW(parse({"--out", "d"}), ConfigError);
  EXPECT_THROW(parse({"a", "b", "--out", "d"}), ConfigError);
  EXPECT_THROW(parse({"a", "--out", "d", "--nonsense"}), ConfigError);
  EXPECT_THROW(parse({"a", "--out", "d", "--repetition", "-1"}), ConfigError);
  EXPECT_THROW(parse({"a", "--out", "d", "--repetition", "2x"}), ConfigError);
}

// Until measurements show that direct messages are faster, they are on request only.
TEST(DeviceMessages, AreDirectOnRequestIfMpiSupportsIt) {
  EXPECT_FALSE(messages_are_direct(DeviceMessages::automatic, true));
  EXPECT_FALSE(messages_are_direct(DeviceMessages::automatic, false));
  EXPECT_FALSE(messages_are_direct(DeviceMessages::staged, true));
  EXPECT_FALSE(messages_are_direct(DeviceMessages::staged, false));
  EXPECT_FALSE(messages_are_direct(DeviceMessages::peer, true));
  EXPECT_TRUE(messages_are_direct(DeviceMessages::direct, true));
  try {
    messages_are_direct(DeviceMessages::direct, false);
    ADD_FAILURE() << "was not refused";
  } catch (const ConfigError& error) {
    const std::string line = error.what();
    EXPECT_NE(line.find("run.device_messages"), std::string::npos) << line;
    EXPECT_NE(line.find("'direct'"), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
