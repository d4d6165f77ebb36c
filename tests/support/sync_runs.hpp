// Comparisons of whole runs of synchronisation algorithms: equal logs, or equal waiting.
#pragma once

#include <gtest/gtest.h>

#include "tests/support/policy_run.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::testing {

/// Step durations of two to eight workers.
inline std::vector<double> random_durations(Rng& random) {
  std::vector<double> durations(2 + random.below(7));
  for (double& duration : durations) duration = 0.1 + random.uniform();
  return durations;
}

struct Release {
  double time;
  std::vector<std::string> workers;
  bool operator==(const Release&) const = default;
};
inline void PrintTo(const Release& release, std::ostream* out) {
  *out << release.time << ": " << ::testing::PrintToString(release.workers);
}

/// When which workers were answered together.
inline std::vector<Release> releases(const PolicyRun& run) {
  std::vector<Release> all;
  for (const auto& line : run.log()) {
    Release release{std::stod(line.event.substr(line.event.find("now=") + 4)), {}};
    for (const auto& decision : decisions_of(line))
      if (decision[0] == "reply") release.workers.push_back(decision[1]);
    if (!release.workers.empty()) all.push_back(release);
  }
  return all;
}

struct Configured {
  std::string algorithm;
  std::map<std::string, OptionValue> options;
};

/// Expects, over many seeds, that the same events lead to the same decisions until the end of the job.
inline void expect_same_log(const Configured& a, const Configured& b) {
  for (const auto seed : seeds(30)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "same log");
    const auto durations = random_durations(random);
    PolicyRun one(a.algorithm, durations, a.options, Rng::stream(seed, "steps"));
    PolicyRun other(b.algorithm, durations, b.options, Rng::stream(seed, "steps"));
    for (PolicyRun* run : {&one, &other}) {
      run->run_updates(200);
      run->stop();
    }
    ASSERT_EQ(one.log().size(), other.log().size());
    for (std::size_t i = 0; i < one.log().size(); ++i) {
      ASSERT_EQ(one.log()[i].event, other.log()[i].event);
      ASSERT_EQ(one.log()[i].decisions, other.log()[i].decisions) << one.log()[i].event;
    }
  }
}

}  // namespace tandem::testing
