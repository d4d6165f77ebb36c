// The additional part of an exchange if workers may depart and join: it knows the members, how samples are
// dealt to them, and brings the state of training to workers that join.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "policies/sampling/member_deals.hpp"
#include "policies/sync/policy.hpp"
#include "workloads/context.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/replica.hpp"

namespace tandem {

/// The parts of a worker that follow changes of the members.
struct MemberHooks {
  /// How many samples the workers of this slot have taken.
  std::function<std::int64_t()> taken;
  /// The samples were dealt again.
  std::function<void(const sampling::MemberDeals& deals)> dealt;
  // Where workers exchange directly:
  /// Passes the worker's policy an event about the members. `decides_again`: an exchange with the former
  /// members is given up, and the policy decides it again.
  std::function<std::optional<sync::Exchange>(const sync::Members& event, bool decides_again)> on_members;
  /// All messages with other workers are about to end.
  std::function<void()> ends;
  /// These workers exchange from now on; `rounds` rounds are finished. This worker may still wait for their
  /// state. `view`: the number of the change, counted from 1.
  std::function<void(std::span<const int> members, std::int64_t rounds, std::int32_t view)> begins;
  /// The rest of the state that a worker gets which joins or is behind.
  std::function<void(StateArchive& state)> serialise;
};

/// The data about the job that a joining worker receives.
struct Arrival {
  ExchangeResult result = {};  ///< as of an exchange; the replica has the model
  std::int64_t rounds = 0;     ///< of the job
  std::int64_t samples = 0;    ///< that count, of earlier workers in this worker's slot
  std::int64_t steps = 0;      ///< the same, where servers count them
};

class MemberExchange {
 public:
  virtual ~MemberExchange() = default;
  /// To be called before anything else.
  virtual void set_hooks(MemberHooks hooks) = 0;
  /// Gets the state of training from the other workers. Pre: this worker joins a job that has begun, and has
  /// exchanged nothing.
  virtual Arrival join(int incarnation) = 0;
  /// How samples are dealt to the workers.
  virtual const sampling::MemberDeals& deals() const = 0;
  /// Waits for a message with another worker; none: a note of the steward came first. If another view has
  /// begun, the message has ended. Pre: no exchange is in progress.
  virtual std::optional<Completion> wait_or_regroup(Pending& until) = 0;

  // ---- Over servers, the servers do the following ----

  /// The deals, with the samples of the present one that count; empty: all as when the job began.
  virtual sampling::Deals changed_deals() const { return {}; }
  /// While the members agree on a change, none takes samples.
  virtual bool knows_members() const { return true; }
  virtual void await_members() {}
  /// Whether this worker has the duties of the first one. None: they do not move.
  virtual std::optional<bool> leads() const { return std::nullopt; }
  /// Exchange::serialise restores this job's own state next: updates that were applied before count.
  virtual void continue_counts() {}
  /// Samples of each worker's slot that are part of the model, without those of the job that this one
  /// resumes; empty: not known to this worker.
  virtual std::vector<std::int64_t> applied_samples() const { return {}; }
  /// The worker with the duties of the first one does the last of them. Returns when the job has ended for
  /// all. Pre: Exchange::leave has returned.
  virtual void end(const std::function<void()>& last_duties) { last_duties(); }
};

}  // namespace tandem
