#include "workloads/checkpoint/last_commit.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace tandem {

void LastCommit::set_listeners(std::vector<Rank> ranks) {
  if (!next_.empty()) context_.wait(next_);
  listeners_ = std::move(ranks);
}

void LastCommit::wait_for_records(std::span<const Rank> workers) {
  for (const Rank worker : workers)
    lines_.push_back({worker, protocol::receive<"commits">(context_, worker)});
}

void LastCommit::set(std::int64_t round) {
  announced_ = round;
  const auto number = static_cast<std::int32_t>(round);
  if (lines_.empty()) {
    round_ = round;
    return tell({.round = number}, listeners_);
  }
  std::vector<Rank> workers;
  for (const Line& line : lines_) workers.push_back(line.worker);
  tell({.round = number, .counts = false}, workers);
}

void LastCommit::set_failed(std::int64_t round) {
  failed_.push_back(round);
  tell({.round = static_cast<std::int32_t>(round), .counts = false, .failed = true}, listeners_);
}

void LastCommit::tell(const protocol::Complete& commit, const std::vector<Rank>& ranks) {
  context_.wait_all(told_);
  told_.clear();
  for (const Rank rank : ranks) told_.push_back(protocol::send<"commits">(context_, rank, commit));
}

void LastCommit::listen(Rank decider) {
  if (!next_.empty()) context_.wait(next_);
  decider_ = decider;
  next_ = protocol::receive<"commits">(context_, decider);
}

void LastCommit::hear() {
  while (!next_.empty() && context_.is_done(next_)) {
    const Completion told = context_.wait(next_);
    if (told.outcome != Outcome::done) return;
    const auto commit = protocol::unpack<protocol::Complete>(told.note);
    if (commit.failed) {
      failed_.push_back(commit.round);
    } else {
      announced_ = commit.round;
      if (commit.counts) round_ = commit.round;
    }
    next_ = protocol::receive<"commits">(context_, decider_);
  }
  if (!lines_.empty() && announced_ > round_) hear_workers();
}

void LastCommit::hear_workers() {
  for (Line& line : lines_)
    while (context_.is_done(line.reply)) {
      const Completion reply = context_.wait(line.reply);
      line.recorded = protocol::unpack<protocol::Stored>(reply.note).round;
      line.reply = protocol::receive<"commits">(context_, line.worker);
    }
  const std::int64_t by_all = std::ranges::min_element(lines_, {}, &Line::recorded)->recorded;
  if (by_all <= round_) return;
  // Workers that have ended have written all.
  round_ = std::min(by_all, announced_);
  tell({.round = static_cast<std::int32_t>(round_)}, listeners_);
}

std::int64_t LastCommit::unrecorded() {
  hear();
  return announced_ > recorded_ ? announced_ : 0;
}

void LastCommit::note_recorded(std::int64_t round) {
  recorded_ = round;
  if (!replied_.empty()) context_.wait(replied_);
  replied_ = protocol::send<"commits">(context_, decider_,
                                       protocol::Stored{.round = static_cast<std::int32_t>(round)});
}

void LastCommit::note_all_recorded() { note_recorded(std::numeric_limits<std::int32_t>::max()); }

void LastCommit::end_listening() {
  hear();
  const auto end = [this](Pending& next) {
    context_.cancel(next);
    context_.wait(next);
  };
  if (!next_.empty()) end(next_);
  for (Line& line : lines_) end(line.reply);
  lines_.clear();
}

void LastCommit::finish() {
  if (!replied_.empty()) context_.wait(replied_);
  context_.wait_all(told_);
  told_.clear();
}

}  // namespace tandem
