// A context that records every operation of another one, so that simulations and real runs write the same
// operations.csv.
#pragma once

#include <vector>

#include "workloads/context.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

/// Decorates `inner`, which must outlive it; appends to `log` in the order in which operations start. Work on
/// a device with a clock of its own lasts as long as that says, up to when the rank learned of its end.
class RecordingContext : public Context {
 public:
  RecordingContext(Context& inner, std::vector<OperationRecord>& log);

  Rank rank() const override { return inner_.rank(); }
  ComputeDevice& device() override { return inner_.device(); }
  int world_size() const override { return inner_.world_size(); }
  Seconds now() const override { return inner_.now(); }
  Pending compute(const Work& work, Kernel kernel) override;
  Pending send(Rank to, Channel channel, Slice slice, const Note& note) override;
  Pending receive(Rank from, Channel channel, Slice slice) override;
  Pending all_reduce(std::span<const Rank> members, Channel channel, Slice vector,
                     const collectives::Element& element) override;
  Pending read(int disk, DiskAccess access, Kernel transfer) override;
  Pending write(int disk, DiskAccess access, Kernel transfer) override;
  Pending sleep(Seconds duration) override;
  bool is_done(const Pending& pending) override { return inner_.is_done(pending); }
  Completion wait(Pending& pending) override;
  Completion wait_any(std::span<Pending> pendings) override;
  std::int64_t discarded_messages() const override { return inner_.discarded_messages(); }
  void cancel_all(std::span<const Pending> pendings) override { inner_.cancel_all(pendings); }
  void stop_work() override { inner_.stop_work(); }
  Pending disconnect(Rank peer) override;
  void announce_departure() override { inner_.announce_departure(); }
  void end_transfers() noexcept override { inner_.end_transfers(); }

 private:
  Pending note(OperationRecord record, Pending pending);
  void finish(std::uint32_t slot, const Completion& completion);
  Context& inner_;
  std::vector<OperationRecord>& log_;
  std::vector<std::size_t> record_of_slot_;
  std::vector<std::uint32_t> slots_;  ///< of the span being waited for
};

}  // namespace tandem
