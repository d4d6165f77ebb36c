// Scripts of WorkerDecisions: what is recorded, and what the policy decides again when the members change.
#include "workloads/roles/worker/worker_decisions.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem {
namespace TANDEM_FILE {
namespace {

/// Exchanges with the members that it knows, whatever it is asked about.
class ExchangesWithAll final : public sync::WorkerPolicy {
 public:
  std::optional<sync::Exchange> on_step_begin(const sync::StepBegin& event) override {
    if (event.local_steps == 0) return std::nullopt;
    return sync::Exchange{.members = members_};
  }
  sync::WorkerDecision on_step_done(const sync::StepDone& event) override {
    if (event.local_steps < 3) return sync::Ask{};
    return sync::Exchange{.members = members_};
  }
  sync::WorkerDecision on_answer(const sync::Answer& event) override {
    if (!event.ready) return sync::Continue{};
    return sync::Exchange{.members = members_};
  }
  void on_members(const sync::Members& event) override { members_ = event.workers; }
  void serialise(PolicyState&) override {}

 private:
  std::vector<int> members_ = {0, 1};
};

class DecisionsOfAWorker : public ::testing::Test {
 protected:
  DecisionsOfAWorker() { journal.keep_decisions = true; }
  /// What has been recorded since the last call.
  std::vector<std::string> recorded() {
    std::vector<std::string> words;
    for (const DecisionRecord& record : std::exchange(journal.decisions, {}))
      words.push_back(record.event.substr(0, record.event.find(' ')) + " -> " + record.decisions);
    return words;
  }
  static sync::StepDone after(int local_steps) {
    return {.now = Seconds(1), .duration = Seconds(1), .samples = 8, .local_steps = local_steps};
  }
  using Words = std::vector<std::string>;

  Journal journal;
  WorkerDecisions decisions{std::make_unique<ExchangesWithAll>(), 4, journal};
  const sync::Members smaller{.round = 2, .workers = {1}};
};

TEST_F(DecisionsOfAWorker, AnExchangeThatOverlapsWithTheStepIsDecidedAgain) {
  EXPECT_TRUE(decisions.step_begins({1}).exchange);
  EXPECT_EQ(decisions.on_members(smaller, true), (sync::Exchange{.members = {1}}));
  const Words expected = {"step_begin -> exchange gradient members=0,1", "members -> ",
                          "step_begin -> exchange gradient members=1"};
  EXPECT_EQ(recorded(), expected);
}

TEST_F(DecisionsOfAWorker, OneAfterTheStepIsDecidedAgain) {
  const auto decision = decisions.step_done(after(3));
  EXPECT_EQ(decision, sync::WorkerDecision(sync::Exchange{.members = {0, 1}}));
  EXPECT_EQ(decisions.on_members(smaller, true), (sync::Exchange{.members = {1}}));
}

TEST_F(DecisionsOfAWorker, OneAfterAnAnswerIsDecidedAgainByTheAnswer) {
  EXPECT_EQ(decisions.step_done(after(1)), sync::WorkerDecision(sync::Ask{}));
  EXPECT_EQ(decisions.answered({.now = Seconds(1), .ready = true}),
            sync::WorkerDecision(sync::Exchange{.members = {0, 1}}));
  EXPECT_EQ(decisions.on_members(smaller, true), (sync::Exchange{.members = {1}}));
}

TEST_F(DecisionsOfAWorker, BetweenExchangesThePolicyOnlyLearnsOfTheMembers) {
  EXPECT_FALSE(decisions.step_begins({0}).exchange);
  recorded();
  EXPECT_FALSE(decisions.on_members(smaller, false));
  EXPECT_EQ(recorded(), Words{"members -> "});
  EXPECT_EQ(decisions.step_begins({1}).exchange, (sync::Exchange{.members = {1}}));
}

TEST_F(DecisionsOfAWorker, AreRecordedOnlyWhereTheyAreKept) {
  journal.keep_decisions = false;
  decisions.step_begins({1});
  decisions.grant(3);
  decisions.restore(decisions.state());
  decisions.on_members(smaller, true);
  EXPECT_TRUE(recorded().empty());
  journal.keep_decisions = true;
  decisions.grant(3);
  EXPECT_EQ(recorded(), Words{"local_steps -> "});
}

}  // namespace
}  // namespace TANDEM_FILE
}  // namespace tandem
