// When generations end and begin again, by hand: lifetimes are given.
#include "workloads/membership/restart_steward.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policies/recovery/replay.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/workloads/membership/given_machines.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::policy_of;
using Machine = testing::GivenMachines;

RestartSteward steward_of(const Machine& machine) {
  return {testing::machines_of(machine), machine.in_place ? nullptr : policy_of(machine),
          std::vector<std::string>(static_cast<std::size_t>(machine.workers()), "host"),
          std::vector<RestartSteward::Needed>(static_cast<std::size_t>(machine.needed), {"s", "server"})};
}

/// "joined 0" and so on, without the time.
std::vector<std::string> events_of(const RestartSteward& steward, Seconds until) {
  std::vector<std::string> events;
  for (const auto& change : steward.membership())
    if (change.time <= until) events.push_back(change.event + ' ' + std::to_string(change.slot));
  return events;
}

using Texts = std::vector<std::string>;

TEST(RestartSteward, AGenerationEndsWithItsFirstDeparture) {
  RestartSteward steward =
      steward_of({.times = "100;40,30", .slots = 2, .detect = Seconds(5), .start = Seconds(20)});
  ASSERT_TRUE(steward.end_of_generation());
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(40));
  EXPECT_EQ(steward.end_of_generation()->slot, 1);
  EXPECT_EQ(steward.begin_next(), Seconds(65));
  EXPECT_TRUE(steward.departed_meanwhile().empty());
  // The replacement lives from when it has come up.
  ASSERT_TRUE(steward.end_of_generation());
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(95));
  EXPECT_EQ(steward.end_of_generation()->incarnation, 2);
  // Meanwhile the other machine departs, at 100, which is noticed at 105: its replacement is there at 125.
  EXPECT_EQ(steward.begin_next(), Seconds(125));
  EXPECT_EQ(steward.departed_meanwhile(), std::vector<int>{0});
  EXPECT_FALSE(steward.end_of_generation());
}

TEST(RestartSteward, KnowsNothingOfLaterEvents) {
  RestartSteward steward = steward_of({.times = "40", .detect = Seconds(5), .start = Seconds(20)});
  EXPECT_EQ(events_of(steward, Seconds(39)), Texts{"joined 0"});
  EXPECT_EQ(events_of(steward, Seconds(40)), (Texts{"joined 0", "departed 0"}));
  steward.begin_next();
  EXPECT_EQ(events_of(steward, Seconds(64)), (Texts{"joined 0", "departed 0", "noticed 0", "requested 0"}));
  EXPECT_EQ(events_of(steward, Seconds(65)),
            (Texts{"joined 0", "departed 0", "noticed 0", "requested 0", "ready 0", "joined 0"}));
}

TEST(RestartSteward, TimesOfMachinesAreScaled) {
  RestartSteward steward =
      steward_of({.times = "3600", .detect = Seconds(60), .start = Seconds(300), .time_scale = 60});
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(60));
  EXPECT_EQ(steward.begin_next(), Seconds(66));
}

TEST(RestartSteward, AnnouncedDeparturesAreNoticedImmediately) {
  RestartSteward steward =
      steward_of({.times = "40", .detect = Seconds(5), .start = Seconds(20), .notice = Seconds(10)});
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(40));
  EXPECT_EQ(steward.begin_next(), Seconds(60));
  EXPECT_EQ(events_of(steward, Seconds(30)), (Texts{"joined 0", "warned 0"}));
}

/// The second machine departs after the first, and comes up before it: nothing begins in between.
TEST(RestartSteward, WaitsForAllMachines) {
  RestartSteward steward =
      steward_of({.times = "10 remove a; 11 remove b; 30 add b; 50 add a", .slots = 2, .model = "trace"});
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(10));
  EXPECT_EQ(steward.begin_next(), Seconds(50));
}

/// A machine that is gone, which nobody knows yet, cannot start.
TEST(RestartSteward, DoesNotBeginWithAMachineThatHasDepartedUnnoticed) {
  RestartSteward steward =
      steward_of({.times = "40;62", .slots = 2, .detect = Seconds(5), .start = Seconds(20)});
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(40));
  // The first slot's replacement is there at 65, when the second has been empty for 3 s.
  EXPECT_EQ(steward.begin_next(), Seconds(62 + 5 + 20));
}

