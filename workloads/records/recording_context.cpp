#include "workloads/records/recording_context.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "workloads/protocol.hpp"
#include "workloads/records/rank_sets.hpp"

namespace tandem {
RecordingContext::RecordingContext(Context& inner, std::vector<OperationRecord>& log)
    : ContextDecorator(inner), log_(log) {}

Pending RecordingContext::compute(const Work& work, Kernel kernel) {
  OperationRecord record{.kind = "compute",
                         .work = name_of(work.kind),
                         .bucket = work.bucket,
                         .bytes = work.bytes.count(),
                         .samples = work.samples,
                         .start = now()};
  return note(std::move(record), inner_.compute(work, std::move(kernel)));
}

Pending RecordingContext::send(Rank to, Channel channel, Slice slice, const Note& message_note) {
  OperationRecord record{.kind = "send",
                         .peer = to,
                         .channel = protocol::stream_name(channel),
                         .bucket = channel.bucket,
                         .bytes = slice.size.count(),
                         .start = now()};
  return note(std::move(record), inner_.send(to, channel, slice, message_note));
}

Pending RecordingContext::receive(Rank from, Channel channel, Slice slice) {
  OperationRecord record{.kind = "receive",
                         .peer = from,
                         .channel = protocol::stream_name(channel),
                         .bucket = channel.bucket,
                         .bytes = slice.size.count(),
                         .start = now()};
  return note(std::move(record), inner_.receive(from, channel, slice));
}

Pending RecordingContext::all_reduce(std::span<const Rank> members, Channel channel, Slice vector,
                                     const collectives::Element& element) {
  OperationRecord record{.kind = "all-reduce",
                         .channel = protocol::stream_name(channel),
                         .work = text_of_ranks(members),
                         .bucket = channel.bucket,
                         .bytes = vector.size.count(),
                         .start = now()};
  return note(std::move(record), inner_.all_reduce(members, channel, vector, element));
}

Pending RecordingContext::read(int disk, DiskAccess access, Kernel transfer) {
  OperationRecord record{.kind = "read", .peer = disk, .bytes = access.size.count(), .start = now()};
  return note(std::move(record), inner_.read(disk, access, std::move(transfer)));
}

Pending RecordingContext::write(int disk, DiskAccess access, Kernel transfer) {
  OperationRecord record{.kind = "write", .peer = disk, .bytes = access.size.count(), .start = now()};
  return note(std::move(record), inner_.write(disk, access, std::move(transfer)));
}

Pending RecordingContext::sleep(Seconds duration) {
  OperationRecord record{.kind = "sleep", .start = now()};
  return note(std::move(record), inner_.sleep(duration));
}

Pending RecordingContext::disconnect(Rank peer) {
  OperationRecord record{.kind = "disconnect", .peer = peer, .start = now()};
  return note(std::move(record), inner_.disconnect(peer));
}

Completion RecordingContext::wait(Pending& pending) {
  const std::uint32_t number = pending.number();
  const Completion completion = inner_.wait(pending);
  finish(number, completion);
  return completion;
}

Completion RecordingContext::wait_any(std::span<Pending> pendings) {
  numbers_.clear();
  for (const Pending& pending : pendings) numbers_.push_back(pending.empty() ? 0 : pending.number());
  const Completion completion = inner_.wait_any(pendings);
  finish(numbers_[completion.index], completion);
  return completion;
}

Pending RecordingContext::note(OperationRecord record, Pending pending) {
  record.rank = rank();
  record.end = record.start;
  if (record_of_operation_.size() <= pending.number()) record_of_operation_.resize(pending.number() + 1);
  record_of_operation_[pending.number()] = log_.size();
  log_.push_back(std::move(record));
  return pending;
}

/// A device's own clock says how long, the rank's when: until then the work may have waited for its turn.
void RecordingContext::finish(std::uint32_t number, const Completion& completion) {
  OperationRecord& record = log_[record_of_operation_[number]];
  record.end = now();
  if (completion.outcome == Outcome::peer_left) record.kind += " (peer left)";
  if (completion.outcome == Outcome::cancelled) record.kind += " (cancelled)";
  if (completion.device_time) record.start = std::max(record.start, record.end - *completion.device_time);
}

}  // namespace tandem
