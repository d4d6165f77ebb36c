// The shape of every synchronisation algorithm: a worker side and a server side, each a pure object that
// turns events into decisions. No clock, I/O or global state; time arrives in the events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "policies/sync/update_rule.hpp"
#include "policies/vocabulary/catalog.hpp"
#include "policies/vocabulary/choices.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::sync {

/// What workers exchange: the gradient of one step, the change of the model since the last exchange, or the
/// model itself, where each worker has one of its own.
enum class Payload { gradient, change, model };

// ---- Worker side ----

/// Takes part in an exchange. `members` empty means all workers; else the (sorted) worker indices of those
/// whom the worker averages with, itself among them.
struct Exchange {
  Payload payload = Payload::gradient;
  std::vector<int> members = {};
  /// Of this worker's payload in the mean, relative to the others'; none: all alike. Set by all members or by
  /// none. A server weighs by itself.
  std::optional<double> weight = {};
  bool operator==(const Exchange&) const = default;
};
/// Goes on with another local step.
struct Continue {
  bool operator==(const Continue&) const = default;
};
/// Asks the coordinator whether to go on, and waits for its answer.
struct Ask {
  bool operator==(const Ask&) const = default;
};
using WorkerDecision = std::variant<Continue, Ask, Exchange>;

/// A worker is about to take its next step: `local_steps` were taken since the last exchange.
struct StepBegin {
  int local_steps;
};
/// A worker finished forward, backward and local update; the exchange, if any, is not part of `duration`.
struct StepDone {
  Seconds now;
  Seconds duration;
  int samples;
  int local_steps;  ///< since the last exchange, this one included
  /// What the coordinator has said to reports since the last exchange: exchange now, or not yet. Nothing when
  /// no answer has come.
  std::optional<bool> told = {};
};
/// The coordinator's answer to `Ask`.
struct Answer {
  Seconds now;
  bool ready;                ///< exchange now; otherwise take another local step
  std::vector<int> members;  ///< group to exchange with; empty: all
};

/// The server wants so many local steps from now on.
struct LocalSteps {
  int steps;
};
/// What a worker's side is told, in the order in which it is.
using WorkerEvent = std::variant<StepBegin, StepDone, Answer, LocalSteps>;
/// What it decides as a step begins.
struct Beginning {
  std::optional<Exchange> exchange = {};  ///< that goes on during the step
  bool reports = false;                   ///< to the coordinator
};

/// Between peers: who begins exchanges of models without the other's doing. Worker indices, sorted.
struct Neighbours {
  std::vector<int> incoming =
      {};  ///< may take this worker's model, and leave it their mean, during its steps
  std::vector<int> outgoing = {};  ///< of whom this worker may do so
};

/// One worker's side of an algorithm. One object a worker; deterministic.
class WorkerPolicy {
 public:
  virtual ~WorkerPolicy() = default;
  /// An exchange that goes on during the step. Of the gradient: bucket by bucket as backward completes it,
  /// without a local update. Of the model: as it is when the step begins, while the gradient is computed at
  /// it; then the mean takes the worker's own gradient as its update. Without one the step ends with a local
  /// update and `on_step_done` decides.
  virtual std::optional<Exchange> on_step_begin(const StepBegin&) { return std::nullopt; }
  /// True: as the step begins, the worker reports to the coordinator and does not wait for the answer.
  virtual bool reports(const StepBegin&) { return false; }
  /// Only asked after a step without an exchange of its own.
  virtual WorkerDecision on_step_done(const StepDone&) { return Continue{}; }
  /// Only called after an `Ask`.
  virtual WorkerDecision on_answer(const Answer&) { return Continue{}; }
  /// See LocalSteps.
  virtual void on_local_steps(int) {}
  virtual Neighbours neighbours() const { return {}; }
};

// ---- Server side ----

/// A worker's whole push has arrived. `version`: of the model it started from.
struct Push {
  Seconds now;
  int worker;
  int version;
  int samples;       ///< processed since its last push
  int local_steps;   ///< taken since its last push
  Seconds duration;  ///< of its last local step
  double loss;       ///< mean of its steps since its last push; NaN when math is modelled
  double done;       ///< share of the job, whole rounds where these limit it; 1 or more: it ends
  /// The learning rate of the round that follows the pushes so far, as its schedule has it, over the
  /// configured one.
  double rate = 1.0;
};
/// A worker asks whether to go on, or reports as it begins another step.
struct Report {
  Seconds now;
  int worker;
  int version;
  int local_steps;   ///< done since its last push
  Seconds duration;  ///< of its last local step; 0 before the first
};
/// A worker has left for good.
struct Left {
  Seconds now;
  int worker;
};
using ServerEvent = std::variant<Push, Report, Left>;