TEST(RestartSteward, GivesUpWithoutMachines) {
  RestartSteward steward = steward_of({.times = "10 remove a", .model = "trace"});
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(10));
  EXPECT_THROW(steward.begin_next(), WorldError);
}

using Slots = std::vector<int>;

/// The next generation begins when the departure is noticed, with those that are left.
TEST(RestartSteward, ShrinkContinuesWithThoseThatAreLeft) {
  RestartSteward steward = steward_of({.times = "40;90;1e9",
                                       .slots = 3,
                                       .detect = Seconds(5),
                                       .start = Seconds(20),
                                       .policy = "shrink",
                                       .least = 1});
  EXPECT_EQ(steward.members(), (Slots{0, 1, 2}));
  EXPECT_EQ(steward.begin_next(), Seconds(45));
  EXPECT_EQ(steward.members(), (Slots{1, 2}));
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(90));
  EXPECT_EQ(steward.begin_next(), Seconds(95));
  EXPECT_EQ(steward.members(), (Slots{2}));
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(1e9)) << "no machine comes up";
}

TEST(RestartSteward, ShrinkWithTooFewGivesUp) {
  RestartSteward steward = steward_of({.times = "40;90", .slots = 2, .policy = "shrink", .least = 2});
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(40));
  EXPECT_THROW(steward.begin_next(), WorldError);
}

/// The second departs before the first departure is noticed.
TEST(RestartSteward, ShrinkWaitsUntilAllDeparturesAreNoticed) {
  RestartSteward steward =
      steward_of({.times = "40;43;1e9", .slots = 3, .detect = Seconds(5), .policy = "shrink", .least = 1});
  EXPECT_EQ(steward.begin_next(), Seconds(48));
  EXPECT_EQ(steward.members(), (Slots{2}));
}

/// The replacement ends the smaller generation, and the next one has all.
TEST(RestartSteward, RestartGrowsWhenAMachineHasComeUp) {
  RestartSteward steward =
      steward_of({.times = "40,1e9;1e9", .slots = 2, .detect = Seconds(5), .start = Seconds(20), .least = 1});
  EXPECT_EQ(steward.begin_next(), Seconds(45));
  EXPECT_EQ(steward.members(), (Slots{1}));
  ASSERT_TRUE(steward.end_of_generation());
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(65));
  EXPECT_EQ(steward.end_of_generation()->slot, 0);
  EXPECT_EQ(steward.end_of_generation()->incarnation, 2);
  EXPECT_EQ(steward.end_of_generation()->how, std::nullopt);
  EXPECT_EQ(steward.begin_next(), Seconds(65));
  EXPECT_EQ(steward.members(), (Slots{0, 1}));
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(1e9));
}

TEST(RestartSteward, RestartMayGrowWithTheNextDepartureOnly) {
  RestartSteward steward = steward_of({.times = "40,1e9;90,1e9;1e9",
                                       .slots = 3,
                                       .detect = Seconds(5),
                                       .start = Seconds(20),
                                       .least = 1,
                                       .options = {{"admit", std::string("next-restart")}}});
  EXPECT_EQ(steward.begin_next(), Seconds(45));
  EXPECT_EQ(steward.members(), (Slots{1, 2}));
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(90)) << "the machine of slot 0 waits from 65 on";
  EXPECT_EQ(steward.begin_next(), Seconds(95));
  EXPECT_EQ(steward.members(), (Slots{0, 2}));
}

/// What the machine of a slot had is gone also if the generation that runs then does not have the slot.
TEST(RestartSteward, AMachineThatWaitsMayDepart) {
  RestartSteward steward = steward_of({.times = "40,10,1e9;90,1e9;1e9",
                                       .slots = 3,
                                       .detect = Seconds(5),
                                       .start = Seconds(20),
                                       .least = 1,
                                       .options = {{"admit", std::string("next-restart")}}});
  EXPECT_EQ(steward.begin_next(), Seconds(45));
  EXPECT_EQ(steward.members(), (Slots{1, 2}));
  EXPECT_TRUE(steward.departed_meanwhile().empty()) << "slot 0 departs at 75";
  ASSERT_TRUE(steward.end_of_generation());
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(90));
  EXPECT_EQ(steward.begin_next(), Seconds(95));
  EXPECT_EQ(steward.members(), (Slots{2}));
  EXPECT_EQ(steward.departed_meanwhile(), (Slots{0}));
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(1e9));
  // Both machines are up then.
  EXPECT_GT(steward.begin_next(), Seconds(1e9));
  EXPECT_TRUE(steward.departed_meanwhile().empty());
}

