#include "workloads/checkpoint/commit_protocol.hpp"

#include <iterator>

#include "policies/vocabulary/check.hpp"

namespace tandem {

void CommitKnowledge::begin(std::int64_t round, std::int32_t view) {
  view_ = view;
  known_ = round + ahead_;
  commit_round_ = 0;
  ends_ = false;
}

void CommitKnowledge::learn(const protocol::Planned& planned) {
  if (planned.view != view_) return;
  TANDEM_CHECK(planned.round == known_ || planned.round == known_ + 1, "round", planned.round, "after",
               known_);
  known_ = planned.round;
  history_ = {.round = planned.last_round, .blocked = planned.blocked, .work = planned.work};
  if (!planned.commits) return;
  commit_round_ = planned.round;
  ends_ = planned.ends;
}

void CommitKnowledge::learn(const protocol::Complete& commit) {
  if (commit.view != view_) return;
  if (commit.failed) {
    failed_.push_back(commit.round);
    return;
  }
  complete_ = commit.round;
  if (commit.counts) counted_ = commit.round;
}

void CommitTally::open(std::int64_t round, std::int32_t view, std::span<const Rank> ranks, Seconds started) {
  TANDEM_CHECK(!is_open_, "the commit of round", record_.round, "is under way");
  is_open_ = true;
  failed_ = false;
  view_ = view;
  awaited_ = {ranks.begin(), ranks.end()};
  record_ = {.round = round, .started = started};
  by_servers_ = by_workers_ = {};
}

/// Workers write after the servers, whose replies they await, and the ranks of one role at the same time.
bool CommitTally::add(Rank rank, bool is_worker, const protocol::Stored& part, Bytes size) {
  if (!is_open_ || part.round != record_.round || part.view != view_ || awaited_.erase(rank) == 0)
    return false;
  Seconds& blocked = is_worker ? by_workers_ : by_servers_;
  blocked = std::max(blocked, part.blocked);
  record_.ended = std::max(record_.ended, part.ended);
  record_.bytes += size.count();
  failed_ = failed_ || part.failed;
  return true;
}

void CommitTally::lose(Rank rank) {
  awaited_.erase(rank);
  failed_ = true;
}

CommitTally::Result CommitTally::close() {
  TANDEM_CHECK(is_open_, "no commit is under way; the last one was of round", record_.round);
  is_open_ = false;
  record_.blocked = by_servers_ + by_workers_;
  record_.by_servers = by_servers_;
  return {record_, !failed_ && awaited_.empty()};
}

void RecordTally::expect(std::span<const Rank> workers) {
  for (const Rank worker : workers) workers_.push_back({worker});
}

void RecordTally::add(Rank worker, std::int64_t round) {
  std::ranges::find(workers_, worker, &Worker::rank)->recorded = round;
}

std::int64_t RecordTally::by_all() const {
  return std::ranges::min_element(workers_, {}, &Worker::recorded)->recorded;
}

KeptRounds WrittenParts::kept(std::int64_t begun) const {
  if (parts_.empty()) return {begun, begun};
  return {parts_.front().round, parts_.size() > 1 ? parts_[1].round : parts_.front().round};
}

std::vector<WrittenParts::Part> WrittenParts::take(std::span<const std::int64_t> rounds) {
  std::vector<Part> taken;
  std::erase_if(parts_, [&](const Part& part) {
    const bool is_taken = std::ranges::find(rounds, part.round) != rounds.end();
    if (is_taken) taken.push_back(part);
    return is_taken;
  });
  return taken;
}

/// The last commit that is complete stays; where that cannot be seen, all stay until one is known to be.
WrittenParts::Old WrittenParts::take_old(const KeepRule& rule,
                                         const std::function<bool(std::int64_t)>& is_complete) {
  Old old;
  if (rule.keep == 0 || parts_.size() <= static_cast<std::size_t>(rule.keep)) return old;
  const auto newest = std::ranges::find_if(parts_.rbegin(), parts_.rend(),
                                           [&](const Part& part) { return is_complete(part.round); });
  if (newest != parts_.rend()) old.complete = newest->round;
  std::vector<std::int64_t> rounds;
  // One that lacks parts would stay as the first of its span, instead of one that can be used. Later ones may
  // still be written.
  if (rule.every > 0 && old.complete && !rule.by_messages) {
    for (const Part& part : parts_)
      if (part.round < *old.complete && !is_complete(part.round)) rounds.push_back(part.round);
    old.parts = take(rounds);
    rounds.clear();
  }
  for (const Part& part : parts_) rounds.push_back(part.round);
  std::ranges::move(take(commits_to_remove(rounds, old.complete, rule)), std::back_inserter(old.parts));
  return old;
}

}  // namespace tandem
