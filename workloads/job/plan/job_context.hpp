// The context of a rank of one of several jobs in one simulation or one launch: the ranks of its job are
// counted from 0, and its time from when the job begins.
#pragma once

#include <span>
#include <vector>

#include "workloads/context.hpp"

namespace tandem {

class JobContext final : public Context {
 public:
  struct Place {
    /// The rank of `inner` that is each rank of the job, and behind these others that it may send to. Must
    /// outlive the context.
    std::span<const Rank> ranks;
    Rank rank = 0;     ///< in the job
    int size = 0;      ///< ranks of the job
    Seconds start{0};  ///< when the job begins
  };
  /// Decorates `inner`, which must outlive it.
  JobContext(Context& inner, Place place) : inner_(inner), place_(place) {}

  Rank rank() const override { return place_.rank; }
  int world_size() const override { return place_.size; }
  ComputeDevice& device() override { return inner_.device(); }
  Seconds now() const override { return inner_.now() - place_.start; }
  Pending compute(const Work& work, Kernel kernel) override;
  Pending send(Rank to, Channel channel, Slice slice, const Note& note) override;
  Pending receive(Rank from, Channel channel, Slice slice) override;
  Pending all_reduce(std::span<const Rank> members, Channel channel, Slice vector,
                     const collectives::Element& element) override;
  Pending read(int disk, DiskAccess access, Kernel transfer) override;
  Pending write(int disk, DiskAccess access, Kernel transfer) override;
  Pending sleep(Seconds duration) override { return inner_.sleep(duration); }
  bool is_done(const Pending& pending) override { return inner_.is_done(pending); }
  Completion wait(Pending& pending) override { return inner_.wait(pending); }
  Completion wait_any(std::span<Pending> pendings) override { return inner_.wait_any(pendings); }
  std::int64_t discarded_messages() const override { return inner_.discarded_messages(); }
  void cancel_all(std::span<const Pending> pendings) override { inner_.cancel_all(pendings); }
  void stop_work() override { inner_.stop_work(); }
  Pending disconnect(Rank peer) override { return inner_.disconnect(of_inner(peer)); }
  void announce_departure() override { inner_.announce_departure(); }
  void end_transfers() noexcept override { inner_.end_transfers(); }

 private:
  /// Errors: a failed check for a rank that the place does not have.
  Rank of_inner(Rank rank) const;

  Context& inner_;
  Place place_;
  std::vector<Rank> members_;  ///< of the last all-reduce
};

}  // namespace tandem
