// FedAvg (McMahan et al., AISTATS 2017, algorithm 1). Local SGD whose average is weighted by the samples of
// each worker. The steps of a round may be epochs of a worker's own samples. In each round a random fraction
// of the workers takes steps, the same at all ranks; the others pass the round. They get its model, too,
// which the paper sends only to workers that take steps. Over servers a worker that joins counts the updates
// of its model as rounds. If earlier rounds ended without an update, as all who were drawn had left, it draws
// for other rounds than those who saw these: more or fewer workers than the fraction may take steps then.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/common/local_steps_worker.hpp"
#include "policies/sync/common/push_server.hpp"
#include "policies/sync/common/round_barrier.hpp"
#include "policies/sync/common/weights.hpp"
#include "policies/sync/local_steps/algorithms.hpp"
#include "policies/sync/local_steps/outer_momentum.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::sync {
namespace {

/// Of so many, at least one.
std::size_t drawn_of(const Options& options, std::size_t workers) {
  const double share = options.real("fraction") * static_cast<double>(workers);
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(share)));
}

int workers_of_round(const Setting& setting) {
  return static_cast<int>(drawn_of(setting.options, static_cast<std::size_t>(setting.workers)));
}

/// Local steps of the worker's rounds.
std::int64_t steps_of(const Setting& setting, int worker) {
  const double epochs = setting.options.real("epochs");
  if (epochs == 0.0) return h_steps(setting.options);
  const auto shard = static_cast<double>(setting.shard ? setting.shard(worker) : setting.batch);
  return std::max<std::int64_t>(1, std::llround(epochs * shard / setting.batch));
}
int steps_of_all(const Options& options) {
  return options.real("epochs") == 0.0 ? h_steps(options) : varying_steps(options);
}

bool may_pass(const Setting& setting) { return workers_of_round(setting) < setting.workers; }

class FedAvgWorker final : public LocalStepsWorker {
 public:
  FedAvgWorker(const Setting& setting, int worker)
      : LocalStepsWorker(steps_of(setting, worker), setting.options.text("weights"), true),
        options_(setting.options),
        seed_(setting.seed),
        worker_(worker),
        members_(static_cast<std::size_t>(setting.workers)) {
    std::iota(members_.begin(), members_.end(), 0);
  }

  std::optional<Exchange> passes(const StepBegin& event) override {
    if (event.local_steps > 0) return std::nullopt;
    if (has_begun_) ++round_;
    has_begun_ = true;
    // An exchange that is decided again stays empty.
    if (passed_ != round_ && is_drawn()) return std::nullopt;
    passed_ = round_;
    return Exchange{.payload = Payload::change, .weight = 0.0};
  }
  WorkerDecision on_step_done(const StepDone& event) override {
    has_begun_ = true;
    return LocalStepsWorker::on_step_done(event);
  }
  void on_members(const Members& event) override {
    members_ = event.workers;
    round_ = event.round;
    has_begun_ = false;
  }
  void serialise(PolicyState& state) override {
    LocalStepsWorker::serialise(state);
    state.list("members", members_);
    state.value("round", round_);
    state.value("has_begun", has_begun_);
    state.value("passed", passed_);
  }

 private:
  bool is_drawn() const {
    std::vector<int> order = members_;
    Rng::stream(seed_, "fedavg", static_cast<std::uint64_t>(round_)).shuffle(order);
    const auto drawn = static_cast<std::ptrdiff_t>(drawn_of(options_, order.size()));
    return std::find(order.begin(), order.begin() + drawn, worker_) != order.begin() + drawn;
  }

  Options options_;
  std::uint64_t seed_;
  int worker_;
  std::vector<int> members_;  ///< among whom each round draws
  int round_ = 0;             ///< in progress, or the next one
  bool has_begun_ = false;    ///< the round is in progress
  int passed_ = -1;           ///< the last round that this worker has passed
};

