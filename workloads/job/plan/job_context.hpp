// The context of a rank of one of several jobs in one simulation or one launch. The ranks of its job count
// from 0, and its time from the beginning of the job.
#pragma once

#include <span>
#include <vector>

#include "workloads/context_decorator.hpp"

namespace tandem {

class JobContext final : public ContextDecorator {
 public:
  struct Place {
    /// The ranks of `inner` that are the ranks of the job, followed by others to which it may send. Must
    /// outlive the context.
    std::span<const Rank> ranks;
    Rank rank = 0;     ///< in the job
    int size = 0;      ///< ranks of the job
    Seconds start{0};  ///< when the job begins
  };
  /// Decorates `inner`, which must outlive it.
  JobContext(Context& inner, Place place) : ContextDecorator(inner), place_(place) {}

  Rank rank() const override { return place_.rank; }
  int world_size() const override { return place_.size; }
  Seconds now() const override { return inner_.now() - place_.start; }
  Pending send(Rank to, Channel channel, Slice slice, const Note& note) override;
  Pending receive(Rank from, Channel channel, Slice slice) override;
  Pending all_reduce(std::span<const Rank> members, Channel channel, Slice vector,
                     const collectives::Element& element) override;
  Pending disconnect(Rank peer) override { return inner_.disconnect(of_inner(peer)); }

 private:
  /// Errors: a failed check for a rank that the place does not have.
  Rank of_inner(Rank rank) const;

  Place place_;
  std::vector<Rank> members_;  ///< of the last all-reduce
};

}  // namespace tandem
