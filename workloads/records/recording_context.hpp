// A context that records every operation of another one, so that simulations and real runs write the same
// operations.csv.
#pragma once

#include <vector>

#include "workloads/context_decorator.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

/// Decorates `inner`, which must outlive it. Appends to `log` in the order in which operations start. Work
/// on a device with a clock of its own has the duration by that clock, at most until the rank noticed its
/// end.
class RecordingContext : public ContextDecorator {
 public:
  RecordingContext(Context& inner, std::vector<OperationRecord>& log);

  Pending compute(const Work& work, Kernel kernel) override;
  Pending send(Rank to, Channel channel, Slice slice, const Note& note) override;
  Pending receive(Rank from, Channel channel, Slice slice) override;
  Pending all_reduce(std::span<const Rank> members, Channel channel, Slice vector,
                     const collectives::Element& element) override;
  Pending read(int disk, DiskAccess access, Kernel transfer) override;
  Pending write(int disk, DiskAccess access, Kernel transfer) override;
  Pending sleep(Seconds duration) override;
  Completion wait(Pending& pending) override;
  Completion wait_any(std::span<Pending> pendings) override;
  Pending disconnect(Rank peer) override;

 private:
  Pending note(OperationRecord record, Pending pending);
  void finish(std::uint32_t number, const Completion& completion);
  std::vector<OperationRecord>& log_;
  std::vector<std::size_t> record_of_operation_;
  std::vector<std::uint32_t> numbers_;  ///< of the span being waited for
};

}  // namespace tandem
