#include "workloads/roles/server/server_members.hpp"

#include <algorithm>

#include "policies/recovery/scaling.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem {

ServerMembers::ServerMembers(const Setting& setting)
    : setting_(setting),
      slots_(setting.slots),
      open_(static_cast<int>(setting.slots)),
      members_(open_),
      rate_factor_(setting.rate_factor) {
  for (std::size_t slot = 0; slot < setting.first; ++slot) slots_[slot].has_place = true;
}

void ServerMembers::set(int worker, Standing standing) {
  members_ += static_cast<int>(standing == Standing::member) - static_cast<int>(is_member(worker));
  at(worker).standing = standing;
}

void ServerMembers::depart(int worker) { set(worker, Standing::absent); }

void ServerMembers::leave(int worker, bool stays_awaited) {
  set(worker, Standing::absent);
  --open_;
  if (setting_.may_change) rescale();
  if (stays_awaited) awaited_.insert(worker);
}

void ServerMembers::begin_join(int worker) {
  TANDEM_CHECK(!is_present(worker), "worker", worker);
  set(worker, Standing::joining);
  ++open_;
}

void ServerMembers::join(int worker) { set(worker, Standing::member); }

void ServerMembers::cancel_join(int worker) {
  set(worker, Standing::absent);
  --open_;
}

bool ServerMembers::lose_place(int worker) {
  const bool had_place = at(worker).has_place;
  at(worker).has_place = false;
  return had_place;
}

bool ServerMembers::is_short(bool stopping) const {
  if (stopping) return false;
  return std::ranges::count_if(slots_, [](const Slot& slot) {
           return slot.has_place && slot.standing != Standing::joining;
         }) < setting_.least;
}

std::optional<int> ServerMembers::take_left(bool stopping) {
  if (awaited_.empty() || is_short(stopping)) return std::nullopt;
  return awaited_.extract(awaited_.begin()).value();
}

/// The coordinator knows that the job ends; the steward, that no worker joins any more.
bool ServerMembers::takes_end(bool stopping) {
  if (!setting_.may_change || !setting_.is_coordinator || !stopping || open_ > 0 || has_taken_end_)
    return false;
  return has_taken_end_ = true;
}

int ServerMembers::pushes_per_round() const { return std::max(1, members_); }

void ServerMembers::rescale() {
  const int count = pushes_per_round();
  rate_factor_ = recovery::rate_factor(setting_.rate_scale, first(), count);
  if (setting_.batch_rule == BatchRule::keep) return;
  shares_batch_ = true;
  const auto shares = recovery::batches(setting_.batch_rule, setting_.batch, first(), count);
  std::size_t next = 0;
  for (Slot& slot : slots_)
    slot.batch = slot.standing == Standing::member ? std::max(1, static_cast<int>(shares[next++])) : 0;
}

std::optional<int> ServerMembers::batch(int worker) const {
  return shares_batch_ ? std::optional(at(worker).batch) : std::nullopt;
}

}  // namespace tandem
