// Invariants of every server of a synchronisation algorithm, checked on its log, whether a test or a whole
// job drove the policy.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "policies/sync/policy.hpp"
#include "tests/support/script.hpp"

namespace tandem::testing {

/// One event and its decisions, as in decisions.csv.
struct ServerLogLine {
  std::string event;
  std::string decisions;
};
using ServerLog = std::vector<ServerLogLine>;

/// "accept 2 1; apply 1" as {{"accept", "2", "1"}, {"apply", "1"}}.
inline std::vector<Words> decisions_of(const ServerLogLine& line) {
  std::vector<Words> decisions;
  std::istringstream text(line.decisions);
  for (std::string one; std::getline(text, one, ';');) decisions.push_back(words_of(one));
  return decisions;
}

/// The invariants of all algorithms. `ended`: no worker may still be waiting at the end of the log.
class ServerLaws {
 public:
  static void expect_kept(const ServerLog& log, int workers, bool ended) {
    ServerLaws laws(workers);
    for (const auto& line : log) {
      laws.check(line);
      if (::testing::Test::HasFailure()) {
        ADD_FAILURE() << "at: " << line.event << " -> " << line.decisions;
        return;
      }
    }
    for (std::size_t worker = 0; ended && worker < laws.workers_.size(); ++worker)
      EXPECT_FALSE(laws.workers_[worker].waits) << "worker " << worker << " was never answered";
  }

 private:
  struct Worker {
    bool waits = false;
    bool gone = false;
    int version = 0;  ///< of the last model that it received
  };

  explicit ServerLaws(int workers) : workers_(static_cast<std::size_t>(workers)) {}

  void check(const ServerLogLine& line) {
    const sync::ServerEvent event = sync::parse_server_event(line.event);
    const auto* push = std::get_if<sync::Push>(&event);
    const auto* report = std::get_if<sync::Report>(&event);
    if (push != nullptr) {
      Worker& worker = workers_.at(static_cast<std::size_t>(push->worker));
      EXPECT_FALSE(worker.waits || worker.gone);
      EXPECT_EQ(push->version, worker.version) << "a push must state the version that its worker received";
      worker.waits = true;
    }
    if (const auto* left = std::get_if<sync::Left>(&event))
      workers_.at(static_cast<std::size_t>(left->worker)) = {.gone = true};
    if (const auto* joined = std::get_if<sync::Joined>(&event)) {
      EXPECT_TRUE(workers_.at(static_cast<std::size_t>(joined->worker)).gone);
      workers_.at(static_cast<std::size_t>(joined->worker)) = {.version = joined->version};
    }

    int verdicts = 0, answers = 0;
    const int cancelled = cancelled_;
    for (const Words& decision : decisions_of(line)) {
      const std::string& kind = decision.at(0);
      const int subject = kind == "apply" ? -1 : std::stoi(decision.at(1));
      if (kind == "cancel") {
        EXPECT_GE(subject, cancelled_);
        EXPECT_LE(subject, version_ + 1) << "the next update makes the newest model";
        cancelled_ = subject;
        continue;
      }
      if (kind == "accept" || kind == "discard") {
        ++verdicts;
        EXPECT_TRUE(push != nullptr && push->worker == subject);
        if (kind != "accept" || push == nullptr) continue;
        ++accepted_;
        EXPECT_GE(push->version, cancelled) << "its step was to be stopped";
        EXPECT_FALSE(push->cancelled);
      } else if (kind == "apply") {
        EXPECT_GT(accepted_, 0) << "an update without accepted pushes";
        accepted_ = 0;
        ++version_;
      } else if (kind == "reply") {
        Worker& worker = workers_.at(static_cast<std::size_t>(subject));
        EXPECT_TRUE(worker.waits && !worker.gone) << "a reply to a worker that does not wait";
        worker.waits = false;
        if (decision.back() != "cached") worker.version = version_;
      } else {
        ++answers;
        EXPECT_TRUE(report != nullptr && report->worker == subject);
      }
    }
    EXPECT_EQ(verdicts, push != nullptr ? 1 : 0) << "each push must be accepted or dropped exactly once";
    EXPECT_EQ(answers, report != nullptr ? 1 : 0) << "each report must be answered exactly once";
  }

  std::vector<Worker> workers_;
  int accepted_ = 0;
  int cancelled_ = 0;  ///< steps on older models than this version are to be stopped
  int version_ = 0;
};

/// Passes the events, parsed from their text, to a new server.
inline void expect_replays(const std::string& algorithm, const sync::Setting& setting, const ServerLog& log) {
  const auto server = sync::catalog().find(algorithm).make.make_server(setting);
  for (const auto& line : log) {
    const sync::ServerEvent event = sync::parse_server_event(line.event);
    sync::ServerDecisions decisions;
    if (const auto* push = std::get_if<sync::Push>(&event)) server->on_push(*push, decisions);
    if (const auto* report = std::get_if<sync::Report>(&event)) server->on_report(*report, decisions);
    if (const auto* left = std::get_if<sync::Left>(&event)) server->on_left(*left, decisions);
    if (const auto* joined = std::get_if<sync::Joined>(&event)) server->on_joined(*joined, decisions);
    ASSERT_EQ(sync::to_text(decisions), line.decisions) << line.event;
  }
}

}  // namespace tandem::testing
