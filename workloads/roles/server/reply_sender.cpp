#include "workloads/roles/server/reply_sender.hpp"

#include <algorithm>

namespace tandem {

void ReplySender::begin(int worker, const ShardKey& key) {
  Worker& one = at(worker);
  one.key = key;
  one.asked = waits_for_requests_ ? 0 : size(one);
  one.sent = 0;
  one.note.reset();
}

std::optional<std::size_t> ReplySender::awaited_request(int worker) const {
  const Worker& one = at(worker);
  if (one.asked == size(one)) return std::nullopt;
  return one.key.last - one.asked;
}

void ReplySender::reply(int worker, const protocol::Reply& note) {
  Worker& one = at(worker);
  one.note = note;
  one.brings_model = brings_model(worker, note.version);
  one.version = note.version;
  one.waits = false;
}

std::optional<std::size_t> ReplySender::next_piece(int worker) {
  Worker& one = at(worker);
  if (holds_ || one.is_in_work || !one.note || one.sent == one.asked) return std::nullopt;
  return one.key.last - one.sent++;
}

void ReplySender::confirm(std::int32_t commit_round) {
  for (Worker& one : workers_)
    if (one.note) one.note->commit_round = commit_round;
}

void ReplySender::on_report(int worker, int version) {
  at(worker).reported_version = version;
  ++at(worker).unanswered;
}

protocol::Answer ReplySender::answer(int worker, bool ready) {
  --at(worker).unanswered;
  return {.version = at(worker).reported_version, .ready = ready};
}

bool ReplySender::has_answered_all() const {
  return std::ranges::none_of(workers_, [](const Worker& one) { return one.waits || one.unanswered > 0; });
}

bool ReplySender::have_all(int version) const {
  return std::ranges::all_of(workers_, [&](const Worker& one) { return one.version == version; });
}

void ReplySender::begin_at(int worker, int version) {
  Worker& one = at(worker);
  one.version = one.reported_version = version;
  one.known.reset();
  one.waits = false;
}

void ReplySender::resume_at(int version) {
  for (Worker& one : workers_) one.version = version;
}

void ReplySender::forget(int worker) {
  at(worker).waits = false;
  at(worker).unanswered = 0;
}

}  // namespace tandem