/// Those that are left are enough, so the job continues without a machine that is not available.
TEST(RestartSteward, ContinuesWithoutAMachineThatCannotBeHad) {
  RestartSteward steward = steward_of(
      {.times = "10 remove a; 50 remove b; 1000 remove c", .slots = 3, .model = "trace", .least = 2});
  EXPECT_EQ(steward.begin_next(), Seconds(10));
  EXPECT_EQ(steward.members(), (Slots{1, 2}));
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(50));
  EXPECT_THROW(steward.begin_next(), WorldError);
}

TEST(RestartSteward, ItsDecisionsReplay) {
  for (const char* policy : {"restart", "shrink"})
    for (const int least : {1, 2}) {
      const Machine machine{.times = "40,30,20;62,1e9",
                            .slots = 2,
                            .detect = Seconds(5),
                            .start = Seconds(20),
                            .policy = policy,
                            .least = least};
      RestartSteward steward = steward_of(machine);
      try {
        while (steward.end_of_generation()) steward.begin_next();
      } catch (const WorldError&) {
        EXPECT_EQ(machine.policy, "shrink");
      }
      const auto decided = steward.decisions();
      Texts events;
      for (const auto& decision : decided) {
        EXPECT_EQ(decision.record.side, "recovery");
        events.push_back(decision.record.event);
      }
      const auto lines = recovery::replay(*policy_of(machine), events);
      ASSERT_EQ(lines.size(), decided.size());
      for (std::size_t i = 0; i < lines.size(); ++i)
        EXPECT_EQ(lines[i].decisions, decided[i].record.decisions);
    }
}

/// Processes that die by themselves, on machines that stay or are lost with them.
SlotDeath death(double at_s, int slot, bool with_machine = false) {
  return {.at = Seconds(at_s), .slot = slot, .with_machine = with_machine};
}

TEST(RestartSteward, ShrinksByAWorkerThatDies) {
  RestartSteward steward = steward_of({.slots = 3,
                                       .start = Seconds(20),
                                       .model = "never",
                                       .policy = "shrink",
                                       .least = 2,
                                       .deaths = {death(7, 1), death(9, 0)}});
  ASSERT_TRUE(steward.end_of_generation());
  EXPECT_EQ(steward.end_of_generation()->slot, 1);
  EXPECT_EQ(steward.begin_next(), Seconds(7));
  EXPECT_EQ(steward.members(), (std::vector<int>{0, 2}));
  EXPECT_EQ(events_of(steward, Seconds(8)),
            (Texts{"joined 0", "joined 1", "joined 2", "departed 1", "noticed 1"}));
  EXPECT_THROW(steward.begin_next(), WorldError);
}

/// Its machine is still there, whatever a new one would take.
TEST(RestartSteward, ReplacesAWorkerThatDiesAtOnce) {
  for (const char* policy : {"restart", "replace"}) {
    RestartSteward steward = steward_of({.slots = 2,
                                         .detect = Seconds(5),
                                         .start = Seconds(20),
                                         .model = "never",
                                         .policy = policy,
                                         .least = 1,
                                         .deaths = {death(7, 0), death(7, 1), death(30, 1)}});
    EXPECT_EQ(steward.begin_next(), Seconds(7)) << policy;
    EXPECT_EQ(steward.members(), (std::vector<int>{0, 1})) << policy;
    ASSERT_TRUE(steward.end_of_generation()) << policy;
    EXPECT_EQ(steward.end_of_generation()->incarnation, 2) << policy;
    EXPECT_EQ(steward.begin_next(), Seconds(30)) << policy;
    EXPECT_EQ(steward.members(), (std::vector<int>{0, 1})) << policy;
    EXPECT_FALSE(steward.end_of_generation()) << policy;
  }
}