/// Adds the worker's push to the aggregate with a relative weight.
struct Accept {
  int worker;
  double weight = 1.0;
};
/// Drops the worker's push.
struct Discard {
  int worker;
};
/// One update of the model: by the weighted mean of the aggregate, times `scale`. The version grows by one.
struct Apply {
  double scale = 1.0;
};
/// Sends the worker the model as it is after the decisions before this one.
struct Reply {
  int worker;
  int batch = 0;        ///< its batch size from now on; 0 keeps it
  int local_steps = 0;  ///< that it shall take until it exchanges, from now on; 0 keeps them
};
/// Answers the worker's report.
struct AnswerReport {
  int worker;
  bool ready;
  std::vector<int> members = {};
};
using ServerDecision = std::variant<Accept, Discard, Apply, Reply, AnswerReport>;
/// Executed in this order. Sums are taken in worker order whatever the order of arrival.
using ServerDecisions = std::vector<ServerDecision>;

/// One server shard's side of an algorithm; reports go to the first shard only. Deterministic.
class ServerPolicy {
 public:
  virtual ~ServerPolicy() = default;
  virtual void on_push(const Push& event, ServerDecisions& decisions) = 0;
  virtual void on_report(const Report& event, ServerDecisions& decisions) = 0;
  virtual void on_left(const Left& event, ServerDecisions& decisions) = 0;
};

// ---- Logs ----

/// One line each, e.g. "push worker=2 version=7 samples=64 steps=1 duration=0.25 loss=1.5 done=0.5
/// now=3.5". Round-trips exactly.
std::string to_text(const ServerEvent& event);
/// Errors: ConfigError when the text is no event.
ServerEvent parse_server_event(const std::string& text);
/// "accept 2 1; apply 1; reply 0; reply 1".
std::string to_text(const ServerDecisions& decisions);
/// One line each, e.g. "step_done samples=8 steps=2 duration=0.25 told=1 now=3.5". Round-trips exactly.
std::string to_text(const WorkerEvent& event);
/// Errors: ConfigError when the text is no event.
WorkerEvent parse_worker_event(const std::string& text);
std::string to_text(const WorkerDecision& decision);
/// "exchange gradient", "continue", and with a report "continue; report".
std::string to_text(const Beginning& decision);

// ---- Catalogue ----

/// What an algorithm may know when it is made.
struct Setting {
  int workers;
  int batch;  ///< configured batch size of each worker
  Route route;
  Options options;
  std::uint64_t seed = 1;
};

inline UpdateRule plain_update(const Setting&) { return PlainUpdate{}; }

struct Factory {
  Payload payload;            ///< what it exchanges
  std::vector<Route> routes;  ///< the routes it can use
  bool timing_driven;         ///< decisions depend on durations or arrival order: replayed, not compared
  int (*steps_per_round)(const Options&);  ///< local steps of a round, 0 when it varies
  std::unique_ptr<WorkerPolicy> (*make_worker)(const Setting&, int worker);
  std::unique_ptr<ServerPolicy> (*make_server)(const Setting&) = nullptr;  ///< null: without servers
  UpdateRule (*update_rule)(const Setting&) = plain_update;                ///< for all who hold a model
  bool coordinated = false;  ///< the server policy also decides over all-reduce, on a rank of its own
  int most_workers = 0;      ///< that it can have; 0: any number
  /// Each update is a plain one, of gradients, at full scale, and every worker is answered once after each:
  /// whoever takes them from the replies, one by one, keeps up with the server's model.
  bool lockstep = false;
  bool varies_batch = false;  ///< a reply may change the batch size of its worker
  bool uses_done = false;     ///< decides by Push::done, of which shards agree unless time limits the job
};

/// A rank that holds no model and decides for all.
inline bool has_coordinator(const Factory& algorithm, Route route) {
  return algorithm.coordinated && route == Route::all_reduce;
}

const Catalog<Factory>& catalog();

}  // namespace tandem::sync
