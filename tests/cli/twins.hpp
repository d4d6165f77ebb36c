// A job that is played in both worlds: simulated, and run with real mpirun.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "policies/sync/policy.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/lab.hpp"
#include "tests/cli/rank_world.hpp"
#include "tests/support/paths.hpp"
#include "validation/compare/compare.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {

class Twins : public ::testing::TestWithParam<std::string> {
 protected:
  /// How the ranks are started.
  enum class Start { by_tandem_run, once_for_many_tests };

  /// Simulates and runs the same experiment; only the clock differs.
  void play(const std::string& settings, Start start = Start::by_tandem_run) {
    const std::string words =
        line_.experiment("evaluate_every: 3\n") + " --decisions --operations " + settings;
    const auto simulated = line_.tandem("simulate " + words + " --out simulated");
    ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
    const auto measured = start == Start::by_tandem_run
                              ? line_.tandem("run " + words + " --out measured")
                              : run_in_shared_world(line_, words + " --out measured",
                                                    testing::build_folder() + "/bin/served_rank");
    ASSERT_EQ(measured.exit_code, 0) << measured.output;
    simulated_ = read_results((line_.folder() / "simulated").string());
    measured_ = read_results((line_.folder() / "measured").string());
    const int most = sync::catalog().find(measured_.info.experiment.sync.algorithm).make.most_workers;
    EXPECT_GE(measured_.info.roles.size(), most == 1 ? 2U : 4U) << "ranks";
    expect_messages_of_table(simulated_);
  }
  /// Before another job is played.
  void remove_results() const {
    for (const char* world : {"simulated", "measured"}) std::filesystem::remove_all(line_.folder() / world);
  }
  /// Each message is between ranks of the roles that a line of its stream names.
  static void expect_messages_of_table(const Results& results) {
    for (const OperationRecord& sent : results.journal.operations) {
      if (sent.kind != "send") continue;
      const auto names = [&](std::string_view roles, Rank rank) {
        const std::string role = role_of(results.info, rank);
        return (", " + std::string(roles) + ",").find(", " + role + ",") != std::string::npos;
      };
      EXPECT_TRUE(std::ranges::any_of(protocol::table,
                                      [&](const protocol::Line& line) {
                                        return line.stream == sent.channel && names(line.from, sent.rank) &&
                                               names(line.to, sent.peer);
                                      }))
          << sent.channel << " from rank " << sent.rank << " to rank " << sent.peer;
    }
  }
  /// Replays every decision of a synchronisation policy, of workers and servers, of both results.
  void expect_all_replayed(const validation::Comparison& comparison) const {
    EXPECT_EQ(comparison.replay.state, validation::Gate::State::passed) << comparison.replay.detail;
    std::int64_t recorded = 0;
    for (const Results* results : {&simulated_, &measured_})
      for (const auto& record : results->journal.decisions)
        recorded += record.side == "worker" || record.side == "server" ? 1 : 0;
    EXPECT_GT(recorded, 0);
    EXPECT_EQ(comparison.replay.checked, recorded);
    // Each step begins with one decision, whatever the algorithm. So does a round that a worker passes.
    for (const Results* results : {&simulated_, &measured_})
      EXPECT_EQ(std::ranges::count_if(results->journal.decisions,
                                      [](const auto& record) {
                                        return record.event.starts_with("step_begin") &&
                                               !record.decisions.ends_with("pass");
                                      }),
                std::ssize(results->journal.steps));
  }
  CommandLine line_{"real"};
  Results simulated_;
  Results measured_;
};

}  // namespace tandem::testing
