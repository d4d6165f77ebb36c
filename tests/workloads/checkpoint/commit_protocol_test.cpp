// The protocol of commits under every order of events: three ranks, two commits, and one death or one part
// that cannot be written. Three faults are planted, and each must be found.
#include "workloads/checkpoint/commit_protocol.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "tests/support/every_order.hpp"

namespace tandem {
namespace TANDEM_FILE {

enum class Fault { none, complete_before_the_last_part, missing_part, message_of_an_older_generation };

constexpr int ranks = 3;
constexpr std::int64_t last_round = 5;

using protocol::Complete;
using protocol::Planned;
using protocol::Stored;

/// A message of one of these kinds, comparable.
struct Message {
  enum class Kind { stored, planned, complete } kind = Kind::stored;
  std::int32_t view = 0;
  std::int32_t round = 0;
  bool is_set = false;  ///< stored, complete: failed; planned: commits
  friend auto operator<=>(const Message&, const Message&) = default;
};

/// One rank, which trains in lockstep with the others and writes its parts while training waits.
struct Member {
  std::int64_t round = 0;  ///< finished
  std::int64_t begun = 0;
  bool is_writing = false;
  CommitKnowledge knowledge{1};
  CommitTally tally;
  WrittenParts written;
  friend auto operator<=>(const Member&, const Member&) = default;
  bool computes() const { return !is_writing && knowledge.knows(round) && !is_due(); }
  bool is_due() const { return round > begun && knowledge.commit_round() == round; }
};

/// The job: its ranks, the files, and what is in flight. Messages of a rank that has died stay in flight.
struct World {
  std::array<Member, ranks> members;
  std::set<std::pair<std::int64_t, int>> files;                ///< round, rank
  std::map<std::pair<int, int>, std::vector<Message>> flight;  ///< by sender and receiver
  std::int32_t view = 0;
  std::int64_t called_complete = 0;
  int commits = 0;  ///< that were decided in this view
  bool is_planned = false;
  bool has_trouble_left = true;
  friend auto operator<=>(const World&, const World&) = default;

  bool is_whole(std::int64_t round) const {
    for (int rank = 0; rank < ranks; ++rank)
      if (!files.contains({round, rank})) return false;
    return true;
  }
  /// From which a restart continues: it looks for parts.
  std::int64_t restart_point() const {
    for (std::int64_t round = last_round; round > 0; --round)
      if (is_whole(round)) return round;
    return 0;
  }
};

class Walk final : public testing::EveryOrder<World> {
 public:
  explicit Walk(Fault fault) : fault_(fault) {}

  std::string run_from_begin() {
    World begin;
    for (Member& member : begin.members) member.knowledge.begin(0, 0);
    return run(std::move(begin));
  }

 private:
  std::string violation_of(const World& world) const override {
    if (world.called_complete <= world.restart_point()) return "";
    return "the commit of round " + std::to_string(world.called_complete) +
           " was called complete, and parts of it are missing";
  }

  bool step(const World& world) override {
    bool moved = false;
    for (int rank = 0; rank < ranks; ++rank) moved = step_of(world, rank) || moved;
    for (const auto& [ends, messages] : world.flight) {
      // The rank that decides receives a part when its own commit has begun.
      if (ends.second == 0 && !world.members[0].tally.awaits(ends.first)) continue;
      World next = world;
      auto& line = next.flight[ends];
      const Message message = line.front();
      line.erase(line.begin());
      if (line.empty()) next.flight.erase(ends);
      arrive(next, ends.first, ends.second, message);
      add(std::move(next));
      moved = true;
    }
    if (!world.has_trouble_left) return moved;
    // Any rank dies: its machine is replaced, and the job starts again as the next generation.
    World next = world;
    restart(next);
    add(std::move(next));
    return moved;
  }

  bool step_of(const World& world, int rank) {
    const Member& member = world.members[static_cast<std::size_t>(rank)];
    World next = world;
    Member& moving = next.members[static_cast<std::size_t>(rank)];
    if (member.is_writing) {
      write(next, rank, false);
      add(next);
      if (world.has_trouble_left) {
        next = world;
        next.has_trouble_left = false;
        write(next, rank, true);
        add(std::move(next));
      }
      return true;
    }
    if (member.is_due() && member.knowledge.knows(member.round)) {
      begin(next, moving, rank);
      add(std::move(next));
      return true;
    }
    // A round ends when all have begun it.
    for (const Member& other : world.members)
      if (other.round < member.round || (other.round == member.round && !other.computes())) return false;
    if (!member.computes() || member.round == last_round) return false;
    ++moving.round;
    if (rank == 0) decide(next, moving);
    add(std::move(next));
    return true;
  }

