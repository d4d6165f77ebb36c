// The disk accesses of one simulated rank.
#include <utility>

#include "policies/vocabulary/caught_error.hpp"
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
  Operation& operation = new_operation(kind);
  operation.disk = disk;
  operation.transfer = std::move(transfer);
  if (operation.transfer && (kind == Kind::read || !takes_time)) end_transfer(operation, true);
  if (!takes_time) return done_at_once(operation);
  serve(operation, access);
  return started(operation);
}

/// An access that meets no other one is SimGrid's, with the time of its requests as additional bytes. The
/// others end when the queue of the disk says so.
void RankContext::serve(Operation& operation, const DiskAccess& access) {
  const s4u::Disk& disk = *disks_[static_cast<std::size_t>(operation.disk)];
  const SimulationSetting& setting = world_.setting();
  const bool write = operation.kind == Kind::write;
  const DiskService service =
      setting.disk_service ? setting.disk_service(rank_, operation.disk) : DiskService{};
  const Seconds late = setting.disk_delay ? setting.disk_delay(rank_, operation.disk, access) : Seconds(0);
  const double rate = write ? disk.get_write_bandwidth() : disk.get_read_bandwidth();
  const Seconds moving = setting.disk_moving ? setting.disk_moving(rank_, operation.disk, access, write)
                                             : access.size / BytesPerSecond(rate);
  DiskQueue& queue = world_.queue_of(disk);
  // SimGrid ends an access some nanoseconds too early: by its precision, and up to a byte.
  const Seconds early(4 * world_.precision_s() + 16.0 / rate);
  const bool is_alone = queue.is_idle(now() + early);
  const Seconds end = queue.serve(now(), service, access.requests, moving);
  const bool is_timed =
      !is_alone || late > Seconds(0) || setting.disk_moving || (access.requests > 1 && service.parallel > 1);
  if (is_timed) return end_on(operation, (end + late).count());
  operation.amount = static_cast<double>(access.size.count()) +
                     (service.latency * static_cast<double>(access.requests)).count() * rate;
}

/// Errors become those of the wait for it: nothing may be thrown in the kernel.
void RankContext::end_transfer(Operation& operation, bool succeeded) {
  const Kernel transfer = std::exchange(operation.transfer, nullptr);
  // What it refers to may be gone with the rank.
  if (!succeeded || killed_) return;
  operation.error = caught_error(
      transfer, [&] { return "rank " + std::to_string(rank_) + ": " + describe(operation) + " failed"; });
}

// Activities are reused, which avoids creating them. It is essential for disks: SimGrid 3.32 never removes
// one from the list that it searches whenever a message ends, so a rank has no more of them than it has
// accesses at the same time. (For messages in that list, see take_off_list.)

void RankContext::start_disk_transfer(Operation& operation) {
  if (operation.is_timed) return end_at(operation);
  if (spare_ios_.empty()) {
    operation.io = s4u::Io::init();
  } else {
    operation.io = std::move(spare_ios_.back());
    spare_ios_.pop_back();
  }
  operation.io->set_data(static_cast<Finishable*>(&operation));
  // Must not be STARTING before the disk is set, because SimGrid would then start it immediately.
  operation.io->set_state(s4u::Activity::State::INITED);
  operation.io->set_disk(disks_[static_cast<std::size_t>(operation.disk)]);
  operation.io->set_size(static_cast<sg_size_t>(operation.amount));
  operation.io->set_op_type(operation.kind == Kind::read ? s4u::Io::OpType::READ : s4u::Io::OpType::WRITE);
  operation.io->start();
}

}  // namespace tandem::sim
