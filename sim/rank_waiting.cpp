#include "sim/rank_waiting.hpp"

#include <algorithm>

namespace tandem::sim {

namespace {

/// Block by block, each without an exit, so that the compiler compares several entries in one instruction.
bool is_among(std::span<const Pending> pendings, std::uint32_t number) {
  constexpr std::size_t block = 32;
  for (; pendings.size() >= block; pendings = pendings.subspan(block)) {
    std::uint32_t found = 0;
    for (std::size_t i = 0; i < block; ++i) found |= pendings[i].number() == number ? 1U : 0U;
    if (found != 0) return true;
  }
  return std::ranges::any_of(pendings, [number](const Pending& p) { return p.number() == number; });
}

}  // namespace

void RankWaiting::await_any(std::span<const Pending> pendings) {
  awaited_ = no_operation;
  awaited_any_ = pendings;
  if (pendings.size() <= awaited_few_.size())
    std::ranges::transform(pendings, awaited_few_.begin(), [](const Pending& p) { return p.number(); });
}

void RankWaiting::block(const std::function<bool()>& stays) {
  sleep_.after([this, &stays] {
    is_blocked_ = stays();
    return is_blocked_;
  });
}

void RankWaiting::wake_for(std::uint32_t number) {
  if (!is_blocked_ || is_killed_ || !is_awaited(number)) return;
  is_blocked_ = false;
  sleep_.wake();
}

/// False: the rank need not be woken for this operation.
bool RankWaiting::is_awaited(std::uint32_t number) const {
  if (awaited_ != no_operation) return awaited_ == number;
  if (awaited_any_.size() > awaited_few_.size()) return is_among(awaited_any_, number);
  const std::span few(awaited_few_.data(), awaited_any_.size());
  return std::ranges::find(few, number) != few.end();
}

std::string RankWaiting::describe(const RankOperations& operations) const {
  if (!is_blocked_) return {};
  if (awaited_ != no_operation) return operations[awaited_].describe();
  constexpr std::size_t shown = 3;
  std::size_t count = 0;
  std::string list;
  for (const Pending& pending : awaited_any_) {
    if (pending.empty() || ++count > shown) continue;
    list += (count > 1 ? " or " : "") + operations[pending.number()].describe();
  }
  if (count > shown) list += " or any of " + std::to_string(count - shown) + " more";
  return list;
}

}  // namespace tandem::sim
