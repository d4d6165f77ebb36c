// The commit at the end of a job (checkpoint.at_end), on every route, and the time that it takes.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/training.hpp"
#include "tests/support/membership_checks.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using Rounds = std::vector<std::int64_t>;
using LastCommitTraining = Training;

/// Of the star's disks.
constexpr double write_rate = 50e6;

/// After 18 rounds with a commit every 10, or every so many seconds of work: the job ends when another one is
/// written, on every route.
TEST_F(LastCommitTraining, TheLastRoundIsCommittedUnlessRefused) {
  const auto over = [](sync::Route route, const std::string& algorithm) {
    return [=](Experiment& experiment) {
      experiment.sync.algorithm = algorithm;
      experiment.sync.over = route;
      experiment.placement.servers = {};
    };
  };
  const Change jobs[] = {
      {"server", [](Experiment&) {}},
      {"servers",
       [](Experiment& e) {
         e.placement.servers = {"host-0", "host-9"};
       }},
      {"asp", [](Experiment& e) { e.sync.algorithm = "asp"; }},
      {"epochs", [](Experiment& e) { e.stop = {.epochs = 18}; }},
      {"workers", [](Experiment& e) { e.optimizer.update_at = UpdateSide::workers; }},
      {"all-reduce", over(sync::Route::all_reduce, "bsp")},
      {"peers", over(sync::Route::peers, "d-psgd")}};
  for (const Change& job : jobs)
    for (const char* unit : {"rounds", "seconds"})
      for (const auto mode : {CommitMode::blocking, CommitMode::background}) {
        if (std::string(unit) == "seconds" && mode == CommitMode::background) continue;
        Experiment experiment = small_experiment(3);
        experiment.workload.math = Math::modelled;
        experiment.physics.ensemble = 0;
        experiment.stop.rounds = 18;
        job.make(experiment);
        const bool by_rounds = std::string(unit) == "rounds";
        experiment.checkpoint = {
            .policy = "fixed",
            .options = {{"interval", by_rounds ? 10.0 : 1e6}, {"unit", std::string(unit)}},
            .mode = mode};
        // Workers that wait for a reply do not notice that their parts are written.
        const bool is_refused = mode == CommitMode::background && experiment.sync.algorithm == "bsp" &&
                                !experiment.placement.servers.empty();
        const std::string name = job.name + "-" + unit + (mode == CommitMode::blocking ? "" : "-background");
        SCOPED_TRACE(name);
        const Seconds with = train_apart(experiment, name, [&](const Journal& journal) {
          Rounds expected;
          if (by_rounds) expected.push_back(10);
          if (!is_refused) expected.push_back(18);
          EXPECT_EQ(rounds_of_commits(journal), expected);
          if (job.name != "server" || mode == CommitMode::background) return;
          // The server writes the model and momentum; the last messages take next to nothing.
          const double write_s = 2 * static_cast<double>(job_->model().bytes().count()) / write_rate;
          EXPECT_NEAR(journal.commits.back().blocked.count(), write_s, 1e-9);
          EXPECT_GE(makespan_, journal.commits.back().ended);
        });
        if (!by_rounds || is_refused) continue;
        experiment.checkpoint.at_end = false;
        const Seconds without = train_apart(experiment, name + "-refused", [&](const Journal& journal) {
          EXPECT_EQ(rounds_of_commits(journal), Rounds{10});
        });
        // Asynchronous workers end in another order.
        if (job.name != "asp") {
          EXPECT_GT(with, without);
        }
      }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
