// Commits of an asynchronous server under every order of events: two workers that finish different rounds,
// four commits, and one death. Three faults are planted, and each must be found.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "tests/support/every_order.hpp"
#include "workloads/checkpoint/commit_protocol.hpp"

namespace tandem {
namespace TANDEM_FILE {

enum class Fault { none, counts_without_records, missing_confirmation, confirmed_before_it_is_recorded };

constexpr int workers = 2;
using Steps = std::array<int, workers>;
/// Of each worker. The server commits after every push.
constexpr Steps last_steps = {3, 1};

using protocol::Complete;

struct Worker {
  int step = 0;      ///< pushed
  int recorded = 0;  ///< the last step in its records
  bool records_later = false;
  std::vector<std::int64_t> complete = {};  ///< messages to it: rounds of complete commits
  CommitKnowledge knowledge{0};
  friend auto operator<=>(const Worker&, const Worker&) = default;
};

struct Server {
  Steps received = {};  ///< pushes
  bool is_writing = false;
  std::int64_t complete = 0;  ///< the last commit of which the part is stored
  std::array<std::int64_t, workers> confirmed = {};
  std::array<std::vector<std::int64_t>, workers> confirmations = {};  ///< messages to it
  CommitKnowledge knowledge{0};
  WrittenParts written = {};
  friend auto operator<=>(const Server&, const Server&) = default;
  /// Rounds are pushes.
  std::int64_t round() const { return std::accumulate(received.begin(), received.end(), 0); }
};

struct World {
  std::array<Worker, workers> members;
  Server server;
  std::map<std::int64_t, Steps> files;  ///< the server's parts: the pushes that they count
  std::int32_t view = 0;
  friend auto operator<=>(const World&, const World&) = default;

  /// From which a restart continues: the last commit whose pushes are all in the records.
  std::int64_t restart_point() const {
    std::int64_t last = 0;
    for (const auto& [round, counted] : files) {
      bool is_recorded = true;
      for (std::size_t worker = 0; worker < workers; ++worker)
        is_recorded = is_recorded && members[worker].recorded >= counted[worker];
      if (is_recorded) last = round;
    }
    return last;
  }
};

class Walk final : public testing::EveryOrder<World> {
 public:
  explicit Walk(Fault fault) : fault_(fault) {}

  std::string run_from_begin() {
    World begin;
    begin.server.knowledge.begin(0, 0);
    for (Worker& worker : begin.members) worker.knowledge.begin(0, 0);
    return run(std::move(begin));
  }

 private:
  std::string violation_of(const World& world) const override {
    const std::int64_t counted = world.server.knowledge.counted();
    if (counted <= world.restart_point()) return "";
    return "the commit of round " + std::to_string(counted) + " counted, and it cannot be continued from";
  }

  bool step(const World& world) override {
    bool moved = false;
    const auto after = [&](auto&& event) {
      World next = world;
      event(next);
      add(std::move(next));
      moved = true;
    };
    for (std::size_t i = 0; i < workers; ++i) {
      const Worker& worker = world.members[i];
      const Server& server = world.server;
      if (worker.step < last_steps[i]) after([&](World& next) { ++next.members[i].step; });
      if (!server.is_writing && server.received[i] < worker.step)
        after([&](World& next) { receive_push(next, i); });
      for (std::size_t arrived = 1; arrived <= worker.complete.size(); ++arrived)
        after([&](World& next) { confirm(next, i, arrived); });
      if (worker.records_later) after([&](World& next) { record(next.members[i]); });
      if (!server.confirmations[i].empty()) after([&](World& next) { receive_confirmation(next, i); });
    }
    if (world.server.is_writing) after([&](World& next) { write(next); });
    const bool has_moved = moved;
    // Any rank dies: its machine is replaced, and the job starts again as the next generation.
    if (world.view == 0) after(restart);
    return has_moved;
  }

