// Commits of workers that exchange without servers: a job in closed form (negligible network, steps of a
// second, and a second for each vector of the model's size that is written), whose workers depart and join.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/stream_text.hpp"
#include "tests/sim/training.hpp"
#include "workloads/checkpoint/commit_members.hpp"
#include "workloads/checkpoint/state_files.hpp"

namespace tandem::testing {

using Rounds = std::vector<std::int64_t>;

/// Of the star's disks.
inline constexpr std::int64_t bytes_per_second = 50'000'000;

inline Experiment small_steps(Experiment experiment) {
  experiment.workload.batch = 4;
  experiment.optimizer.learning_rate = 0.002;
  const auto& entry = sync::catalog().find(experiment.sync.algorithm);
  if (std::ranges::count(entry.options, "h", &OptionSpec::name) > 0)
    experiment.sync.options["h"] = std::int64_t{3};
  return experiment;
}

class MemberCommits : public Training {
 protected:
  MemberCommits() {
    platform_ = TemporaryPlatform::star(5, 1e12, 1e-7);
    price_ = [](Rank, const Work& work) { return Seconds(work.kind == Work::Kind::forward ? 1.0 : 0.0); };
  }

  static Experiment job(const std::string& algorithm = "bsp") {
    Experiment experiment = small_experiment(4);
    experiment.sync.algorithm = algorithm;
    const auto& routes = sync::catalog().find(algorithm).make.routes;
    const bool sums = std::ranges::count(routes, sync::Route::all_reduce) > 0;
    experiment.sync.over = sums ? sync::Route::all_reduce : sync::Route::peers;
    experiment.sync.collective = "ring";
    experiment.recovery.policy = "shrink";
    return experiment;
  }
  static void commit_every(Experiment& experiment, double rounds) {
    experiment.checkpoint.policy = "fixed";
    experiment.checkpoint.options = {{"interval", rounds}};
  }
  /// A model whose vectors take a second to write. Each worker has two of them, and the first one also writes
  /// the model: 13 rounds of a second, with three commits of three seconds.
  static Experiment large() {
    Experiment experiment = job();
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.workload.model = "synthetic";
    experiment.workload.synthetic_parameters = bytes_per_second / 4;
    experiment.stop.rounds = 13;
    commit_every(experiment, 4);
    return experiment;
  }
  static void depart_at(Experiment& experiment, const std::string& events) {
    experiment.transience.lifetime = "trace";
    // Nodes have the slots in which they appear first.
    experiment.transience.options["events"] = "0 add a; 0 add b; 0 add c; 0 add d; " + events;
  }
  static Rounds rounds_of(const Journal& journal) {
    Rounds rounds;
    for (const auto& commit : journal.commits) rounds.push_back(commit.round);
    return rounds;
  }
  /// In vectors of the large model.
  static std::vector<double> sizes_of(const Journal& journal) {
    std::vector<double> sizes;
    for (const auto& commit : journal.commits)
      sizes.push_back(static_cast<double>(commit.bytes) / static_cast<double>(bytes_per_second));
    return sizes;
  }
  using Sizes = std::vector<double>;
  void expect_makespan(double seconds) const { EXPECT_NEAR(makespan_.count(), seconds, 0.02); }

  /// A training in a separate process and folder: the end of each of its commits, by round.
  std::map<std::int64_t, double> commits_apart(const Experiment& experiment, const std::string& folder) {
    train_apart(experiment, folder, [this](const Journal& journal) {
      std::ofstream file(directory_ / "commits");
      for (const auto& commit : journal.commits) file << commit.round << ' ' << commit.ended.count() << '\n';
    });
    std::map<std::int64_t, double> ends;
    std::ifstream file(directory_ / folder / "commits");
    for (std::int64_t round = 0; file >> round;) file >> ends[round];
    return ends;
  }

  /// A job of small steps in which the workers depart and others come, at times that depend on the seed.
  static Experiment random_departures(const std::string& algorithm, std::uint64_t seed) {
    Experiment experiment = small_steps(job(algorithm));
    experiment.optimizer.momentum = 0.0;
    experiment.checkpoint.keep = 0;
    experiment.checkpoint.mode = seed % 3 == 0 ? CommitMode::background : CommitMode::blocking;
    experiment.seed = seed;
    experiment.recovery.policy = "replace";
    experiment.transience.lifetime = "exponential";
    const auto& entry = sync::catalog().find(algorithm);
    const int steps =
        entry.make.steps_per_round(Options::resolve(entry.name, entry.options, experiment.sync.options));
    experiment.transience.options["mean"] = 120.0 * std::max(1, steps);
    experiment.transience.start = Seconds(3.0);
    experiment.transience.detect = Seconds(seed % 4 < 2 ? 0.0 : 0.5);
    return experiment;
  }
  /// Each recorded commit is one of its own round, whose members have written their states after it. The job
  /// is resumed from the last one.
  void expect_whole_commits(const Journal& journal) const {
    std::set<std::int64_t> recorded;
    for (const auto& commit : journal.commits)
      EXPECT_TRUE(recorded.insert(commit.round).second) << "round " << commit.round << " twice";
    EXPECT_EQ(files(".members"), recorded);
    for (const std::int64_t round : recorded)
      for (const int member : load_members(members_path(directory_.string(), round), 4)) {
        const auto state =
            SavedState::load(state_path(directory_.string(), round, job_->roster().assignment(member)));
        EXPECT_EQ(state.integer("exchange.rounds"), round) << "worker " << member;
      }
    if (recorded.empty()) return;
    EXPECT_EQ(find_resume_point(*job_, directory_.string(), {}).round, *recorded.rbegin());
  }

  std::string contents(const std::string& file) const {
    std::ifstream stream(directory_ / file, std::ios::binary);
    return rest_of(stream);
  }
  std::set<std::int64_t> files(const std::string& ending, const std::string& folder = "") const {
    std::set<std::int64_t> rounds;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ / folder / "checkpoints")) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("round_") && name.substr(name.find('.')) == ending)
        rounds.insert(std::stoll(name.substr(6)));
    }
    return rounds;
  }
};

/// Those without servers.
inline std::vector<std::string> algorithms_of_rounds() {
  std::vector<std::string> names;
  for (const auto& entry : sync::catalog().entries()) {
    const auto has = [&](sync::Route route) { return std::ranges::count(entry.make.routes, route) > 0; };
    const bool averages = has(sync::Route::peers) && !entry.make.timing_driven;
    if (entry.make.most_workers == 0 && (has(sync::Route::all_reduce) || averages))
      names.push_back(entry.name);
  }
  return names;
}

inline std::string named(std::string algorithm) {
  std::erase(algorithm, '-');
  return algorithm;
}

/// An algorithm and a seed.
using Seeded = std::tuple<std::string, std::uint64_t>;

/// All algorithms without servers with two seeds each, except for these.
inline std::vector<Seeded> all_seeded_but(const std::vector<Seeded>& some) {
  std::vector<Seeded> all;
  for (const std::string& algorithm : algorithms_of_rounds())
    for (std::uint64_t seed = 1; seed <= 2; ++seed)
      if (std::ranges::count(some, Seeded(algorithm, seed)) == 0) all.emplace_back(algorithm, seed);
  return all;
}
inline std::string name_of_seeded(const ::testing::TestParamInfo<Seeded>& test) {
  return named(std::get<0>(test.param)) + std::to_string(std::get<1>(test.param));
}

}  // namespace tandem::testing
