// A worker's way to combine its payload with the other workers': through parameter-server shards, by an
// all-reduce, or with each of them directly. One exchange is: begin, offer every bucket in backward order,
// finish.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "policies/sync/policy.hpp"
#include "workloads/context.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/job/job.hpp"

namespace tandem {

/// What a worker tells with its payload.
struct Contribution {
  int samples = 0;      ///< processed since its last contribution
  int local_steps = 0;  ///< taken since then
  Seconds duration;     ///< of its last local step
  double loss = 0.0;    ///< mean of these steps, of finite ones under skip; NaN when math is modelled
};

struct ExchangeResult {
  int version = 0;
  int batch = 0;        ///< batch size from now on; 0 keeps it
  int local_steps = 0;  ///< of a round from now on; 0 keeps them
  bool stop = false;
  std::int64_t rounds = 0;   ///< of the job so far, as its limit counts them; where this rank knows, else 0
  std::int64_t samples = 0;  ///< processed by all workers so far, where this rank knows; else 0
  double sum_of =
      0;  ///< > 0: the replica has the sum of contributions of so much weight together, each times its
          ///< own, to be adopted; 0: the replica's model, or its centre, is the new one already
  std::int64_t bytes_sent = 0;
  std::int64_t bytes_received = 0;
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  /// Starts a new exchange. Pre: the last one is finished. A model is taken as it is now, and others may add
  /// theirs until the exchange is finished.
  virtual void begin(const sync::Exchange& exchange) = 0;
  /// The payload of this bucket is complete. Buckets in backward order.
  virtual void bucket_ready(int bucket, const Contribution& contribution) = 0;
  /// Waits for `until` while the exchange goes on.
  virtual void wait_progressing(Pending& until) = 0;
  /// Waits for the end of the exchange; with sync.overlap "both", only until it is known what it brings: then
  /// each bucket is to be awaited before the next exchange begins.
  virtual ExchangeResult finish() = 0;
  /// Waits for what a finished exchange brings of this bucket.
  virtual void await(int) {}
  /// Asks the coordinator whether to go on with local steps, and waits for the answer; or reports to it, and
  /// does not. Pre (both): there is a coordinator.
  virtual sync::Answer ask(const Contribution& contribution);
  virtual void report(const Contribution& contribution);
  /// What the coordinator has said to the reports since the last exchange; nothing when no answer has come.
  virtual std::optional<bool> coordinator_answer() const { return std::nullopt; }
  /// What it counts from exchange to exchange. Pre: none is under way.
  virtual void serialise(StateArchive&) {}
  /// Tells the others that this worker has ended. Where every worker has a model of its own, the first
  /// worker's is their mean afterwards.
  virtual void leave() = 0;
};

/// Worker indices of an exchange among so many workers.
std::vector<int> members_of(const sync::Exchange& exchange, std::size_t workers);

std::unique_ptr<Exchange> make_server_exchange(const Job& job, Context& context, Replica& replica);
std::unique_ptr<Exchange> make_all_reduce_exchange(const Job& job, Context& context, Replica& replica);
std::unique_ptr<Exchange> make_peer_exchange(const Job& job, Context& context, Replica& replica,
                                             const sync::Neighbours& neighbours);

}  // namespace tandem