  static void receive_push(World& world, std::size_t worker) {
    Server& server = world.server;
    ++server.received[worker];
    const KeepRule rule{.keep = 1, .waits_for_complete = true, .later_stay = true, .by_messages = true};
    const auto old = server.written.take_old(
        rule, [&](std::int64_t round) { return round == server.knowledge.counted(); });
    for (const auto& part : old.parts) world.files.erase(part.round);
    server.is_writing = true;
  }

  void write(World& world) {
    Server& server = world.server;
    server.is_writing = false;
    server.complete = server.round();
    server.written.add({.round = server.complete});
    world.files[server.complete] = server.received;
    server.knowledge.learn(Complete{.round = static_cast<std::int32_t>(server.complete),
                                    .view = world.view,
                                    .counts = fault_ == Fault::counts_without_records});
    for (Worker& worker : world.members) worker.complete.push_back(server.complete);
  }

  static void record(Worker& worker) {
    worker.recorded = worker.step;
    worker.records_later = false;
  }

  /// The worker gets the first messages, writes its records, and confirms the last one.
  void confirm(World& world, std::size_t number, std::size_t arrived) {
    Worker& worker = world.members[number];
    for (; arrived > 0; --arrived) {
      const auto round = static_cast<std::int32_t>(worker.complete.front());
      worker.complete.erase(worker.complete.begin());
      worker.knowledge.learn(Complete{.round = round, .view = world.view, .counts = false});
    }
    const std::int64_t round = worker.knowledge.unrecorded();
    if (fault_ == Fault::confirmed_before_it_is_recorded)
      worker.records_later = true;
    else
      record(worker);
    worker.knowledge.note_recorded(round);
    world.server.confirmations[number].push_back(round);
  }

  void receive_confirmation(World& world, std::size_t worker) {
    Server& server = world.server;
    auto& messages = server.confirmations[worker];
    server.confirmed[worker] = messages.front();
    messages.erase(messages.begin());
    RecordTally tally;
    tally.expect(std::array<Rank, workers>{0, 1});
    const bool is_missing = fault_ == Fault::missing_confirmation;
    for (std::size_t i = 0; i < workers; ++i)
      tally.add(static_cast<Rank>(i), is_missing ? std::ranges::max(server.confirmed) : server.confirmed[i]);
    if (tally.by_all() <= server.knowledge.counted()) return;
    const std::int64_t round = std::min(tally.by_all(), server.complete);
    server.knowledge.learn(Complete{.round = static_cast<std::int32_t>(round), .view = world.view});
  }

  static void restart(World& world) {
    const std::int64_t round = world.restart_point();
    std::erase_if(world.files, [&](const auto& file) { return file.first > round; });
    const Steps counted = round == 0 ? Steps{} : world.files.at(round);
    ++world.view;
    world.server = {.received = counted};
    world.server.knowledge.begin(round, world.view);
    world.server.knowledge.restart_from(round);
    for (const auto& file : world.files) world.server.written.add({.round = file.first});
    for (std::size_t i = 0; i < workers; ++i) {
      Worker& worker = world.members[i];
      worker = {.step = counted[i], .recorded = counted[i]};
      worker.knowledge.begin(round, world.view);
      worker.knowledge.restart_from(round);
    }
  }

  std::string violation_at_end(const World& world) const override {
    const int pushes = std::accumulate(last_steps.begin(), last_steps.end(), 0);
    return world.server.knowledge.counted() == pushes ? "" : "the last commit does not count";
  }

  Fault fault_;
};

TEST(RecordTally, TheLastCommitThatCountsHasItsRecordsAfterAnyDeathInAnyOrderOfEvents) {
  Walk walk(Fault::none);
  EXPECT_EQ(walk.run_from_begin(), "");
  EXPECT_GT(walk.states(), 1000u) << "most orders were not tried";
}

TEST(RecordTally, APlantedFaultIsFound) {
  for (const Fault fault :
       {Fault::counts_without_records, Fault::missing_confirmation, Fault::confirmed_before_it_is_recorded})
    EXPECT_NE(Walk(fault).run_from_begin(), "") << "fault " << static_cast<int>(fault);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
