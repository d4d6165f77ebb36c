// What a job has cost, from the records of its machines, against bills by hand.
#include "workloads/records/costs.hpp"

#include <gmock/gmock.h>

#include "tests/support/member_results.hpp"

namespace tandem {
namespace TANDEM_FILE {

using ::testing::ElementsAre;

// 3.6 dollars per hour are a thousandth of a dollar per second.
MachinePrice price_of(const std::string& host, const std::string& per_hour = "3.6") {
  return {.machine = host, .hosts = {host}, .per_hour = parse_money(per_hour).value()};
}

/// Four workers and a server, of which only the second one has no price.
RunInfo lab() {
  RunInfo info;
  info.world = "simulated";
  info.roles = {"worker", "worker", "worker", "worker", "server"};
  info.hosts = {"lab-1", "lab-2", "lab-3", "lab-4", "lab-5"};
  info.experiment.placement.workers = {"lab-1", "lab-2", "lab-3", "lab-4"};
  info.experiment.transience.lifetime = "weibull";
  info.prices = {price_of("lab-1"), price_of("lab-3"), price_of("lab-4"), price_of("lab-5", "7.2")};
  return info;
}

StepRecord step(Rank rank, double begin, double end, bool exchanges = true) {
  StepRecord record{.rank = rank, .start = Seconds(begin), .samples = 10, .bytes_sent = exchanges ? 8 : 0};
  record.phases[static_cast<std::size_t>(Phase::forward)] = Seconds(end - begin);
  return record;
}

/// The rows of two_departures(), in which slot 2 has two machines and slot 3 loses its one.
Journal two_departures() {
  Journal journal;
  journal.membership = testing::two_departures(0.2);
  journal.steps = {step(0, 0, 1), step(0, 1, 2), step(0, 2, 3), step(0, 3, 4),   step(2, 0, .8),
                   step(2, 2, 3), step(2, 3, 4), step(3, 0, 1), step(3, 1, 1.5), step(3, 1.5, 1.9, false)};
  return journal;
}

std::vector<std::string> bills_of(const money::Ledger& ledger) {
  std::vector<std::string> bills;
  for (const auto& entry : ledger.entries())
    bills.push_back(entry.machine + ": " + to_text(entry.cost) + " = " + to_text(entry.uses.useful) + " + " +
                    to_text(entry.uses.wasted) + " + " + to_text(entry.uses.idle) + " + " +
                    to_text(entry.uses.waiting));
  return bills;
}

// The first machine of slot 2 loses 0.2 s of work; the second one is there from 1.5 to 4 s, which bill as 3
// s, and loads until 2 s. That of slot 3 loses a step that it has not sent, and what it began then.
TEST(Costs, AreThoseOfTheBillsByHand) {
  const auto ledger = ledger_of(lab(), two_departures(), Seconds(4));
  EXPECT_THAT(bills_of(ledger),
              ElementsAre("lab-1: 0.004 = 0.004 + 0 + 0 + 0", "lab-3: 0.001 = 0.0008 + 0.0002 + 0 + 0",
                          "lab-3: 0.003 = 0.002 + 0.0005 + 0 + 0.0005",
                          "lab-4: 0.002 = 0.0015 + 0.0005 + 0 + 0", "lab-5: 0.008 = 0.008 + 0 + 0 + 0"));
  const auto cost = cost_of(lab(), ledger).value();
  EXPECT_EQ(cost.total, Money(18'000));
  EXPECT_EQ(cost.useful + cost.wasted + cost.idle + cost.waiting, cost.total);
  EXPECT_EQ(cost.roles.at("server"), Money(8'000));
  EXPECT_THAT(cost.without_price, ElementsAre("lab-2"));
}

TEST(Costs, ScaleWithTheTimeOfMachines) {
  RunInfo info = lab();
  info.experiment.transience.time_scale = 3600;
  for (MachinePrice& price : info.prices) price.step = Seconds(0);
  const auto cost = cost_of(info, ledger_of(info, two_departures(), Seconds(4))).value();
  EXPECT_EQ(cost.total, Money(3600 * 17'500)) << "without rounding up";
  EXPECT_DOUBLE_EQ(cost.machine_hours, 4 + 1 + 2.5 + 2 + 4);
}

TEST(Costs, AreZeroForMachinesRevokedInTheFreeTime) {
  RunInfo info = lab();
  for (MachinePrice& price : info.prices) price.free_if_revoked_within = Seconds(1.5);
  const auto bills = bills_of(ledger_of(info, two_departures(), Seconds(4)));
  EXPECT_EQ(bills[1], "lab-3: 0 = 0 + 0 + 0 + 0");
  EXPECT_EQ(bills[3], "lab-4: 0.002 = 0.0015 + 0.0005 + 0 + 0") << "after 2 s";
  info.experiment.transience.limit = Seconds(1);
  EXPECT_EQ(bills_of(ledger_of(info, two_departures(), Seconds(4)))[1],
            "lab-3: 0.001 = 0.0008 + 0.0002 + 0 + 0")
      << "a limit's end is no revocation";
}

TEST(Costs, CountFromTheRequestWhereThatIsSaid) {
  RunInfo info = lab();
  info.prices = {price_of("lab-3")};
  info.prices[0].from_request = true;
  info.prices[0].step = Seconds(0.1);
  EXPECT_EQ(bills_of(ledger_of(info, two_departures(), Seconds(4)))[1],
            "lab-3: 0.0027 = 0.002 + 0 + 0 + 0.0007");
}

TEST(Costs, OneMachineOfSeveralHostsIsPaidOnce) {
  RunInfo info = lab();
  info.experiment.transience.lifetime = "never";
  info.prices = {{.machine = "node", .hosts = {"lab-1", "lab-3"}, .per_hour = Money(3'600'000)}};
  EXPECT_THAT(bills_of(ledger_of(info, two_departures(), Seconds(4))),
              ElementsAre("node: 0.004 = 0.004 + 0 + 0 + 0"));
}

TEST(Costs, ASpareMachineIsIdleUntilItWorks) {
  RunInfo info = lab();
  info.experiment.placement.workers.pop_back();  // slot 3 is a spare
  Journal journal;
  journal.membership = {testing::member_row(0, 3, 1, "ready"), testing::member_row(3, 3, 1, "joined")};
  journal.steps = {step(3, 3, 4)};
  info.prices = {price_of("lab-4")};
  EXPECT_THAT(bills_of(ledger_of(info, journal, Seconds(4))),
              ElementsAre("lab-4: 0.004 = 0.001 + 0 + 0.003 + 0"));
}

// The second launch starts from a commit after 1 s; all since then is lost, until 1.4 s; all wait until 2 s.
TEST(Costs, OfAJobThatStartsAgain) {
  RunInfo info = lab();
  info.experiment.recovery.mode = RecoveryMode::restart;
  info.generations = {{.number = 0, .launched = Seconds(0), .began = Seconds(0), .ended = "departed"},
                      {.number = 1, .launched = Seconds(1.8), .began = Seconds(2)}};
  Journal journal;
  for (int slot = 0; slot < 4; ++slot)
    journal.membership.push_back(testing::member_row(0, slot, 1, "joined"));
  journal.membership.push_back(testing::member_row(1.4, 1, 1, "departed", "lost"));
  journal.membership.push_back(testing::member_row(1.8, 1, 2, "ready"));
  journal.membership.push_back(testing::member_row(1.8, 1, 2, "joined"));
  journal.steps = {step(0, 0, 1), step(0, 2, 4)};
  info.prices = {price_of("lab-1"), price_of("lab-5")};
  EXPECT_THAT(bills_of(ledger_of(info, journal, Seconds(4))),
              ElementsAre("lab-1: 0.004 = 0.003 + 0.0004 + 0 + 0.0006",
                          "lab-5: 0.004 = 0.003 + 0.0004 + 0 + 0.0006"));
}

TEST(Costs, FileHasARowForEachStay) {
  const std::string text = cost_csv(ledger_of(lab(), two_departures(), Seconds(4)));
  EXPECT_EQ(std::ranges::count(text, '\n'), 6);
  EXPECT_NE(text.find("\nlab-3,worker,1,0,1,revoked,1,1,3.6,0.001,0.0008,0.0002,0,0\n"), std::string::npos)
      << text;
}

}  // namespace TANDEM_FILE
}  // namespace tandem
