// The interface of every synchronisation algorithm: a worker side and a server side, each a pure object that
// turns events into decisions. No clock, I/O or global state; time arrives in the events.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "policies/sync/update_rule.hpp"
#include "policies/vocabulary/catalog.hpp"
#include "policies/vocabulary/choices.hpp"
#include "policies/vocabulary/policy_state.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::sync {

/// What workers exchange: the gradient of one step, the change of the model since the last exchange, or the
/// model itself, where each worker has its own.
enum class Payload { gradient, change, model };

// ---- Worker side ----

/// The worker takes part in an exchange.
struct Exchange {
  Payload payload = Payload::gradient;
  /// Sorted indices of the workers that exchange, this one included; empty: all workers.
  std::vector<int> members = {};
  /// Relative weight of this worker's payload in the mean; none: all weights are equal. Either all members
  /// set it or none. On the server route the server chooses the weights instead.
  std::optional<double> weight = {};
  bool operator==(const Exchange&) const = default;
};
/// The worker takes another local step.
struct Continue {
  bool operator==(const Continue&) const = default;
};
/// The worker asks the coordinator whether to continue, and waits for the answer.
struct Ask {
  bool operator==(const Ask&) const = default;
};
using WorkerDecision = std::variant<Continue, Ask, Exchange>;

/// The worker is about to take its next step.
struct StepBegin {
  int local_steps;  ///< since the last exchange
};
/// The worker finished forward, backward and local update; an exchange is not part of `duration`.
struct StepDone {
  Seconds now;
  Seconds duration;
  int samples;
  int local_steps;  ///< since the last exchange, this one included
  /// The coordinator's answer to reports since the last exchange. True: exchange now; false: not yet; none:
  /// no answer has arrived.
  std::optional<bool> coordinator_answer = {};
};
/// The coordinator's answer to `Ask`.
struct Answer {
  Seconds now;
  bool ready;  ///< exchange now; otherwise take another local step
};
/// The server sets the number of local steps between exchanges from now on.
struct LocalSteps {
  int steps;
};
/// The workers that take part from now on. It is the first event of a worker that joins; the others get it
/// when workers leave or join. The receiver has no exchange in flight; a cancelled exchange is decided
/// again. Where workers exchange in rounds without a server, all get the same event after the same round.
struct Members {
  int round;                 ///< rounds before the receiver's model
  std::vector<int> workers;  ///< sorted indices, the receiver included
};
/// All events of a worker's side.
using WorkerEvent = std::variant<StepBegin, StepDone, Answer, LocalSteps, Members>;
/// The decision of a worker at the begin of a step.
struct StepBeginDecision {
  std::optional<Exchange> exchange = {};  ///< runs during the step
  bool reports = false;                   ///< to the coordinator
  bool waits = false;                     ///< for the answer to that report, whatever it is
  bool passes = false;                    ///< there is no step: the exchange is empty
};

/// On the peers route: the workers between which exchanges of models can start. Sorted worker indices.
struct Neighbours {
  std::vector<int> incoming = {};  ///< these may start an exchange with this worker during its steps
  std::vector<int> outgoing = {};  ///< this worker may start an exchange with them
};

/// One worker's side of an algorithm: one object per worker. Deterministic.
class WorkerPolicy {
 public:
  virtual ~WorkerPolicy() = default;
  /// An exchange that overlaps with the step. Of the gradient: each bucket is exchanged when the backward
  /// pass has computed it, and the worker does no local update. Of the model: the model at the begin of the
  /// step is exchanged, while the gradient is computed for it; then the mean is updated by the worker's own
  /// gradient. Without an exchange, the step ends with a local update, and `on_step_done` decides.
  virtual std::optional<Exchange> on_step_begin(const StepBegin&) { return std::nullopt; }
  /// True: at the begin of the step, the worker reports to the coordinator. It does not wait for the answer,
  /// or if `waits` is true, it waits and continues whatever the answer is.
  virtual bool reports(const StepBegin&) { return false; }
  virtual bool waits(const StepBegin&) { return false; }
  /// Called once at the begin of a step, before the other questions about it. An exchange: the worker takes
  /// no step in this round. It exchanges an empty contribution, which states no weight but 0, and waits for
  /// the result.
  virtual std::optional<Exchange> passes(const StepBegin&) { return std::nullopt; }
  /// Called after a step without an overlapping exchange.
  virtual WorkerDecision on_step_done(const StepDone&) { return Continue{}; }
  /// Called after an `Ask`.
  virtual WorkerDecision on_answer(const Answer&) { return Continue{}; }
  /// See LocalSteps.
  virtual void on_local_steps(int) {}
  virtual void on_members(const Members&) {}
  virtual Neighbours neighbours() const { return {}; }
  /// Shows every value that events change; see serialised() and restore().
  virtual void serialise(PolicyState& state) = 0;
};

