// From the pushes of workers to the model of a parameter server: sums pushes and makes updates, which takes
// time on the server's device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/recovery/scaling.hpp"
#include "policies/sync/policy.hpp"
#include "workloads/context.hpp"
#include "workloads/exchange/server_model.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class ServerUpdates {
 public:
  struct Setting {
    std::span<const Rank> workers = {};
    bool records = false;     ///< this server records its updates: all servers make the same number
    bool drops_lost = false;  ///< drops pushes of workers that are gone
    int rate_ramp = 0;        ///< see recovery::RateRamp
  };
  /// The arguments must outlive it.
  ServerUpdates(Context& context, Journal& journal, ServerModel& model, const Setting& setting)
      : context_(context),
        journal_(journal),
        model_(model),
        setting_(setting),
        ramp_(setting.rate_ramp),
        pushes_(setting.workers.size()) {}

  /// All keys of the worker's push are in its buffer.
  void on_push(int worker, const protocol::Push& push) { pushes_.at(index(worker)) = {push, false}; }
  /// A newcomer has this version of the model.
  void begin(int worker, int version);
  /// The worker's last push was dropped.
  bool is_dropped(int worker) const { return pushes_.at(index(worker)).is_dropped; }

  // ---- Decisions of the policy. `is_last_key`: of the push, or of the update ----

  void accept(const sync::Accept& decision, bool is_last_key);
  /// The push stays in its buffer until the next one overwrites it. `is_gone`: the worker.
  void discard(int worker, bool is_gone, bool is_last_key);
  /// `version`: of the model, before the update.
  void apply(double scale, double rate_factor, std::int64_t round, int version, bool is_last_key);
  /// Called before the worker's next push overwrites its buffer.
  void make_room(int worker) {
    if (model_.pushes().has_accepted(worker)) fold();
  }

  /// What a reply to the worker brings, of this version of the model. It may have to be compressed.
  HandedOut hand_out(int worker, std::int64_t version);

  /// At the end of the job: records the pushes that were accepted and are in no update.
  void record_rest();
  void serialise(StateArchive& state);

 private:
  struct Pushed {
    protocol::Push push = {};
    bool is_dropped = false;
  };
  /// A push that is part of the next update.
  struct Accepted {
    int worker;
    protocol::Push push;
  };
  static std::size_t index(int worker) { return static_cast<std::size_t>(worker); }
  void compute(const Work& work, Kernel kernel);
  void fold(bool before_update = false);

  Context& context_;
  Journal& journal_;
  ServerModel& model_;
  Setting setting_;
  recovery::RateRamp ramp_;
  std::vector<Pushed> pushes_;      ///< the last one of each worker
  std::vector<Accepted> accepted_;  ///< since the last update
};

}  // namespace tandem
