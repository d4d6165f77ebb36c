// The disk accesses of one simulated rank.
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "sim/rank_context.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

Pending RankContext::read(int disk, DiskAccess access, Kernel transfer) {
  return transfer_disk(Kind::read, disk, access, std::move(transfer));
}

Pending RankContext::write(int disk, DiskAccess access, Kernel transfer) {
  return transfer_disk(Kind::write, disk, access, std::move(transfer));
}

/// What is read is there at once; what is written is in its file when the write has ended.
Pending RankContext::transfer_disk(Kind kind, int disk, const DiskAccess& access, Kernel transfer) {
  TANDEM_CHECK(access.size.count() >= 0 && access.requests >= 1, "size", access.size.count(), "requests",
               access.requests, "rank", rank_);
  if (disk < 0 || static_cast<std::size_t>(disk) >= disks_.size())
    throw ConfigError("host \"" + host_.get_name() + "\" of rank " + std::to_string(rank_) + " has " +
                      std::to_string(disks_.size()) + " disk(s), but disk number " + std::to_string(disk) +
                      " is used");
  const bool takes_time = access.size.count() > 0;
  if (transfer && (kind == Kind::read || !takes_time)) std::exchange(transfer, nullptr)();
  Operation& operation = new_operation(kind);
  operation.disk = disk;
  if (!takes_time) return done_at_once(operation);
  operation.transfer = std::move(transfer);
  operation.amount = static_cast<double>(access.size.count());
  if (const auto& delay = world_.setting().disk_delay) {
    const s4u::Disk& used = *disks_[static_cast<std::size_t>(disk)];
    const double rate = kind == Kind::read ? used.get_read_bandwidth() : used.get_write_bandwidth();
    operation.amount += delay(rank_, disk, access).count() * rate;
  }
  return started(operation);
}

/// Errors become those of the wait for it: nothing may be thrown in the kernel.
void RankContext::end_write(Operation& operation, bool succeeded) {
  const Kernel transfer = std::exchange(operation.transfer, nullptr);
  // What it refers to may be gone with the rank.
  if (!succeeded || killed_) return;
  try {
    transfer();
  } catch (...) {
    operation.error = std::current_exception();
  }
}

// Activities are reused, which avoids creating them. It is essential for disks: SimGrid 3.32 keeps a list of
// disk activities and never removes one. (For its list of messages, see take_off_list.)

void RankContext::start_disk_transfer(Operation& operation) {
  if (!operation.io) {
    operation.io = s4u::Io::init();
    operation.io->set_data(static_cast<Finishable*>(&operation));
  }
  // Must not be STARTING before the disk is set, because SimGrid would then start it immediately.
  operation.io->set_state(s4u::Activity::State::INITED);
  operation.io->set_disk(disks_[static_cast<std::size_t>(operation.disk)]);
  operation.io->set_size(static_cast<sg_size_t>(operation.amount));
  operation.io->set_op_type(operation.kind == Kind::read ? s4u::Io::OpType::READ : s4u::Io::OpType::WRITE);
  operation.io->start();
}

}  // namespace tandem::sim
