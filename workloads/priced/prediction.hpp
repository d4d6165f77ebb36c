// How fast a job trains, in closed form: from the prices of work and the links of the platform that
// simulations use too, without roles and messages. The cost does not depend on the number of rounds.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "platforms/description_network.hpp"
#include "policies/vocabulary/choices.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/priced/worker_times.hpp"

namespace tandem::priced {

/// A part of a round.
struct Part {
  std::string name;
  Seconds time;
};

/// What a job would be limited by, if it were only that: the most rounds per second that it allows.
struct Limit {
  enum class Of : std::uint8_t { workers, servers, network };
  std::string name;
  double rounds_per_s = 0.0;
  Of of = Of::workers;
};

/// How good a closed form is.
enum class Certainty : std::uint8_t {
  exact,         ///< what the simulation of every message gives, but for rounding
  bound,         ///< the simulation is not slower
  approximation  ///< the simulation is near it
};

struct Prediction {
  int workers = 0;
  bool in_rounds = true;      ///< workers wait for each other; otherwise a round is a step of each worker
  bool waits_for_all = true;  ///< each worker for every other one
  Seconds round;              ///< duration
  Seconds fastest;            ///< between these two; equal where the closed form is exact
  Seconds slowest;
  Certainty certainty = Certainty::exact;  ///< of the duration
  std::string origin;                      ///< why
  double samples_per_s = 0.0;              ///< of all workers, without gradients that rounds drop
  std::vector<Part> parts;                 ///< of the round, one after the other
  std::vector<Limit> limits;  ///< lowest first: the first one binds, the second one would be next
  /// Servers with which, in equal shares and with a link and cores each, they would not bind; 0: they do not.
  int servers_needed = 0;
  bool more_servers_help = true;     ///< false: they bind with any number of servers, too
  std::string unused_cores;          ///< of the host of the busiest servers, in words; empty: none
  std::vector<WorkerTimes> classes;  ///< of equal workers
  /// Of a job that counts pushes instead, also late ones: a round is as many of them as there are workers.
  double updates_per_round = 1.0;
  /// Late steps stop, so late workers begin each round with the others.
  bool stops_late = false;
  double steps_per_round = 1.0;                     ///< of a worker, in the mean
  int awaited = 0;                                  ///< workers whose gradients end a round
  std::int64_t samples_per_step = 0;                ///< of a worker
  std::int64_t bytes_sent = 0, bytes_received = 0;  ///< by all workers in a round, as if none was late
  std::int64_t rounds = 0;                          ///< of the job; 0: it ends at a time
  Seconds makespan;                                 ///< of all rounds; 0 if it ends at a time

  /// In a round, of a worker of the class. A late worker does fewer, because it begins the next one when it
  /// has ended one.
  double steps_of(const WorkerTimes& of) const;
  /// In a round, of all workers, also those whose gradients are dropped.
  double samples_per_round() const {
    return steps_per_round * workers * static_cast<double>(samples_per_step);
  }
};

/// Refuses a job, and names the level that can predict it. Errors: ConfigError.
[[noreturn]] void has_no_form(const std::string& what);

/// The hosts between which it needs the network.
std::vector<std::string> hosts_of_prediction(const Job& job);
/// Those of servers: many workers share their links.
std::vector<std::string> hubs_of_prediction(const Job& job);
/// `network`: between these. Machines do not depart, and nothing is committed or evaluated. With
/// physics.noise spread a round with a barrier waits for the slowest worker in the mean. Errors: ConfigError
/// for jobs without a closed form, naming the key.
/// `counts_updates`: the job is a part of one from which workers may depart, and counts its rounds as that
/// one does.
Prediction predict(const Job& job, const platforms::Network& network, bool counts_updates = false);

}  // namespace tandem::priced

namespace tandem {

template <>
inline constexpr std::array<ChoiceName<priced::Certainty>, 3> choice_names<priced::Certainty> = {
    {{priced::Certainty::exact, "exact"},
     {priced::Certainty::bound, "bound"},
     {priced::Certainty::approximation, "approximation"}}};

}  // namespace tandem
