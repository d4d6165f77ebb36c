// How fast a job trains, in closed form: from the prices of work and the links of the platform that
// simulations use too, without roles and messages. The cost does not depend on the number of rounds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/description_network.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem::priced {

/// A part of a round.
struct Part {
  std::string name;
  Seconds time;
};

/// What a job would be limited by, if it were only that: the most rounds per second that it allows.
struct Limit {
  std::string name;
  double rounds_per_s = 0.0;
};

struct Prediction {
  int workers = 0;
  bool in_rounds = true;  ///< workers wait for each other; otherwise a round is a step of each worker
  Seconds round;          ///< duration
  Seconds fastest;        ///< between these two; equal where the closed form is exact
  Seconds slowest;
  std::string origin;          ///< how good the duration is, and why
  double samples_per_s = 0.0;  ///< of all workers
  std::vector<Part> parts;     ///< of the round, one after the other
  std::vector<Limit> limits;   ///< lowest first: the first one binds, the second one would be next
  std::int64_t rounds = 0;     ///< of the job; 0: it ends at a time
  Seconds makespan;            ///< of all rounds; 0 if it ends at a time
};

/// The hosts between which it needs the network.
std::vector<std::string> hosts_of_prediction(const Job& job);
/// `network`: between these. Machines do not depart, nothing is committed or evaluated, and times do not
/// vary. Errors: ConfigError for jobs without a closed form.
Prediction predict(const Job& job, const platforms::Network& network);

}  // namespace tandem::priced
