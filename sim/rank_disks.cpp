#include "sim/rank_disks.hpp"

#include <utility>

#include "policies/vocabulary/caught_error.hpp"
#include "policies/vocabulary/check.hpp"
#include "sim/rank_context.hpp"
#include "sim/world.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

RankDisks::RankDisks(World& world, RankContext& rank, RankOperations& operations, const RankWaiting& waiting)
    : world_(world),
      rank_(rank),
      operations_(operations),
      waiting_(waiting),
      disks_(rank.host().get_disks()) {}

/// Data that is read is there immediately. Data that is written is in its file when the write has ended.
RankOperation& RankDisks::access(RankOperation::Kind kind, int disk, const DiskAccess& access,
                                 Kernel transfer) {
  TANDEM_CHECK(access.size.count() >= 0 && access.requests >= 1, "size", access.size.count(), "requests",
               access.requests, "rank", rank_.rank());
  if (disk < 0 || static_cast<std::size_t>(disk) >= disks_.size())
    throw ConfigError("host \"" + rank_.host().get_name() + "\" of rank " + std::to_string(rank_.rank()) +
                      " has " + std::to_string(disks_.size()) + " disk(s), but disk number " +
                      std::to_string(disk) + " is used");
  const bool takes_time = access.size.count() > 0;
  RankOperation& operation = operations_.make(kind);
  operation.disk = disk;
  operation.transfer = std::move(transfer);
  if (kind == RankOperation::Kind::read || !takes_time) end_transfer(operation, true);
  if (!takes_time) return operations_.done_at_once(operation);
  serve(operation, access);
  return operation;
}

/// An access that meets no other one is SimGrid's, with the time of its requests as additional bytes. The
/// others end when the queue of the disk says so.
void RankDisks::serve(RankOperation& operation, const DiskAccess& access) {
  const s4u::Disk& disk = *disks_[static_cast<std::size_t>(operation.disk)];
  const SimulationSetting& setting = world_.setting();
  const bool write = operation.kind == RankOperation::Kind::write;
  const DiskService service =
      setting.disk_service ? setting.disk_service(rank_.rank(), operation.disk) : DiskService{};
  const Seconds late =
      setting.disk_delay ? setting.disk_delay(rank_.rank(), operation.disk, access) : Seconds(0);
  const double rate = write ? disk.get_write_bandwidth() : disk.get_read_bandwidth();
  const Seconds moving = setting.disk_moving
                             ? setting.disk_moving(rank_.rank(), operation.disk, access, write)
                             : access.size / BytesPerSecond(rate);
  DiskQueue& queue = world_.queue_of(disk);
  // SimGrid ends an access some nanoseconds too early: by its precision, and up to a byte.
  const Seconds early(4 * world_.precision_s() + 16.0 / rate);
  const bool is_alone = queue.is_idle(rank_.now() + early);
  const Seconds end = queue.serve(rank_.now(), service, access.requests, moving);
  const bool is_timed =
      !is_alone || late > Seconds(0) || setting.disk_moving || (access.requests > 1 && service.parallel > 1);
  if (is_timed) return operations_.end_on(operation, (end + late).count());
  operation.amount = static_cast<double>(access.size.count()) +
                     (service.latency * static_cast<double>(access.requests)).count() * rate;
}

/// Errors become those of the wait for it: nothing may be thrown in the kernel.
void RankDisks::end_transfer(RankOperation& operation, bool succeeded) {
  if (!operation.transfer) return;
  const Kernel transfer = std::exchange(operation.transfer, nullptr);
  // The objects to which it refers may be gone with the rank.
  if (!succeeded || waiting_.is_killed()) return;
  operation.error = caught_error(transfer, [&] {
    return "rank " + std::to_string(rank_.rank()) + ": " + operation.describe() + " failed";
  });
}

// Activities are reused, which avoids creating them. It is essential for disks: SimGrid 3.32 never removes
// one from the list that it searches whenever a message ends, so a rank has no more of them than it has
// accesses at the same time. (For messages in that list, see take_off_list.)

void RankDisks::start(RankOperation& operation) {
  if (operation.is_timed) return operations_.start_timer(operation);
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
  operation.io->set_op_type(operation.kind == RankOperation::Kind::read ? s4u::Io::OpType::READ
                                                                        : s4u::Io::OpType::WRITE);
  operation.io->start();
}

void RankDisks::finish(RankOperation& operation, bool succeeded) {
  end_transfer(operation, succeeded);
  if (operation.io) spare_ios_.push_back(std::move(operation.io));
}

}  // namespace tandem::sim