// ---- Server side ----

/// A worker's push has arrived completely.
struct Push {
  Seconds now;
  int worker;
  int version;       ///< of the model with which the worker started
  int samples;       ///< processed since its last push
  int local_steps;   ///< taken since its last push
  Seconds duration;  ///< of its last local step
  double loss;       ///< mean over its steps since its last push; NaN when math is modelled
  double done;       ///< share of the job that is done (whole rounds if rounds limit it); 1 or more: it ends
  /// The schedule's learning rate of the next round, divided by the configured learning rate.
  double rate = 1.0;
  /// There is nothing to accept: the step was stopped (Cancel), or the worker took none (passes).
  bool cancelled = false;
};
/// A worker asks whether to continue, or reports when it begins another step.
struct Report {
  Seconds now;
  int worker;
  int version;
  int local_steps;   ///< taken since its last push
  Seconds duration;  ///< of its last local step; 0 before the first
};
/// A worker is absent from now on: it was lost, it has finished, or its slot is empty when the job begins.
/// Its accepted push stays in the aggregate, and it gets no reply. Without effect if it is absent already.
struct Left {
  Seconds now;
  int worker;
  /// Its push of the current round is dropped. Only for algorithms whose rounds are updates (Membership).
  bool drops = false;
};
/// A worker that was absent takes part from now on. Its side of the algorithm is a new object, and it has no
/// push in flight.
struct Joined {
  Seconds now;
  int worker;
  int version;  ///< of the model that it has
};
using ServerEvent = std::variant<Push, Report, Left, Joined>;

/// Adds the worker's push to the aggregate with a relative weight. An aggregate may contain several pushes of
/// a worker, for example of one that has left and joined again.
struct Accept {
  int worker;
  double weight = 1.0;
};
/// Drops the worker's push. If the worker has left, its push is removed from the aggregate.
struct Discard {
  int worker;
};
/// One update of the model by the weighted mean of the aggregate, times `scale`. The version grows by one.
struct Apply {
  double scale = 1.0;
};
/// Sends the worker the model after the decisions before this one. Gradients that were computed on that
/// version already are answered without the model.
struct Reply {
  int worker;
  int batch = 0;        ///< the worker's batch size from now on; 0: unchanged
  int local_steps = 0;  ///< the worker's local steps between exchanges from now on; 0: unchanged
  /// The worker gets no model, and continues with its own (Factory::keeps_models).
  bool keeps_model = false;
};
/// Answers the worker's report.
struct AnswerReport {
  int worker;
  bool ready;  ///< to exchange
};
/// Stops the steps that compute a gradient on a model older than this version: its push would be dropped. A
/// worker stops after its forward pass, or between two buckets of its backward pass, and pushes without a
/// gradient. A step whose gradient is computed ends as usual. Of several servers, the first one decides.
struct Cancel {
  int version;
};
using ServerDecision = std::variant<Accept, Discard, Apply, Reply, AnswerReport, Cancel>;
/// Executed in this order. Sums are taken in worker order, independent of the order of arrival.
using ServerDecisions = std::vector<ServerDecision>;

/// One server shard's side of an algorithm; only the first shard receives reports. Deterministic, so that
/// servers that get the same pushes in the same order decide alike (sync.decides).
class ServerPolicy {
 public:
  virtual ~ServerPolicy() = default;
  virtual void on_push(const Push& event, ServerDecisions& decisions) = 0;
  virtual void on_report(const Report& event, ServerDecisions& decisions) = 0;
  virtual void on_left(const Left& event, ServerDecisions& decisions) = 0;
  virtual void on_joined(const Joined& event, ServerDecisions& decisions) = 0;
  /// Shows every value that events change; see serialised() and restore().
  virtual void serialise(PolicyState& state) = 0;
};

// ---- Logs ----

/// One line each, e.g. "push worker=2 version=7 samples=64 steps=1 duration=0.25 loss=1.5 done=0.5
/// now=3.5". Round-trips exactly.
std::string to_text(const ServerEvent& event);
/// Errors: ConfigError when the text is not an event.
ServerEvent parse_server_event(const std::string& text);
/// "accept 2 1; cancel 8; apply 1; reply 0; reply 1".
std::string to_text(const ServerDecisions& decisions);
/// One line each, e.g. "step_done samples=8 steps=2 duration=0.25 answer=1 now=3.5". Round-trips exactly.
std::string to_text(const WorkerEvent& event);
/// Errors: ConfigError when the text is not an event.
WorkerEvent parse_worker_event(const std::string& text);
std::string to_text(const WorkerDecision& decision);
/// "exchange gradient", "continue", with a report "continue; report" or "continue; report and wait", and of a
/// worker that takes no step "exchange change weight=0; pass".
std::string to_text(const StepBeginDecision& decision);

