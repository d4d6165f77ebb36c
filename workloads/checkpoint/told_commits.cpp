#include "workloads/checkpoint/told_commits.hpp"

#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {

void ToldCommits::begin_at(std::int64_t round) {
  context_.wait_all(listening_);
  listening_.clear();
  context_.wait_all(told_);
  told_.clear();
  others_.clear();
  known_ = round + ahead_;
  commit_round_ = 0;
  ends_ = false;
}

void ToldCommits::begin_as_decider(std::int64_t round, std::vector<Rank> others) {
  begin_at(round);
  if (ahead_ > 0) others_ = std::move(others);
}

void ToldCommits::begin(std::int64_t round, Rank decider) {
  begin_at(round);
  decider_ = decider;
  // Those about the rounds ahead, and that a commit is complete.
  for (int message = 0; ahead_ > 0 && message < ahead_ + 1; ++message) listen();
}

void ToldCommits::listen() { listening_.push_back(protocol::receive<"planned-commits">(context_, decider_)); }

void ToldCommits::tell(std::int64_t round, bool commits, bool ends, const CommitHistory& history) {
  known_ = round + ahead_;
  send(commits, ends, history);
}

void ToldCommits::tell(const CommitHistory& history) { send(false, false, history); }

void ToldCommits::send(bool commits, bool ends, const CommitHistory& history) {
  context_.wait_all(told_);
  told_.clear();
  const protocol::Planned note{.round = static_cast<std::int32_t>(known_),
                               .last_round = static_cast<std::int32_t>(history.round),
                               .commits = commits,
                               .ends = ends,
                               .blocked = history.blocked,
                               .work = history.work};
  for (const Rank rank : others_) told_.push_back(protocol::send<"planned-commits">(context_, rank, note));
}

bool ToldCommits::is_needed(std::int64_t round) const { return !listening_.empty() && round > known_; }

/// A message that ends otherwise is of a decider that has departed: the next one tells about later rounds.
void ToldCommits::take(const Completion& told) {
  if (told.outcome != Outcome::done) return;
  listening_.erase(listening_.begin());
  listen();
  const auto planned = protocol::unpack<protocol::Planned>(told.note);
  TANDEM_CHECK(planned.round == known_ || planned.round == known_ + 1, "round", planned.round, "after",
               known_);
  known_ = planned.round;
  history_ = {.round = planned.last_round, .blocked = planned.blocked, .work = planned.work};
  if (!planned.commits) return;
  commit_round_ = planned.round;
  ends_ = planned.ends;
}

void ToldCommits::hear() {
  while (!listening_.empty() && !next().empty() && context_.is_done(next())) take(context_.wait(next()));
}

void ToldCommits::end_listening() {
  if (listening_.empty()) return;
  context_.cancel_all(listening_);
  context_.wait_all(listening_);
  listening_.clear();
}

void ToldCommits::finish() {
  context_.wait_all(told_);
  told_.clear();
}

}  // namespace tandem
