// A context that hands everything on to another one. A context that changes some operations of another one
// derives from it and overrides these.
#pragma once

#include <utility>

#include "workloads/context.hpp"

namespace tandem {

/// Decorates `inner`, which must outlive it. disconnect_all calls `disconnect` for each peer, so that a
/// derived class sees each of these calls.
class ContextDecorator : public Context {
 public:
  Rank rank() const override { return inner_.rank(); }
  int world_size() const override { return inner_.world_size(); }
  ComputeDevice& device() override { return inner_.device(); }
  Seconds now() const override { return inner_.now(); }
  Pending compute(const Work& work, Kernel kernel) override {
    return inner_.compute(work, std::move(kernel));
  }
  Pending send(Rank to, Channel channel, Slice slice, const Note& note) override {
    return inner_.send(to, channel, slice, note);
  }
  Pending receive(Rank from, Channel channel, Slice slice) override {
    return inner_.receive(from, channel, slice);
  }
  Pending all_reduce(std::span<const Rank> members, Channel channel, Slice vector,
                     const collectives::Element& element) override {
    return inner_.all_reduce(members, channel, vector, element);
  }
  Pending read(int disk, DiskAccess access, Kernel transfer) override {
    return inner_.read(disk, access, std::move(transfer));
  }
  Pending write(int disk, DiskAccess access, Kernel transfer) override {
    return inner_.write(disk, access, std::move(transfer));
  }
  Pending sleep(Seconds duration) override { return inner_.sleep(duration); }
  bool is_done(const Pending& pending) override { return inner_.is_done(pending); }
  Completion wait(Pending& pending) override { return inner_.wait(pending); }
  Completion wait_any(std::span<Pending> pendings) override { return inner_.wait_any(pendings); }
  void cancel_all(std::span<const Pending> pendings) override { inner_.cancel_all(pendings); }
  void stop_work() override { inner_.stop_work(); }
  Pending disconnect(Rank peer) override { return inner_.disconnect(peer); }
  std::int64_t discarded_messages() const override { return inner_.discarded_messages(); }
  void announce_departure() override { inner_.announce_departure(); }
  void end_transfers() noexcept override { inner_.end_transfers(); }

 protected:
  explicit ContextDecorator(Context& inner) : inner_(inner) {}

  Context& inner_;
};

}  // namespace tandem