TEST(RestartSteward, ContinuesWithoutAMachineThatIsLost) {
  Machine machine{
      .slots = 3, .model = "never", .policy = "restart", .least = 2, .deaths = {death(7, 2, true)}};
  RestartSteward steward = steward_of(machine);
  EXPECT_EQ(steward.begin_next(), Seconds(7));
  EXPECT_EQ(steward.members(), (std::vector<int>{0, 1}));
  EXPECT_FALSE(steward.end_of_generation());
  EXPECT_EQ(events_of(steward, Seconds(7)).back(), "refused 2");
  // With too few, none can be waited for.
  machine.deaths.push_back(death(8, 1, true));
  RestartSteward few = steward_of(machine);
  few.begin_next();
  EXPECT_THROW(few.begin_next(), WorldError);
}

/// Among departures that are drawn: the warning of a machine that is given up is void.
TEST(RestartSteward, DiesBetweenDrawnDepartures) {
  RestartSteward steward = steward_of({.times = "50,100;40,100",
                                       .slots = 2,
                                       .notice = Seconds(10),
                                       .policy = "shrink",
                                       .least = 1,
                                       .deaths = {death(20, 1)}});
  EXPECT_EQ(steward.begin_next(), Seconds(20));
  EXPECT_EQ(steward.members(), std::vector<int>{0});
  ASSERT_TRUE(steward.end_of_generation());
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(50));
  EXPECT_EQ(events_of(steward, Seconds(45)),
            (Texts{"joined 0", "joined 1", "departed 1", "noticed 1", "warned 0"}));
}

/// One worker whose machine departs, too, and a server's machine.
TEST(RestartSteward, NeededMachinesEndGenerationsAndAreRequestedAgain) {
  RestartSteward steward =
      steward_of({.times = "100;40,30", .slots = 2, .detect = Seconds(5), .start = Seconds(20), .needed = 1});
  ASSERT_TRUE(steward.end_of_generation());
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(40));
  EXPECT_EQ(steward.end_of_generation()->slot, 1);
  EXPECT_EQ(steward.end_of_generation()->roles, "server");
  EXPECT_EQ(steward.members(), std::vector<int>{0}) << "workers";
  const std::size_t decisions = steward.decisions().size();
  EXPECT_EQ(steward.begin_next(), Seconds(65));
  EXPECT_EQ(steward.decisions().size(), decisions) << "nothing for the policy to decide";
  EXPECT_EQ(events_of(steward, Seconds(65)), (Texts{"joined 0", "joined -1", "departed -1", "noticed -1",
                                                    "requested -1", "ready -1", "joined -1"}));
  EXPECT_EQ(steward.membership().back().view, steward.membership().front().view);
  // The next one lives until 95. Meanwhile the worker's departs, at 100, and its replacement is there at 125.
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(95));
  EXPECT_EQ(steward.begin_next(), Seconds(125));
  EXPECT_EQ(steward.departed_meanwhile(), std::vector<int>{0});
  EXPECT_FALSE(steward.end_of_generation());
}

/// The machine departs while the job waits for that of a worker.
TEST(RestartSteward, NeededMachinesAreWaitedFor) {
  RestartSteward steward =
      steward_of({.times = "40;50", .slots = 2, .detect = Seconds(5), .start = Seconds(20), .needed = 1});
  EXPECT_EQ(steward.end_of_generation()->roles, "");
  EXPECT_EQ(steward.begin_next(), Seconds(75));
  EXPECT_EQ(steward.departed_meanwhile(), std::vector<int>{1});
}

/// Machines of workers are none of its business then.
TEST(RestartSteward, InPlaceOnlyNeededMachinesEndGenerations) {
  RestartSteward steward = steward_of({.times = "10;40,30",
                                       .slots = 2,
                                       .detect = Seconds(5),
                                       .start = Seconds(20),
                                       .needed = 1,
                                       .in_place = true});
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(40));
  EXPECT_EQ(steward.begin_next(), Seconds(65));
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(95));
  EXPECT_TRUE(steward.decisions().empty());
  for (const auto& change : steward.membership()) EXPECT_EQ(change.host, "s");
}

TEST(RestartSteward, GivesUpWithoutANeededMachine) {
  RestartSteward steward =
      steward_of({.times = "0 add a; 40 remove b", .slots = 2, .model = "trace", .needed = 1});
  EXPECT_EQ(steward.end_of_generation()->at, Seconds(40));
  try {
    steward.begin_next();
    ADD_FAILURE() << "did not give up";
  } catch (const WorldError& error) {
    EXPECT_NE(std::string(error.what()).find("no machine can be had any more for the server on 's'"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