// ---- Catalogue ----

/// The configuration of an algorithm.
struct Setting {
  int workers;
  int batch;  ///< configured batch size of each worker
  Route route;
  Options options;
  std::uint64_t seed = 1;
  bool sums_gradients = false;  ///< gradients are sums over a batch, not means
  /// Samples that a worker owns; null: a batch.
  std::function<std::int64_t(int worker)> shard = nullptr;
};

inline UpdateRule plain_update(const Setting&) { return PlainUpdate{}; }

/// The changes of the set of workers after which an algorithm can continue.
struct Membership {
  enum class Bears { departures_and_arrivals, departures_only, neither } bears = Bears::neither;
  std::string how = "not stated";  ///< the effect of a change; or why other changes are impossible
  /// On the server route: each update ends a round, however many workers are present. Otherwise a round is
  /// one push per worker that is present.
  bool rounds_are_updates = false;
};
/// "departures and arrivals: a round ends without a worker that left, and waits for a newcomer from the next
/// round on; ...".
std::string to_text(const Membership& membership);

/// The work of a worker in rounds that all finish together.
struct WorkerPace {
  Seconds step;      ///< of a local step
  Seconds exchange;  ///< from the end of its last step until its push has arrived
  Seconds reply;     ///< from the end of a round until it begins the next one
  friend bool operator==(const WorkerPace&, const WorkerPace&) = default;
};

struct Factory {
  Payload payload;            ///< what workers exchange
  std::vector<Route> routes;  ///< the routes it can use
  bool timing_driven;         ///< decisions depend on durations or arrival order: replayed, not compared
  int (*steps_per_round)(const Options&);  ///< local steps of a round; 0 when it varies
  std::unique_ptr<WorkerPolicy> (*make_worker)(const Setting&, int worker);
  std::unique_ptr<ServerPolicy> (*make_server)(const Setting&) = nullptr;  ///< null: without servers
  UpdateRule (*update_rule)(const Setting&) = plain_update;  ///< of every rank that holds a model
  bool coordinated =
      false;             ///< over all-reduce, the server policy runs on a rank of its own, the coordinator
  int most_workers = 0;  ///< largest number of workers; 0: any
  /// Each update is a plain one, of gradients, at full scale, and every worker gets exactly one reply after
  /// each. Workers that apply the mean gradients from the replies have the same model as the server. A
  /// worker that joins during a round misses its update: if its first push is dropped, it needs the whole
  /// model.
  bool lockstep = false;
  /// The server answers every push at once: no worker waits for another.
  bool is_free_running = false;
  /// Gradients of one model that make an update, and end a round unless it is free running; those of older
  /// models are dropped. Null: every push counts.
  std::int64_t (*quorum)(const Setting&) = nullptr;
  /// Local steps of a round, by worker, when durations do not vary, while the slowest one sets the pace;
  /// empty: workers that differ are equally slow, so that is open. Null: otherwise.
  std::vector<int> (*steady_steps)(const Options&, const std::vector<WorkerPace>& workers) = nullptr;
  bool varies_batch = false;  ///< a reply may change the batch size of its worker
  bool uses_losses = false;   ///< decides by the losses of steps
  bool uses_done = false;     ///< decides by Push::done; shards agree on it unless each has its own time
  /// With these options, the server may stop steps (Cancel); null: never.
  bool (*cancels)(const Options&) = nullptr;
  /// With these options, so many workers take steps in a round, and the others pass it; null: all take steps.
  int (*workers_of_round)(const Setting&) = nullptr;
  bool keeps_models = false;  ///< a reply may bring no model (Reply::keeps_model)
  /// On the server route, each part of the model can have a server's side of its own, though it decides by
  /// times: it applies pushes at once, all alike, or waits for all. Without this flag, sides that do not
  /// decide by times, or in lockstep, can.
  bool decides_by_part = false;
  /// Durations of local steps that workers report are without the loading of their samples.
  bool excludes_loading = false;
  Membership membership = {};
};

/// One entry of the catalogue. Each algorithm's source file has one function that returns it.
using Algorithm = CatalogEntry<Factory>;

/// The coordinator: a rank that holds no model and decides for all workers.
inline bool has_coordinator(const Factory& algorithm, Route route) {
  return algorithm.coordinated && route == Route::all_reduce;
}

const Catalog<Factory>& catalog();

}  // namespace tandem::sync
