// How a worker combines its payload with those of other workers: through parameter servers, by an
// all-reduce, or with each of them directly. One exchange is: begin, bucket_ready for every bucket in
// backward order, finish.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "policies/recovery/scaling.hpp"
#include "policies/sync/policy.hpp"
#include "workloads/context.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/job/placement/roster.hpp"
#include "workloads/job/plan/exchange_plan.hpp"
#include "workloads/job/plan/progress.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

struct ExchangeResult {
  int version = 0;
  int batch = 0;        ///< batch size from now on; 0 keeps it
  int local_steps = 0;  ///< of a round from now on; 0 keeps them
  bool stop = false;
  std::int64_t rounds = 0;        ///< of the job so far, as its limit counts them; 0: not known to this rank
  std::int64_t samples = 0;       ///< processed by all workers so far; 0: not known to this rank
  std::int64_t commit_round = 0;  ///< protocol::Reply
  double sum_of =
      0;  ///< > 0: the replica has the sum of contributions of so much weight together, each times its
          ///< own, to be adopted; 0: the replica's model, or its centre, is the new one already
  /// The others have finished this round, and perhaps later ones, without this worker: the replica has their
  /// state, and the worker's payload is lost or was summed already.
  bool is_fetched = false;
  bool is_split = false;  ///< the payload counts at some servers, and was dropped by others
  std::int64_t bytes_sent = 0;
  std::int64_t bytes_received = 0;
};

class CoordinatorClient;
class DataPlan;
class MemberExchange;

class Exchange {
 public:
  virtual ~Exchange() = default;
  /// The buffers of the first worker go to all, who wait for them: a sum to which the others add nothing.
  /// Pre: all workers exchange in this step.
  virtual void share_buffers() {}
  /// Starts a new exchange. If models are exchanged, copies the model immediately; other workers may then
  /// average theirs with the copy until the exchange is finished. Pre: the last exchange is finished.
  virtual void begin(const sync::Exchange& exchange) = 0;
  /// The payload of this bucket is complete. Buckets come in backward order. `push`: describes the whole
  /// payload, without the version of the model.
  virtual void bucket_ready(int bucket, const protocol::Push& push) = 0;
  /// The gradient in progress would be dropped (sync::Cancel). Never blocks. Pre: an exchange has begun.
  virtual bool is_cancelled() { return false; }
  /// The rest of the payload will not come. Instead of the buckets that are not ready. By key: of all
  /// buckets. Over servers only.
  virtual void withdraw(const protocol::Push&) {}
  /// Waits for `until` while the exchange progresses, and returns how it ended.
  virtual Completion wait_progressing(Pending& until) = 0;
  /// Waits for the end of the exchange. With sync.overlap "both" it waits only until the result is known:
  /// every bucket must then be awaited before the next exchange begins.
  virtual ExchangeResult finish() = 0;
  /// Waits for this bucket of a finished exchange.
  virtual void await(int) {}
  /// Asks the coordinator whether to exchange now, and waits for the answer. `report` does not wait. Pre
  /// (both): there is a coordinator.
  sync::Answer ask(const protocol::Push& so_far);
  void report(const protocol::Push& so_far);
  /// The coordinator's answer to the reports since the last exchange. None: no answer has arrived, or there
  /// is no coordinator.
  std::optional<bool> coordinator_answer();
  /// This worker ends the job. If it decides for all, it notifies them. Pre: as for serialise.
  virtual void end_job() {}
  /// Its counters and unsent errors. Pre: no exchange is in progress.
  virtual void serialise(StateArchive&) {}
  /// Notifies the others that this worker has ended. If every worker has a model of its own, the first
  /// worker's model becomes the mean of all.
  virtual void leave() = 0;
  /// The additional part of the exchange if workers may depart and join; null: all stay.
  virtual MemberExchange* members() { return nullptr; }

 protected:
  /// The messages of this worker and the coordinator; null without one.
  virtual CoordinatorClient* coordinator() { return nullptr; }

 private:
  /// Version of the model on which contributions are computed, as the coordinator counts.
  virtual int version_of_model() const { return 0; }
};

// One function per route. The arguments must outlive the exchange.

std::unique_ptr<Exchange> make_server_exchange(const Roster& roster, const ExchangePlan& plan,
                                               const DataPlan& data, Context& context, Replica& replica);
/// `sums_samples`: workers may take different numbers of samples in a round.
std::unique_ptr<Exchange> make_all_reduce_exchange(const Roster& roster, const ExchangePlan& plan,
                                                   const StopRule& stop, bool sums_samples, Context& context,
                                                   Replica& replica);
/// The all-reduce of workers that may depart and join. `incarnation`: of this worker in its slot.
std::unique_ptr<Exchange> make_regrouping_all_reduce(const Roster& roster, const ExchangePlan& plan,
                                                     const DataPlan& data, const StopRule& stop,
                                                     const recovery::WorkerScaling& scaling, Context& context,
                                                     Replica& replica, int incarnation);
/// The exchange in rounds between peers that may depart and join.
std::unique_ptr<Exchange> make_regrouping_peers(const Roster& roster, const DataPlan& data,
                                                const StopRule& stop, Context& context, Replica& replica,
                                                int incarnation);
std::unique_ptr<Exchange> make_peer_exchange(const Roster& roster, const ExchangePlan& plan,
                                             const StopRule& stop, Context& context, Replica& replica,
                                             const sync::Neighbours& neighbours);

}  // namespace tandem