/// An AveragingServer for rounds that workers may pass: a round may end without an update.
class FedAvgServer final : public PushServer {
 public:
  explicit FedAvgServer(const Setting& setting)
      : barrier_(setting.workers),
        weights_(setting.options.text("weights")),
        accepted_(static_cast<std::size_t>(setting.workers), false) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    if (barrier_.is_late(event.version)) return barrier_.drop_late(event, decisions);
    if (event.cancelled)
      decisions.emplace_back(Discard{event.worker});
    else
      accept(event, decisions);
    barrier_.arrive(event.worker);
    end_round_if_complete(decisions);
  }
  void on_left(const Left& event, ServerDecisions& decisions) override {
    const auto worker = static_cast<std::size_t>(event.worker);
    const bool is_dropped = barrier_.leave(event.worker, event.drops) && accepted_[worker];
    if (is_dropped) {
      decisions.emplace_back(Discard{event.worker});
      accepted_[worker] = false;
    }
    end_round_if_complete(decisions);
  }
  void on_joined(const Joined& event, ServerDecisions&) override {
    barrier_.join(event.worker, event.version);
  }
  void serialise(PolicyState& state) override {
    barrier_.serialise(state);
    state.flags("accepted", accepted_);
  }

 private:
  void accept(const Push& event, ServerDecisions& decisions) {
    decisions.emplace_back(Accept{event.worker, weight_of(weights_, event)});
    accepted_[static_cast<std::size_t>(event.worker)] = true;
  }
  /// All who were drawn may have left.
  void end_round_if_complete(ServerDecisions& decisions) {
    if (!barrier_.complete()) return;
    if (std::find(accepted_.begin(), accepted_.end(), true) == accepted_.end())
      return barrier_.release_without_update(decisions);
    barrier_.release(decisions);
    accepted_.assign(accepted_.size(), false);
  }

  Barrier barrier_;
  std::string weights_;
  std::vector<bool> accepted_;  ///< by slot: a push of it is part of the next update
};

/// Where all take steps, rounds are those of local SGD, and so are saved states.
std::unique_ptr<WorkerPolicy> make_worker_of_fedavg(const Setting& setting, int worker) {
  return may_pass(setting)
             ? make_worker<FedAvgWorker>(setting, worker)
             : std::make_unique<LocalStepsWorker>(steps_of(setting, worker), setting.options.text("weights"));
}
std::unique_ptr<ServerPolicy> make_server_of_fedavg(const Setting& setting) {
  return may_pass(setting) ? make_server<FedAvgServer>(setting) : make_server<WeightedAverageServer>(setting);
}

std::vector<OptionSpec> options_of_fedavg() {
  std::vector<OptionSpec> options =
      outer_options({.h = 4, .rate = 1.0, .momentum = 0.0, .nesterov = false, .weights = "samples"});
  options.push_back({.name = "fraction",
                     .summary =
                         "C: share of the workers that take steps in a round, drawn again for each, at "
                         "least one worker; the others are idle",
                     .default_value = 1.0,
                     .minimum = 0.0,
                     .maximum = 1.0});
  options.push_back(
      {.name = "epochs",
       .summary = "E: a round's passes of a worker over the shard with which the job begins (data.split), "
                  "in place of h steps; its steps are rounded, at least one; 0: h steps",
       .default_value = 0.0,
       .minimum = 0.0,
       .maximum = 1e6});
  return options;
}

}  // namespace

Algorithm fedavg() {
  Factory make = changes_every_h_steps(outer_update);
  make.steps_per_round = steps_of_all;
  make.make_worker = make_worker_of_fedavg;
  make.make_server = make_server_of_fedavg;
  make.workers_of_round = workers_of_round;
  make.membership.how += "; over servers a round draws among all slots";
  return {.name = "fedavg",
          .summary =
              "like local-sgd, with an average weighted by samples, an optional outer optimiser, and "
              "rounds of a part of the workers",
          .paper = "McMahan et al., AISTATS 2017",
          .options = options_of_fedavg(),
          .make = std::move(make)};
}

}  // namespace tandem::sync