  /// As CommitSchedule does with a policy that wants two commits soon.
  void decide(World& world, Member& decider) {
    const auto planned = static_cast<std::int32_t>(decider.round + 1);
    const bool commits = !world.is_planned && world.commits < 2;
    world.is_planned = world.is_planned || commits;
    world.commits += commits ? 1 : 0;
    decider.knowledge.learn(Planned{.round = planned, .view = world.view, .commits = commits});
    send(world, {Message::Kind::planned, world.view, planned, commits});
  }

  void begin(World& world, Member& member, int rank) {
    for (const auto& part : member.written.take(member.knowledge.take_failed()))
      world.files.erase({part.round, rank});
    const KeepRule rule{.keep = 1, .waits_for_complete = true, .by_messages = true};
    const auto old = member.written.take_old(
        rule, [&](std::int64_t round) { return round == member.knowledge.counted(); });
    for (const auto& part : old.parts) world.files.erase({part.round, rank});
    member.begun = member.round;
    member.is_writing = true;
    if (rank == 0) member.tally.open(member.round, world.view, std::vector<Rank>{0, 1, 2}, Seconds());
  }

  void write(World& world, int rank, bool fails) {
    Member& member = world.members[static_cast<std::size_t>(rank)];
    member.is_writing = false;
    member.written.add({.round = member.begun});
    const bool is_lost = fault_ == Fault::missing_part && rank == 2;
    if (!fails && !is_lost) world.files.insert({member.begun, rank});
    const Message stored{Message::Kind::stored, world.view, static_cast<std::int32_t>(member.begun), fails};
    if (rank == 0) return count(world, 0, stored);
    world.flight[{rank, 0}].push_back(stored);
  }

  void arrive(World& world, int from, int to, Message message) {
    if (fault_ == Fault::message_of_an_older_generation && message.kind == Message::Kind::stored)
      message.view = world.view;
    if (message.kind == Message::Kind::stored) return count(world, from, message);
    CommitKnowledge& knowledge = world.members[static_cast<std::size_t>(to)].knowledge;
    if (message.kind == Message::Kind::planned)
      knowledge.learn(Planned{.round = message.round, .view = message.view, .commits = message.is_set});
    else
      knowledge.learn(Complete{.round = message.round, .view = message.view, .failed = message.is_set});
  }

  /// The rank that decides learns of a part.
  void count(World& world, int from, const Message& message) {
    Member& decider = world.members[0];
    const auto add_part = [&](int rank) {
      decider.tally.add(rank, true,
                        Stored{.round = message.round, .view = message.view, .failed = message.is_set},
                        Bytes(1));
    };
    add_part(from);
    const int others =
        int{decider.tally.awaits(0)} + int{decider.tally.awaits(1)} + int{decider.tally.awaits(2)};
    if (fault_ == Fault::complete_before_the_last_part && others == 1)
      for (int rank = 0; rank < ranks; ++rank) add_part(rank);
    if (!decider.tally.has_all_answers()) return;
    const auto [record, is_complete] = decider.tally.close();
    world.is_planned = false;
    if (is_complete) world.called_complete = record.round;
    const auto round = static_cast<std::int32_t>(record.round);
    decider.knowledge.learn(Complete{.round = round, .view = world.view, .failed = !is_complete});
    send(world, {Message::Kind::complete, world.view, round, !is_complete});
  }

  static void send(World& world, const Message& message) {
    for (int rank = 1; rank < ranks; ++rank) world.flight[{0, rank}].push_back(message);
  }

  static void restart(World& world) {
    const std::int64_t round = world.restart_point();
    std::erase_if(world.files, [&](const auto& file) { return file.first > round; });
    ++world.view;
    world.has_trouble_left = false;
    world.commits = 0;
    world.is_planned = false;
    for (int rank = 0; rank < ranks; ++rank) {
      Member& member = world.members[static_cast<std::size_t>(rank)];
      member = {.round = round, .begun = round};
      member.knowledge.begin(round, world.view);
      member.knowledge.restart_from(round);
      for (const auto& [written, owner] : world.files)
        if (owner == rank) member.written.add({.round = written});
    }
  }

  std::string violation_at_end(const World& world) const override {
    for (const Member& member : world.members)
      if (member.round != last_round || member.is_writing) return "the ranks wait for each other";
    const bool had_no_trouble = world.view == 0 && world.has_trouble_left;
    return had_no_trouble && world.called_complete == 0 ? "no commit was complete" : "";
  }

  Fault fault_;
};

TEST(CommitProtocol, TheLastCommitThatWasCalledCompleteSurvivesAnyDeathInAnyOrderOfEvents) {
  Walk walk(Fault::none);
  EXPECT_EQ(walk.run_from_begin(), "");
  EXPECT_GT(walk.states(), 1000u) << "most orders were not tried";
}

TEST(CommitProtocol, APlantedFaultIsFound) {
  for (const Fault fault :
       {Fault::complete_before_the_last_part, Fault::missing_part, Fault::message_of_an_older_generation})
    EXPECT_NE(Walk(fault).run_from_begin(), "") << "fault " << static_cast<int>(fault);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
