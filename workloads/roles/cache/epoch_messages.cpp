#include "workloads/roles/cache/epoch_messages.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "policies/vocabulary/check.hpp"

namespace tandem {

/// One of the workers sends them, except before the first epoch. Meanwhile no worker waits for another
/// operation. Many nodes may wait at the same time, so memory for losses is allocated only afterwards.
std::vector<float> EpochMessages::receive_losses(const NodeJob& job, std::span<const NodeClient> clients,
                                                 std::int64_t epoch) {
  const auto samples = data_.manifest().samples;
  const bool is_real = data_.dataset() != nullptr;
  const std::size_t of_losses = static_cast<std::size_t>(samples) * sizeof(float);
  std::vector<std::byte> message;
  if (epoch > 0) {
    // It is one of those that wait for the epoch: workers that have lists in common end together.
    const NodeClient& first = clients.front();
    TANDEM_CHECK(!first.has_ended, "epoch", epoch, "worker", first.rank);
    if (lists_) residents_ = ResidentSet(samples);
    const std::size_t size = of_losses + residents_.bytes().size();
    message.resize(is_real || lists_ ? size : 0);
    Pending arriving = protocol::receive<"importance">(
        context_, first.rank,
        {Bytes(static_cast<std::int64_t>(size)), message.empty() ? nullptr : message.data()});
    context_.wait(arriving);
    if (lists_) residents_.add(std::span(message).subspan(of_losses));
  }
  if (job.data.lists().model_losses()) return job.data.lists().modelled_losses_of(epoch);
  std::vector<float> losses(static_cast<std::size_t>(samples), std::numeric_limits<float>::quiet_NaN());
  if (epoch > 0 && is_real) std::memcpy(losses.data(), message.data(), of_losses);
  return losses;
}

std::vector<std::vector<SampleId>> EpochMessages::receive_given(const NodeJob& job,
                                                                std::span<const NodeClient> clients,
                                                                std::int64_t epoch) {
  if (!data_.cache_factory().needs.ahead || job.epoch->epoch() >= 0) return {};
  std::vector<std::vector<SampleId>> given;
  for (const NodeClient& client : clients) {
    auto& ids = given.emplace_back();
    if (!client.is_held || client.request.epoch != epoch || client.request.position == 0) continue;
    ids.resize(static_cast<std::size_t>(client.request.position));
    Pending arriving = protocol::receive<"given">(
        context_, client.rank,
        {Bytes(client.request.position * static_cast<std::int64_t>(sizeof(SampleId))),
         reinterpret_cast<std::byte*>(ids.data())});
    context_.wait(arriving);
  }
  if (std::ranges::all_of(given, &std::vector<SampleId>::empty)) given.clear();
  return given;
}

}  // namespace tandem
