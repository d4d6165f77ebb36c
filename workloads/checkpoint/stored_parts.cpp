#include "workloads/checkpoint/stored_parts.hpp"

#include <cstddef>

namespace tandem {

StoredParts::StoredParts(Context& context, const CommitGroup& group, const WaitForRank& wait)
    : context_(context), group_(group), wait_(wait) {}

void StoredParts::note(const protocol::Stored& part, Bytes size) {
  if (tally_.is_open()) {
    tally_.add(group_.rank(), group_.is_worker(group_.rank()), part, size);
    return;
  }
  if (!group_.is_awaited()) return;
  finish();
  sent_ = protocol::send<"commits">(context_, group_.decider(), part);
}

void StoredParts::finish() {
  if (!sent_.empty()) context_.wait(sent_);
}

void StoredParts::open(std::int64_t round, Seconds started) {
  tally_.open(round, group_.view(), group_.parts(), started);
  for (const Rank rank : group_.parts())
    if (rank != group_.rank()) lines_.push_back({rank, protocol::receive<"commits">(context_, rank)});
}

void StoredParts::collect(bool waits) {
  for (std::size_t i = 0; i < lines_.size();) {
    Pending& next = lines_[i].next;
    if (next.empty() || !(waits || context_.is_done(next))) {
      ++i;
    } else if (const auto stored = context_.is_done(next) ? context_.wait(next) : wait_(next)) {
      // Otherwise the view has ended and taken the lines away, which begin again with the next commit.
      i += take(lines_[i], *stored) ? 1 : 0;
    }
  }
}

/// Returns whether nothing more is expected of that rank: a message of an earlier commit does not count.
bool StoredParts::take(Line& line, const Completion& stored) {
  if (stored.outcome != Outcome::done) {
    tally_.lose(line.rank);
    return true;
  }
  const auto part = protocol::unpack<protocol::Stored>(stored.note);
  if (tally_.add(line.rank, group_.is_worker(line.rank), part, group_.size_of(line.rank))) return true;
  line.next = protocol::receive<"commits">(context_, line.rank);
  return false;
}

CommitTally::Result StoredParts::close() {
  lines_.clear();
  return tally_.close();
}

bool StoredParts::give_up() {
  for (Line& line : lines_)
    if (!line.next.empty()) context_.wait(line.next);
  lines_.clear();
  if (!tally_.is_open()) return false;
  tally_.close();
  return true;
}

}  // namespace tandem
